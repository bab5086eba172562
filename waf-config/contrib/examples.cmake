# SPDX-License-Identifier: GPL-2.0-only
build_lib_example(
  NAME wireless
  SOURCE_FILES wireless.cc
  LIBRARIES_TO_LINK ${libtunnelcc} ${libapplications} ${libflow-monitor} ${libinternet} ${liblte}
                    ${libmobility} ${libpoint-to-point} ${libwifi})
build_lib_example(
  NAME tunnel-on-ns3
  SOURCE_FILES tunnel-on-ns3.cc
  LIBRARIES_TO_LINK ${libtunnelcc} ${libapplications} ${libinternet} ${libpoint-to-point})
