# SPDX-License-Identifier: GPL-2.0-only
build_lib_example(
  NAME wifi-stations-tunnelcc
  SOURCE_FILES wifi-stations.cc
  LIBRARIES_TO_LINK ${libtunnelcc} ${libapplications} ${libinternet} ${libmobility} ${libpoint-to-point}
                    ${libwifi})
