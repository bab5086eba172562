/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment/experiment.h"
#include "probe/columns.h"
#include "spec/spec-text.h"

#include <cstddef>
#include <string>

/**
 * \file
 * The WebAssembly module: a specification as text in, its result as text out, as `scratch/run-spec`
 * prints it. The host puts the text where TunnelccInput() says. If a specification is refused, it
 * finds the message on the standard error, and the module has to be instantiated anew.
 */

namespace
{

std::string g_input;
std::string g_output;

} // namespace

extern "C"
{
    /// What thread_local members leave to the end of their thread. WASI's library has no such
    /// function, because its one thread does not end.
    int __cxa_thread_atexit(void (*)(void*), void*, void*)
    {
        return 0;
    }

    /// The host is told of progress a few times a second. \param seconds simulated time
    /// \returns 0 to end the run
    __attribute__((import_module("tunnelcc"), import_name("progress"))) int TunnelccProgress(
        double seconds);

    /// Where the host is to write a specification of `size` bytes.
    __attribute__((export_name("input"))) char* TunnelccInput(size_t size)
    {
        g_input.resize(size);
        return g_input.data();
    }

    /// Run the specification. \returns where the result is, outputSize() bytes
    __attribute__((export_name("run"))) const char* TunnelccRun()
    {
        const auto progress = [](double seconds) { return TunnelccProgress(seconds) != 0; };
        g_output =
            tunnelcc::FormatResult(tunnelcc::RunExperiment(tunnelcc::ParseSpec(g_input), progress));
        return g_output.data();
    }

    __attribute__((export_name("outputSize"))) size_t TunnelccOutputSize()
    {
        return g_output.size();
    }
}
