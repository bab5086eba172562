# SPDX-License-Identifier: GPL-2.0-only
#
# Puts the libraries of ns-3 that the module needs into the package, so that whoever installs it needs
# no `ns3` wheel: that is 305 MB, and its dependency cppyy has to be compiled.
#
# The folder has a dot, because ns-3's own Python bindings search folders below the current one for
# libraries of ns-3 and refuse two of a kind.
#
# The wheel links ns-3 with GSL, but these libraries use none of its functions. It is taken out,
# because its licence (GPL 3 or later) does not go with that of ns-3 (GPL 2 only).

find_program(PATCHELF patchelf REQUIRED)
file(GLOB ns3_sqlite "${NS3_WHEEL_DIRECTORY}/lib64/libsqlite3-*.so*")
file(GLOB ns3_gsl RELATIVE "${NS3_WHEEL_DIRECTORY}/lib64" "${NS3_WHEEL_DIRECTORY}/lib64/libgsl*.so*")

set(ns3_installed ${ns3_sqlite})
foreach(module IN ITEMS core stats network bridge traffic-control internet virtual-net-device)
  get_target_property(library ns3::${module} IMPORTED_LOCATION)
  list(APPEND ns3_installed "${library}")
endforeach()
install(PROGRAMS ${ns3_installed} DESTINATION tunnelcc/.libs)

set(edit "--set-rpath [[$ORIGIN]]")
foreach(library IN LISTS ns3_gsl)
  string(APPEND edit " --remove-needed ${library}")
endforeach()
foreach(library IN LISTS ns3_installed)
  cmake_path(GET library FILENAME name)
  install(
    CODE "set(file [[${name}]])"
    CODE [[set(file "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/tunnelcc/.libs/${file}")]]
    CODE "execute_process(COMMAND [[${CMAKE_STRIP}]] --strip-unneeded \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)"
    CODE "execute_process(COMMAND [[${PATCHELF}]] ${edit} \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
