/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PYTHON_CONTROL_H
#define TUNNELCC_PYTHON_CONTROL_H

#include "modules/module-loader.h"

#include <nanobind/nanobind.h>

#include <map>
#include <string>

/**
 * \file
 * Congestion controls that are classes of Python (`tunnelcc.modules.own`).
 */

namespace tunnelcc
{

/// Make what they see known to Python: State, Ack, Interval.
void BindPythonControl(nanobind::module_& m);

/// Makers of the classes of a dictionary: hash → (label, class, function that puts an exception and
/// its traceback into words).
std::map<std::string, OwnMaker> MakePythonMakers(const nanobind::dict& classes);

} // namespace tunnelcc

#endif // TUNNELCC_PYTHON_CONTROL_H
