# SPDX-License-Identifier: GPL-2.0-only
#
# What developers build and users do not: test suites, scratch programs, the stock benchmark.

# A program that runs a specification, for profilers: optimised as the module is.
add_executable(run-spec "${root}/scratch/run-spec.cc")
target_link_libraries(run-spec PRIVATE tunnelcc-models)
set_target_properties(run-spec PROPERTIES RUNTIME_OUTPUT_DIRECTORY scratch)

# The others are optimised less: they take a third longer, but compile in half the time.
set(test_models tunnelcc-models)
if(CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF)
  set(test_models tunnelcc-test-models)
  add_models(${test_models} -O1)
endif()

# The catalogue of tunnels, as programs on ns-3 have it. An interpreter cannot load a module with
# sanitizers, so there the installed one writes it.
set(tunnel_texts "${CMAKE_CURRENT_BINARY_DIR}/generated/tunnel-texts.cc")
file(GLOB_RECURSE catalogue_sources CONFIGURE_DEPENDS "${root}/tunnelcc/catalog/*.toml"
     "${root}/tunnelcc/catalog/*.py")
set(script "${CMAKE_CURRENT_SOURCE_DIR}/tunnel-catalogue.py")
set(with_core "TUNNELCC_CORE=$<TARGET_FILE:_core>")
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(with_core "TUNNELCC_CORE=")
endif()
add_custom_command(
  OUTPUT "${tunnel_texts}"
  COMMAND "${CMAKE_COMMAND}" -E env "${with_core}" "${Python_EXECUTABLE}" "${script}" "${tunnel_texts}"
  DEPENDS "${script}" ${catalogue_sources} "${root}/tunnelcc/specification/node_tunnel.py"
  VERBATIM)
add_library(tunnelcc-tunnel-texts OBJECT "${tunnel_texts}")
target_include_directories(tunnelcc-tunnel-texts PRIVATE "${root}/models")
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  add_dependencies(tunnelcc-tunnel-texts _core)
endif()

# tests/models/ROOM/*.cc: ns-3 TestSuites in one program, each a CTest test of its own. What several
# of them use is in tests/models/support.
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${root}/tests/models/*.cc")
list(FILTER test_sources EXCLUDE REGEX "/modules/files/")
add_executable(tunnelcc-tests ${test_sources})
target_include_directories(tunnelcc-tests PRIVATE "${root}/tests/models")
set(node_models ${test_models} tunnelcc-socket tunnelcc-nodes tunnelcc-tunnel-texts)
target_link_libraries(tunnelcc-tests PRIVATE ${node_models} ns3::applications ns3::point-to-point)
# The models, not the tests, take the time of a run. So tests compile in two thirds of the time, under
# the sanitizers in half.
target_compile_options(tunnelcc-tests PRIVATE $<IF:$<CONFIG:Debug>,-O0,-O1>)
# Most of that time goes into inline functions of the models, which each file would compile again. So the
# files of a room are one unit, but for those that give a name of another file another meaning.
if(TUNNELCC_ONE_UNIT)
  set_target_properties(tunnelcc-tests PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS test_sources)
    cmake_path(GET source PARENT_PATH room)
    cmake_path(GET room FILENAME room)
    if(NOT source MATCHES "/(congestion/bbr3?|path/path|path/queued-link)-test\\.cc$")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${room}")
    endif()
  endforeach()
endif()
# What stands in for rooms in the WebAssembly module has to follow their headers: told here, and not only
# where the site is built.
add_library(wasm-stand-ins OBJECT "${root}/models/wasm/no-capture.cc"
                                  "${root}/models/wasm/no-modules.cc")
target_link_libraries(wasm-stand-ins PRIVATE ${test_models})
add_dependencies(tunnelcc-tests wasm-stand-ins)
target_compile_definitions(tunnelcc-tests
                           PRIVATE TUNNELCC_TEST_DATA="${root}/tests/reference")

# Files of congestion controls that tests load, compiled as tunnelcc/modules/compiler.py does: without
# sanitizers, like a user's. A name in the form of a hash stands for theirs: only such a file is loaded.
set(test_modules "${CMAKE_CURRENT_BINARY_DIR}/test-modules")
set(own_module "${test_modules}/00000000000000000000000000000001.so")
set(linux_module "${test_modules}/00000000000000000000000000000002.so")
file(MAKE_DIRECTORY "${test_modules}")
find_program(C_COMPILER NAMES cc gcc clang REQUIRED)
set(headers "${root}/models/modules")
set(files "${root}/tests/models/modules/files")
add_custom_command(
  OUTPUT "${own_module}"
  COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -O2 -g1 -fPIC -shared -fvisibility=hidden "-I${headers}"
          "${files}/own.cc" -o "${own_module}"
  DEPENDS "${files}/own.cc" "${headers}/tunnelcc.h"
  VERBATIM)
add_custom_command(
  OUTPUT "${linux_module}"
  COMMAND "${C_COMPILER}" -std=gnu11 -O2 -g1 -fPIC -shared -nostdinc -fvisibility=hidden
          -include "${headers}/linux-kernel.h" "${files}/tcp_own.c" -o "${linux_module}"
  DEPENDS "${files}/tcp_own.c" "${headers}/linux-kernel.h" "${headers}/linux-abi.h"
  VERBATIM)
add_custom_target(test-modules DEPENDS "${own_module}" "${linux_module}")
add_dependencies(tunnelcc-tests test-modules)
target_compile_definitions(tunnelcc-tests PRIVATE TUNNELCC_TEST_MODULES="${test_modules}")

# The suites register themselves when the program starts, so it is asked for them once built.
set(suite_list "${CMAKE_CURRENT_BINARY_DIR}/suites.cmake")
add_custom_command(
  TARGET tunnelcc-tests
  POST_BUILD
  COMMAND "${CMAKE_COMMAND}" -DRUNNER=$<TARGET_FILE:tunnelcc-tests> "-DOUTPUT=${suite_list}" -P
          "${CMAKE_CURRENT_SOURCE_DIR}/ListSuites.cmake"
  VERBATIM)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${suite_list}")

# scratch/*.cc: a program each, run with its defaults as a test. It is linked with the modules of ns-3
# whose headers "ns3/MODULE-module.h" it includes.
file(GLOB scratch_sources CONFIGURE_DEPENDS "${root}/scratch/*.cc")
list(FILTER scratch_sources EXCLUDE REGEX "/run-spec.cc$") # needs a file: tests/python/tools/test_scratch.py
foreach(source IN LISTS scratch_sources)
  cmake_path(GET source STEM name)
  add_executable(scratch-${name} "${source}")
  file(STRINGS "${source}" modules REGEX "^#include \"ns3/.*-module.h\"$")
  list(TRANSFORM modules REPLACE "^#include \"ns3/(.*)-module.h\"$" "ns3::\\1")
  target_link_libraries(scratch-${name} PRIVATE ${node_models} ${modules} ns3::point-to-point)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  set_target_properties(scratch-${name} PROPERTIES OUTPUT_NAME "${name}"
                                                   RUNTIME_OUTPUT_DIRECTORY scratch)
  add_test(NAME scratch/${name} COMMAND scratch-${name})
  list(APPEND scratch_programs scratch-${name})
endforeach()

# Compares our congestion controls with Linux's files: tests/python/modules/test_oracle.py.
add_executable(beside "${root}/tests/linux/beside.cc")
target_link_libraries(beside PRIVATE ${test_models})
set_target_properties(beside PROPERTIES RUNTIME_OUTPUT_DIRECTORY linux)

# The benchmark's baseline uses nothing of the models.
add_executable(stock-ns3 "${root}/tests/bench/stock-ns3.cc")
target_link_libraries(stock-ns3 PRIVATE ns3::internet ns3::point-to-point)
add_test(NAME bench/stock-ns3 COMMAND stock-ns3 --duration=1)

# Runs conditions of the validation on devices of ns-3: tests/python/validation/test_on_devices.py.
add_executable(on-devices "${root}/tests/validation/on-devices.cc")
target_link_libraries(on-devices PRIVATE ${test_models} tunnelcc-socket ns3::applications ns3::point-to-point)

# What Python tests run.
add_custom_target(programs DEPENDS run-spec stock-ns3 beside on-devices ${scratch_programs})
