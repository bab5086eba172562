# SPDX-License-Identifier: GPL-2.0-only
#
# `make demo` and `make test` set up what they need (a virtual environment in .venv, ns-3 from its
# wheel, the compiled module) and run; `make help` lists the rest. PYTHON and CXX choose the
# interpreter and the compiler.

VENV := .venv
BUILD := build/release
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Python compiles what it imports, when it does: much of the packages it never will. A first figure has
# it compile what commands import. Nothing is said of other packages, because another pip may be at
# work on them.
INSTALL := $(PIP) install --no-compile --no-warn-conflicts
# Packages are installed while ns-3 is and models are compiled; all else goes one after the other.
TOGETHER := $(MAKE) --no-print-directory --jobs=2
# Builds beside the installed one; presets are in waf-config/CMakePresets.json.
CONFIGURE := cd waf-config && ../$(BIN)/cmake -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja --log-level=WARNING
ifeq ($(MAKELEVEL),0)
.NOTPARALLEL:
endif

# Hundreds of tests start Python: what they import is compiled once.
unexport PYTHONDONTWRITEBYTECODE

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
export CTEST_PARALLEL_LEVEL ?= $(CMAKE_BUILD_PARALLEL_LEVEL)

# All but these write to the clone.
ifneq ($(filter-out help demo,$(MAKECMDGOALS)),)
ifneq ($(shell [ -w . ] && echo yes),yes)
$(error $(CURDIR) cannot be written, and what is built goes there: copy the clone to a folder of yours)
endif
endif

MODULE_SOURCES := $(shell find models -name '*.cc' -o -name '*.h') \
                  $(wildcard waf-config/*.cmake) waf-config/CMakeLists.txt
PYTHON_MODULES := $(sort $(shell find tunnelcc -name '*.py'))
CXX_FILES = $(shell find models scratch tests tunnelcc/measure -name '*.cc' -o -name '*.h')
NOTEBOOKS = $(filter-out notebooks/README.md,$(wildcard notebooks/*.md))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Run
.PHONY: demo
demo: setup ## Reproduce the GOST thesis's table
	@$(BIN)/tunnelcc reproduce gost-thesis

.PHONY: atlas
atlas: setup ## Simulate the atlas, 1,536 runs, and sum it up. Repeat an interrupted command to continue
	@$(BIN)/tunnelcc sweep scenarios/sweeps/atlas.toml --yes -o build/atlas.csv
	@$(BIN)/python results/atlas/summarise.py build/atlas.csv

.PHONY: bench
bench: models ## Measure speed and memory against stock ns-3, and what sweeps cost
	@$(BIN)/python tests/bench/bench.py --stock $(BUILD)/stock-ns3 $(BENCH_ARGS)
	@$(BIN)/python tests/bench/sweep.py

.PHONY: docs
docs: setup wasm ## Build the site: open build/site/index.html in a browser
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict --config-file docs/mkdocs.yml
	@$(BIN)/python docs/check_site.py build/site

.PHONY: wasm
wasm: $(VENV)/ready-docs ## Compile the models to WebAssembly, for the site's laboratory and for other systems
	@$(BIN)/python waf-config/build_wasm.py build/wasm

.PHONY: notebooks
notebooks: setup $(VENV)/ready-dev ## Execute the notebooks
	@$(BIN)/python notebooks/execute.py $(NOTEBOOKS)

.PHONY: lab
lab: setup $(VENV)/ready-notebooks | build/lab ## Open the lessons in Jupyter Lab. Your answers stay in build/lab
	@$(BIN)/python -m jupyterlab build/lab/students

build/lab: | $(VENV)/ready-dev
	@$(BIN)/python notebooks/handouts.py $@ $(NOTEBOOKS)

.PHONY: handouts
handouts: $(VENV)/ready-dev ## Write lessons for a class, with and without solutions, and for nbgrader, to build/handouts
	@$(BIN)/python notebooks/handouts.py build/handouts $(NOTEBOOKS)

.PHONY: check-lessons
check-lessons: setup $(VENV)/ready-dev ## Execute the hand-outs with nbconvert, and grade two students of each lesson with nbgrader (LESSONS)
	@$(PIP) install --quiet "nbgrader>=0.9.6"
	@$(BIN)/python notebooks/try_class.py build/class $(or $(LESSONS),$(NOTEBOOKS))

##@ Develop
# A build beside the installed one, with a unit for each file, little optimised: a change compiles in
# seconds, and results are the same. Python takes the package from the source tree, the module from here.
DEV := build/dev
IN_DEV := PYTHONPATH=$(CURDIR) TUNNELCC_CORE=$(CURDIR)/$(DEV)/_core.so
DEV_BUILD := $(BIN)/cmake --build $(DEV) --target

$(DEV)/build.ninja: | $(VENV)/ready $(VENV)/ready-ns3
	@$(CONFIGURE) --preset dev

.PHONY: dev
dev: $(DEV)/build.ninja ## Compile what changed, in seconds, and run it: RUN="run --cc bbr"
	@$(DEV_BUILD) _core
	@$(IN_DEV) $(BIN)/python -m tunnelcc $(or $(RUN),--help)

.PHONY: dev-models
dev-models: $(DEV)/build.ninja $(VENV)/ready-dev
	@$(DEV_BUILD) _core tunnelcc-tests -- --quiet

.PHONY: dev-test
dev-test: dev-models ## Compile what changed, and test a room: ROOM=congestion
	@$(BIN)/ctest --test-dir $(DEV) --output-on-failure -R '^tunnelcc-$(ROOM)'
	@! [ -d tests/python/$(ROOM) ] || \
	    $(IN_DEV) $(BIN)/python -m pytest -q -n auto -m "not slow" tests/python/$(ROOM)

# Folders of tests that run whole commands, papers, programs or pages.
WHOLE := $(addprefix tests/python/,commands documents models papers sweeps tools validation)

.PHONY: check
check: lint dev-models ## Before each commit, in a minute: lint, the models' suites, tests of most rooms
	@$(BIN)/ctest --test-dir $(DEV) --output-on-failure --no-tests=error -R '^tunnelcc-'
	@$(IN_DEV) $(BIN)/python -m pytest -q -n auto -m "not slow" $(addprefix --ignore=,$(WHOLE))

##@ Check
.PHONY: test
test: setup ## Run the models' suites and the Python tests, but for the slow ones
	@$(TOGETHER) models $(VENV)/ready-dev
	@$(BIN)/ctest --test-dir $(BUILD) --output-on-failure --no-tests=error
	@$(MAKE) --no-print-directory test-package

.PHONY: test-package
test-package: programs $(VENV)/ready-dev ## Of `make test`, the Python tests
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: models $(VENV)/ready-dev ## Run the slow Python tests
	@$(BIN)/python -m pytest -n auto --dist worksteal -m slow $(PYTEST_ARGS)

.PHONY: validate
validate: models ## Compare with measured Linux, scripts, theory and stock ns-3
	@mkdir -p runs
	@PYTHONPATH=tests $(BIN)/python -m validation --report runs/validation.html $(VALIDATE_ARGS)

.PHONY: check-report
check-report: setup ## Look at the pages of a report in Chromium (needs chromium, chromium-driver)
	@$(PIP) install "selenium>=4.20"
	@$(BIN)/tunnelcc reproduce --all --report runs/report $(REPORT_ARGS)
	@$(BIN)/python tests/browser/check_report.py runs/report runs/report/screenshots

.PHONY: check-wasm
check-wasm: setup wasm $(VENV)/ready-dev ## Compare the models as WebAssembly with the native ones, to the bit
	@$(BIN)/python -m pytest -q -n auto --fail-missing tests/python/core/test_wasm.py

.PHONY: check-measure
check-measure: setup $(VENV)/ready-dev ## Measure on this machine, also through wireguard-go and gost if PATH has them (needs root)
	@$(BIN)/python -m pytest -q -rs tests/python/measure $(PYTEST_ARGS)

.PHONY: linux
linux: setup ## Compile the kernel of `tunnelcc measure --kernel virtual` into a wheel, and install it (four minutes of CPU time)
	@$(BIN)/python waf-config/linux/build.py wheel dist $(LINUX_ARGS)
	@$(PIP) install --force-reinstall --no-deps $$(ls -t dist/tunnelcc_linux-*.whl | head -n 1)

N ?= 300
SEED ?= 1
.PHONY: oracle
oracle: setup $(VENV)/ready-dev ## Draw N random experiments of a SEED, let Linux answer those that are new, and compare all
	@PYTHONPATH=tests $(BIN)/python -m validation.oracle ask $(N) $(SEED)
	@PYTHONPATH=tests $(BIN)/python -m validation.oracle compare

.PHONY: judge
judge: setup ## Judge what N random experiments of a SEED say limits their flows, by runs of other keys and seeds
	@$(BIN)/python tests/judge/judge.py -n $(N) --seed $(SEED)

.PHONY: mutants
mutants: models $(VENV)/ready-dev ## Make small wrong changes, and count how many the nearest tests notice (MUTANTS_ARGS, such as "--room words")
	@$(BIN)/python tests/mutants/mutants.py $(MUTANTS_ARGS)

.PHONY: paths
paths: setup $(VENV)/ready-dev ## Measure N random paths of a SEED with iperf3, ss and ping in that Linux, and count what fit tells of all that are kept
	@PYTHONPATH=tests $(BIN)/python -m validation.paths ask $(N) $(SEED)
	@PYTHONPATH=tests $(BIN)/python -m validation.paths pack build/paths
	@PYTHONPATH=tests $(BIN)/python -m validation.paths judge

.PHONY: check-bindings
check-bindings: programs $(VENV)/ready-dev $(VENV)/ready-ns3-bindings ## Use ns-3's Python bindings with our sockets; the first time, pip compiles cppyy
	@$(BIN)/python -m pytest -q tests/python/tools/test_ns3_bindings.py

.PHONY: contrib
contrib: setup ## Write sockets and tunnels as a module for ns-3's source tree to build/contrib/tunnelcc
	@$(BIN)/python waf-config/contrib.py build/contrib/tunnelcc
	@echo "Copy build/contrib/tunnelcc to contrib/ of ns-3's source tree"

# npm removes what it is not told of: all that drives a browser is named at once.
NPM := npm install --silent --no-save --no-audit --no-fund --prefix build/browser \
    puppeteer-core@24 axe-core@4 typescript@5 @types/node@20

.PHONY: check-laboratory
check-laboratory: docs ## Use the laboratory in Chromium and Firefox (needs both, and npm)
	@$(NPM)
	@$(BIN)/python docs/laboratory build/laboratory
	@build/browser/node_modules/.bin/tsc --noEmit --allowJs --checkJs --strict --target es2022 \
	    --module esnext --moduleResolution bundler --lib es2024,dom,dom.iterable --types node \
	    --typeRoots build/browser/node_modules/@types build/laboratory/*.mjs
	@node tests/browser/check_laboratory.mjs build/browser build/site/lab.html runs/laboratory

.PHONY: check-sliders
check-sliders: setup $(VENV)/ready-notebooks ## Move the sliders of lessons in Jupyter Lab, in Chromium (needs it and npm; LESSONS=notebooks/03-bbr.md for one)
	@$(NPM)
	@rm -rf build/sliders
	@$(BIN)/python notebooks/handouts.py build/sliders $(or $(LESSONS),$(NOTEBOOKS))
	@node tests/browser/check_sliders.mjs build/browser $(BIN)/python build/sliders/students

PAGES ?=
.PHONY: check-pages
check-pages: docs ## Look at all pages of the site in Chromium with axe, in light and dark, and on a phone (needs it and npm; PAGES=questions/ for some)
	@$(NPM)
	@node tests/browser/check_site.mjs build/browser build/site $(PAGES)

.PHONY: asan-tree
asan-tree: setup
	@$(CONFIGURE) --preset asan

.PHONY: asan
asan: asan-tree ## Run the models' suites under AddressSanitizer and UBSan
	@$(BIN)/cmake --build build/asan --target tunnelcc-tests
	@$(BIN)/ctest --test-dir build/asan --output-on-failure --no-tests=error -E '^(scratch|bench)/'

.PHONY: fuzz
fuzz: setup ## Run the fuzzers for two hours (FUZZ_ARGS; see tests/fuzz)
	@$(BIN)/python -m tests.fuzz --seconds 7200 $(FUZZ_ARGS)

.PHONY: fuzz-asan
fuzz-asan: asan-tree ## Run random experiments under the sanitizers (FUZZ_ARGS)
	@$(BIN)/cmake --build build/asan --target _core
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 $(BIN)/python -m tests.fuzz \
	    --only experiments --core build/asan/_core.*.so --seconds 1200 $(FUZZ_ARGS)

.PHONY: lint
lint: $(VENV)/ready-dev ## Check formatting, style, types, also of what users write, which room uses which, and that words decide nothing
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=$(CURDIR) $(BIN)/python waf-config/check-types.py
	@PYTHONPATH=$(CURDIR) $(BIN)/lint-imports --no-logo
	@$(BIN)/python waf-config/check-rooms.py
	@$(BIN)/python waf-config/check-words.py
	@$(BIN)/python waf-config/check-sources.py
	@$(BIN)/python waf-config/check-systems.py
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	@$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

.PHONY: tidy
tidy: $(VENV)/ready-ns3 $(VENV)/ready-dev ## Run clang-tidy on the models (the build of `make dev` has more warnings)
	@$(BIN)/python waf-config/tidy.py

.PHONY: format
format: $(VENV)/ready-dev ## Format Python and C++, and write the types of results
	@PYTHONPATH=$(CURDIR) $(BIN)/python waf-config/write-stub.py
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CXX_FILES)

##@ Set up
.PHONY: setup
setup: $(BUILD)/installed ## Virtual environment and compiled module

.PHONY: models
models: setup ## Test suites, scratch programs and benchmark, too
	@$(BIN)/cmake --build $(BUILD) -- --quiet

.PHONY: programs
programs: setup ## Of `make models`, the programs of scratch/ and those that Python tests run
	@$(BIN)/cmake --build $(BUILD) --target programs -- --quiet

# Which versions of Python: make wheels PYTHONS=3.12. "any" is the wheel for all systems.
PYTHONS = any 3.10 3.11 3.12 3.13 3.14

.PHONY: wheels
wheels: $(BIN)/python $(if $(filter any,$(PYTHONS)),wasm) ## Build the wheels of all supported versions of Python in dist/ (PYTHONS)
	@$(BIN)/python waf-config/wheels.py build $(PYTHONS)

.PHONY: wheel
wheel: setup ## Build the wheel for the Python of the virtual environment, of what is compiled
	@$(BIN)/python waf-config/wheels.py here

.PHONY: try-wheels
try-wheels: $(BIN)/python ## Install each wheel in an empty environment, and run it (PYTHONS)
	@$(BIN)/python waf-config/wheels.py try $(PYTHONS)

.PHONY: release
release: $(BIN)/python $(if $(filter any,$(PYTHONS)),wasm) ## Build, check and try all wheels, and list what would be published, with the notes (PYTHONS)
	@$(BIN)/python waf-config/wheels.py release $(PYTHONS)

.PHONY: clean
clean: ## Remove everything that was built, the virtual environment included
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find tunnelcc tests scratch waf-config -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help:
	@awk -F ':.*## ' '/^##@/ {print substr($$0, 5) ":"} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' \
	    $(MAKEFILE_LIST)

# A build made for another interpreter is of no use to a new environment. Another make may be at the
# same work: then this one waits, and finds it done. So with packages and the models below.
$(BIN)/python:
	@python=$$(sh waf-config/check-machine.sh) && flock Makefile sh -c '[ -x $@ ] || { \
	    echo "Creating a virtual environment in $(VENV)" && \
	    rm -rf $(VENV) build && "$$0" -m venv $(VENV) && $(PIP) install "pip>=22.1"; }' "$$python"

# What compiles the models: ns-3, without its dependencies (see waf-config/requirements.py), and tools.
$(VENV)/ready-ns3: pyproject.toml | $(BIN)/python
	@echo "Installing ns-3"
	@flock $(VENV)/ns3.lock $(INSTALL) --no-deps ns3==3.44.post0
	@touch $@

$(VENV)/ready-build: pyproject.toml waf-config/requirements.py | $(BIN)/python
	@echo "Installing the Python packages"
	@$(BIN)/python waf-config/requirements.py build > $(VENV)/requirements-build.txt
	@flock $(VENV)/packages.lock $(INSTALL) --requirement $(VENV)/requirements-build.txt
	@touch $@

# What runs them.
$(VENV)/ready: $(VENV)/ready-build
	@$(BIN)/python waf-config/requirements.py > $(VENV)/requirements.txt
	@flock $(VENV)/packages.lock $(INSTALL) --requirement $(VENV)/requirements.txt
	@touch $@

# What an extra needs: tests, checks and notebooks that of dev, the site that of docs.
$(VENV)/ready-%: $(VENV)/ready
	@echo "Installing the packages of the extra $*"
	@$(BIN)/python waf-config/requirements.py $* > $(VENV)/requirements-$*.txt
	@flock $(VENV)/packages.lock $(INSTALL) --requirement $(VENV)/requirements-$*.txt
	@touch $@

# An editable installation knows each module's file: it is made anew when one came, went or moved.
ifneq ($(file <$(BUILD)/installed),$(PYTHON_MODULES))
.PHONY: $(BUILD)/installed
endif

$(BUILD)/installed: pyproject.toml waf-config/requirements.py $(MODULE_SOURCES) | $(BIN)/python
	@$(TOGETHER) $(VENV)/ready module bytecode
	@$(BIN)/tunnelcc run --duration 1s --plot $(BUILD)/first.png > $(BUILD)/first.log 2>&1 || \
	    { cat $(BUILD)/first.log >&2; exit 1; }
	@echo "$(PYTHON_MODULES)" > $@

.PHONY: module
module: $(VENV)/ready-ns3 $(VENV)/ready-build
	@sh waf-config/check-machine.sh > /dev/null
	@echo "Compiling the models"
	@PATH="$(CURDIR)/$(BIN):$$PATH" flock $(VENV)/module.lock $(INSTALL) --no-deps --no-build-isolation \
	    --config-settings build-dir=$(BUILD) \
	    --config-settings cmake.define.TUNNELCC_DEVELOPMENT=ON \
	    --config-settings build.targets=_core \
	    --editable .

.PHONY: bytecode
bytecode: | $(BIN)/python
	@$(BIN)/python -m compileall -q tunnelcc
