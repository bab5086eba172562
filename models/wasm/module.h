/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WASM_MODULE_H
#define TUNNELCC_WASM_MODULE_H

#include "probe/experiment-result.h"

#include <string>
#include <string_view>

/**
 * \file
 * The WebAssembly module: text in, text out. The host puts the text where the export `input` says.
 * If it is refused, the host finds the message on the standard error, and the module has to be
 * instantiated anew. module.cc has what browsers use, package.cc the rest of what the Python
 * package does (tunnelcc/core/wasm.py).
 */
namespace tunnelcc
{

/// The text that the host has written.
std::string_view GetInput();

/// Keep a text for the host. \returns where it is
const char* Give(std::string text);

/// Run the specification that the host has written.
ExperimentResult RunInput();

} // namespace tunnelcc

#endif // TUNNELCC_WASM_MODULE_H
