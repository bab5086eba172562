# SPDX-License-Identifier: GPL-2.0-only
#
# Modules by their names, not as ${libwifi}: that is empty where the module is not built, and ns-3
# would not see that the example lacks it.
build_lib_example(
  NAME wireless
  SOURCE_FILES wireless.cc
  LIBRARIES_TO_LINK tunnelcc applications flow-monitor internet lte mobility point-to-point wifi)
build_lib_example(
  NAME tunnel-on-ns3
  SOURCE_FILES tunnel-on-ns3.cc
  LIBRARIES_TO_LINK tunnelcc applications internet point-to-point)
