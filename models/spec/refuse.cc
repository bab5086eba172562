/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spec/refuse.h"

#ifdef __cpp_exceptions
#include <stdexcept>
#else
#include <unistd.h>
#endif

namespace tunnelcc
{

void
Refuse(const std::string& message)
{
#ifdef __cpp_exceptions
    throw std::invalid_argument(message);
#else
    // Neither can what is left to be written be waited for, nor a failure be told.
    [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
    __builtin_trap();
#endif
}

} // namespace tunnelcc
