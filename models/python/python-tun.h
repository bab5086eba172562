/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PYTHON_TUN_H
#define TUNNELCC_PYTHON_TUN_H

#include <nanobind/nanobind.h>

namespace tunnelcc
{

/// Add `carry_packets`: tun/tun-network.h for Python.
void BindTun(nanobind::module_& m);

} // namespace tunnelcc

#endif // TUNNELCC_PYTHON_TUN_H
