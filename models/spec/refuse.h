/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REFUSE_H
#define TUNNELCC_REFUSE_H

#include <string>

namespace tunnelcc
{

/**
 * Refuse a value of a specification.
 *
 * A build without exceptions (WebAssembly) writes the message to the standard error and traps.
 *
 * \param message names the value, and what was expected
 * \throws std::invalid_argument always
 */
[[noreturn]] void Refuse(const std::string& message);

} // namespace tunnelcc

#endif // TUNNELCC_REFUSE_H
