# SPDX-License-Identifier: GPL-2.0-only
#
# Imported targets ns3::core, ns3::internet, ns3::wifi, … for all libraries in the `ns3` wheel.
#
# The wheel's own package configuration and .pc files carry the paths of the machine it was built
# on, so the libraries are taken straight from the package directory that Python would import.
# The wheel is built with assertions and logging, which change inline code in its headers: both
# definitions must be the same here.

set(NS3_WHEEL_VERSION 3.44)

execute_process(
  COMMAND
    "${Python_EXECUTABLE}" -c
    "import importlib.util as u; s = u.find_spec('ns3'); print(*(s.submodule_search_locations if s else ()), sep=';')"
  OUTPUT_VARIABLE ns3_directories
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

unset(NS3_WHEEL_DIRECTORY)
foreach(directory IN LISTS ns3_directories)
  if(EXISTS "${directory}/lib64/libns${NS3_WHEEL_VERSION}-core.so")
    set(NS3_WHEEL_DIRECTORY "${directory}")
  endif()
endforeach()
if(NOT NS3_WHEEL_DIRECTORY)
  message(FATAL_ERROR "ns-3 ${NS3_WHEEL_VERSION} is not installed for ${Python_EXECUTABLE}: "
                      "install it with `pip install ns3==3.44.post0`")
endif()
message(STATUS "ns-3 ${NS3_WHEEL_VERSION}: ${NS3_WHEEL_DIRECTORY}")

set(ns3_prefix "${NS3_WHEEL_DIRECTORY}/lib64/libns${NS3_WHEEL_VERSION}-")
file(GLOB ns3_libraries "${ns3_prefix}*.so")
set(ns3_modules "")
foreach(library IN LISTS ns3_libraries)
  string(REPLACE "${ns3_prefix}" "" module "${library}")
  string(REPLACE ".so" "" module "${module}")
  list(APPEND ns3_modules "${module}")
  add_library(ns3::${module} SHARED IMPORTED)
  set_target_properties(
    ns3::${module}
    PROPERTIES IMPORTED_LOCATION "${library}"
               INTERFACE_INCLUDE_DIRECTORIES "${NS3_WHEEL_DIRECTORY}/include"
               INTERFACE_COMPILE_DEFINITIONS "NS3_LOG_ENABLE;NS3_ASSERT_ENABLE"
               # Libraries of others, such as GSL, have names mangled by the wheel's repair step.
               INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
endforeach()
# Each library tells which others it needs.
foreach(module IN LISTS ns3_modules)
  execute_process(
    COMMAND "${CMAKE_READELF}" --dynamic "${ns3_prefix}${module}.so"
    OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "libns${NS3_WHEEL_VERSION}-[a-z0-9-]+" needed "${needed}")
  list(TRANSFORM needed REPLACE "libns${NS3_WHEEL_VERSION}-" "ns3::")
  list(REMOVE_ITEM needed ns3::${module}) # its own name
  target_link_libraries(ns3::${module} INTERFACE ${needed})
endforeach()
