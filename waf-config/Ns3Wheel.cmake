# SPDX-License-Identifier: GPL-2.0-only
#
# Imported targets ns3::core, ns3::internet, … for the libraries in the `ns3` wheel.
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

foreach(module IN ITEMS core stats network bridge traffic-control internet point-to-point)
  add_library(ns3::${module} SHARED IMPORTED)
  set_target_properties(
    ns3::${module}
    PROPERTIES IMPORTED_LOCATION
               "${NS3_WHEEL_DIRECTORY}/lib64/libns${NS3_WHEEL_VERSION}-${module}.so"
               INTERFACE_INCLUDE_DIRECTORIES "${NS3_WHEEL_DIRECTORY}/include"
               INTERFACE_COMPILE_DEFINITIONS "NS3_LOG_ENABLE;NS3_ASSERT_ENABLE"
               # The libraries that these need have names mangled by the wheel's repair step.
               INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
endforeach()
target_link_libraries(ns3::stats INTERFACE ns3::core)
target_link_libraries(ns3::network INTERFACE ns3::stats ns3::core)
target_link_libraries(ns3::bridge INTERFACE ns3::network)
target_link_libraries(ns3::traffic-control INTERFACE ns3::network)
target_link_libraries(ns3::internet INTERFACE ns3::bridge ns3::traffic-control ns3::network)
target_link_libraries(ns3::point-to-point INTERFACE ns3::network)
