/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wasm/module.h"

#include "experiment/experiment.h"
#include "probe/columns.h"
#include "spec/spec-text.h"

#include <cstddef>
#include <utility>

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

    /// Where the host is to write a text of `size` bytes.
    __attribute__((export_name("input"))) char* TunnelccInput(size_t size)
    {
        g_input.resize(size);
        return g_input.data();
    }

    /// Run the specification. \returns the result as JSON, as `scratch/run-spec` prints it
    __attribute__((export_name("run"))) const char* TunnelccRun()
    {
        return tunnelcc::Give(tunnelcc::FormatResult(tunnelcc::RunInput()));
    }

    /// The size of what the last function returned, in bytes.
    __attribute__((export_name("outputSize"))) size_t TunnelccOutputSize()
    {
        return g_output.size();
    }
}

namespace tunnelcc
{

std::string_view
GetInput()
{
    return g_input;
}

const char*
Give(std::string text)
{
    g_output = std::move(text);
    return g_output.data();
}

ExperimentResult
RunInput()
{
    const auto progress = [](double seconds) { return TunnelccProgress(seconds) != 0; };
    return RunExperiment(ParseSpec(g_input), progress);
}

} // namespace tunnelcc
