# SPDX-License-Identifier: GPL-2.0-only
"""Build wheels in dist/ and try them: ``wheels.py build|try any 3.10 3.12``, or ``wheels.py here``.

``wheels.py release any 3.10 …`` does both, has twine check the files as an index would, and lists
what would be published, with the notes of the changelog. It publishes nothing.

``here`` builds the one for this Python, of what `make setup` has compiled. One wheel serves Python
3.12 and all later versions. A wheel holds the ns-3 libraries that it needs, and its name says which
glibc it needs (auditwheel finds that out). ``any`` is the one for all systems, whose models are
WebAssembly: of what `make wasm` has compiled.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build/wheels"
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
ANY = "any"
INSTALL_SECONDS = 60  # what a user may be asked to wait, with pip's cache
SHARED = "3.12"  # its wheel serves later versions, too

# The models for the wheel of all systems.
WASM = ROOT / "build/wasm/tunnelcc-package.wasm"

# What a user does with that wheel.
UNIVERSAL_USE = (
    "tunnelcc doctor",
    "tunnelcc run --rate 100Mbps --rtt 100ms --loss 1% --cc bbr --flows 4 "
    "--tunnel gost-relay-wss --plot run.png",
    "tunnelcc sweep --axis cc=bbr,cubic --axis path.loss=0,1% --seeds 5 --set duration=5s "
    "--store s -o s.csv",
    "tunnelcc compare --tunnel none,wireguard,gost-relay-wss --cc bbr,cubic --loss 1% --seeds 3 "
    "--duration 5s",
    "tunnelcc plot s -o sweep.png",
)

# What a user who has nothing but the wheel does first.
FIRST_USE = """
import tunnelcc as tc

path = tc.Path(rate="100Mbps", rtt="100ms", loss="1%", buffer="1bdp")
for tunnel in (None, "gost-relay-ws", "gost-relay-wss"):
    result = tc.run(tc.Experiment(path=path, tunnel=tunnel, flows=[tc.Flow(cc="bbr", count=4)]))
    print(tunnel, result.goodput)
"""


def main(arguments: "list[str]") -> None:
    """Run one command for all versions."""
    command, versions = arguments[0], arguments[1:]
    if arguments == ["here"]:
        python = Path(sys.executable)
        run(*pip(python), "install", "auditwheel")
        pack(python, ROOT / "build/release", "build.targets=_core")
        return
    if command == "release" and versions:
        release(versions)
        return
    if command not in ("build", "try") or not set(versions) <= {ANY, *VERSIONS}:
        raise SystemExit(__doc__)
    natives = [version for version in versions if version != ANY]
    if command == "build":
        if ANY in versions:
            build_universal()
        for version in dict.fromkeys(map(wheel_version, natives)):
            build(version)
    else:
        if ANY in versions:
            try_universal()
        for version in natives:
            try_out(version)


def release(versions: "list[str]") -> None:
    """Build, check and try the wheels, and print what would be published."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (version,) = re.findall(r'__version__ = "(.*)"', (ROOT / "tunnelcc/_version.py").read_text())
    told = notes(text, version)
    shutil.rmtree(DIST, ignore_errors=True)
    main(["build", *versions])
    files = sorted(DIST.glob("*.whl"))
    tools = WORK / "venv-tools/bin/python"
    if not tools.exists():
        run(sys.executable, "-m", "venv", tools.parent.parent)
    run(*pip(tools), "install", "twine")
    run(tools, "-m", "twine", "check", "--strict", *files)
    main(["try", *versions])
    print(f"\ntunnelcc {version}: nothing is published yet. These files would be:")
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        print(f"{digest}  {file.stat().st_size / 1e6:5.1f} MB  {file.relative_to(ROOT)}")
    print(f"\nNotes:\n\n{told}")


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version, which has to be its first one, with a date."""
    heading, _, rest = changelog.partition("\n## ")[2].partition("\n")
    if not re.fullmatch(re.escape(version) + r", \d{4}-\d\d-\d\d", heading):
        raise SystemExit(
            f"CHANGELOG.md begins with {heading!r}, not with {version!r} and a date: see "
            '"Make a release" in CONTRIBUTING.md'
        )
    return rest.partition("\n## ")[0].strip()


def build(version: str) -> None:
    """Put the wheel for one version of Python into dist/."""
    python = environment(version, WORK / f"venv-{version}")
    listed = output(python, ROOT / "waf-config/requirements.py", "build").split("\n")
    run(*pip(python), "install", *listed, "auditwheel")
    run(*pip(python), "install", "--no-deps", "ns3==3.44.post0")
    pack(python, WORK / f"build-{version}")


def build_universal() -> None:
    """Put the wheel for all systems into dist/."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE.md"):
            shutil.copy(ROOT / name, tree)
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.wasm")
        shutil.copytree(ROOT / "tunnelcc", tree / "tunnelcc", ignore=ignored)
        shutil.copy(WASM, tree / "tunnelcc/core/tunnelcc.wasm")
        settings = ("wheel.cmake=false", "wheel.py-api=py3", "wheel.platlib=false")
        for old in DIST.glob("tunnelcc-*-none-any.whl"):
            old.unlink()
        run(*pip(Path(sys.executable)), "wheel", "--no-deps", "--no-build-isolation",
            *(f"--config-settings={it}" for it in settings), "--wheel-dir", DIST, tree)  # fmt: skip


def pack(python: Path, folder: Path, *settings: str) -> None:
    """Compile in a folder, with an environment that has all tools; put the wheel into dist/."""
    tools = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    options = [f"--config-settings={it}" for it in (f"build-dir={folder}", *settings)]
    with tempfile.TemporaryDirectory() as built:
        run(*pip(python), "wheel", "--no-deps", "--no-build-isolation", *options,
            "--wheel-dir", built, ROOT, env=tools)  # fmt: skip
        (wheel,) = Path(built).glob("*.whl")
        for old in DIST.glob("-".join(wheel.name.split("-")[:4]) + "-*.whl"):
            old.unlink()
        run(python, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel, env=tools)


def try_out(version: str) -> None:
    """Install the wheel as a user would, without a compiler or a clone, and use it."""
    tag = "cp" + wheel_version(version).replace(".", "")
    wheels = sorted(DIST.glob(f"tunnelcc-*-{tag}-*manylinux*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"dist/ holds {len(wheels)} wheels for Python {version}, not one")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        python = environment(version, Path(folder, "venv"))
        nobody = nobody_in(folder, python)
        run(*pip(python), "install", "--only-binary", ":all:", wheels[0], env=nobody, cwd=folder)
        installed = time.monotonic()
        used = run(python, "-c", FIRST_USE, env=nobody, cwd=folder, stdout=subprocess.PIPE)
        ended = time.monotonic()
        run("tunnelcc", "--version", env=nobody, cwd=folder)
        run("tunnelcc", "doctor", env=nobody, cwd=folder)
        files = [file for file in Path(folder).rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files if not file.is_symlink())
    print(used.stdout, end="")
    slow(installed - began)
    print(
        f"Python {version}: {wheels[0].name}, {wheels[0].stat().st_size / 1e6:.1f} MB, installed "
        f"in {installed - began:.0f} s, first use {ended - installed:.0f} s, "
        f"environment {size / 1e6:.0f} MB"
    )


def try_universal() -> None:
    """Install the wheel for all systems where there is no native module, and use it."""
    (wheel,) = sorted(DIST.glob("tunnelcc-*-py3-none-any.whl"))
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv/bin/python")
        run(sys.executable, "-m", "venv", Path(folder, "venv"))
        nobody = nobody_in(folder, python)
        began = time.monotonic()
        # By its extra, because the marker leaves wasmtime out where there is a native module.
        run(*pip(python), "install", "--only-binary", ":all:", f"{wheel}[wasm]",
            env=nobody, cwd=folder)  # fmt: skip
        installed = time.monotonic()
        said = run("tunnelcc", "--version", env=nobody, cwd=folder, stdout=subprocess.PIPE).stdout
        if "WebAssembly" not in said:
            raise SystemExit(f"it does not run WebAssembly: {said}")
        for command in UNIVERSAL_USE:
            run(*command.split(), env=nobody, cwd=folder)
        ended = time.monotonic()
        slow(installed - began)
        for figure in ("run.png", "sweep.png"):
            if not Path(folder, figure).read_bytes().startswith(b"\x89PNG"):
                raise SystemExit(f"{figure} is no figure")
    print(
        f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB, installed in "
        f"{installed - began:.0f} s, used in {ended - installed:.0f} s"
    )


def slow(seconds: float) -> None:
    """Say that an installation took long."""
    if seconds > INSTALL_SECONDS:
        print(f"installed in {seconds:.0f} s, which is more than {INSTALL_SECONDS} s")


def nobody_in(folder: str, python: Path) -> "dict[str, str]":
    """Return the environment of a user who has nothing but an environment of Python."""
    return {
        "PATH": f"{python.parent}:/usr/bin:/bin", "HOME": folder, "CC": "false", "CXX": "false",
        **{name: os.environ[name] for name in os.environ if name.startswith("PIP_")},
    }  # fmt: skip


def pip(python: Path) -> "list[object]":
    """Return the command pip of an environment."""
    return [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def wheel_version(version: str) -> str:
    """Return the version whose wheel serves this one."""
    return min(version, SHARED, key=VERSIONS.index)


def environment(version: str, folder: Path) -> Path:
    """Return the interpreter of a virtual environment, which is made if it is not there."""
    inside = folder / "bin/python"
    if not inside.exists():
        python = interpreter(version)
        if not python:
            raise SystemExit(f"Python {version} was not found: install it, with its module venv")
        run(python, "-m", "venv", folder)
    return inside


def interpreter(version: str) -> str:
    """Return a Python of the version: on PATH, of pyenv or of uv; "" if there is none."""
    candidates = [f"python{version}"]
    if shutil.which("pyenv"):
        candidates += map(
            str, Path(output("pyenv", "root")).glob(f"versions/{version}.*/bin/python")
        )
    if shutil.which("uv"):
        candidates.append(output("uv", "python", "find", version))
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    return next((it for it in candidates if it and output(it, "-c", tell) == version), "")


def run(*command: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command. It ends this program if it fails."""
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def output(*command: object) -> str:
    """Return what a command prints; nothing if it fails or does not exist."""
    if not shutil.which(str(command[0])):
        return ""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or [""])
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"wheels.py: {error}") from None
