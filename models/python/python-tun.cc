/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "python-tun.h"

#include "spec/spec-text.h"
#include "tun/tun-network.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tunnelcc
{

namespace
{

nb::dict
ToDict(const TunLinkCounts& counts)
{
    nb::dict found;
    found["packets"] = counts.packets;
    found["drops"] = counts.drops;
    found["losses"] = counts.losses;
    found["marks"] = counts.marks;
    found["all_drops"] = counts.allDrops;
    found["all_losses"] = counts.allLosses;
    found["queue_mean"] = counts.queueMean * 1e-9;
    found["queue_p95"] = counts.queueP95 * 1e-9;
    return found;
}

nb::dict
ToDict(const TunFlowCounts& counts)
{
    nb::dict found;
    found["source"] = counts.source;
    found["destination"] = counts.destination;
    found["protocol"] = counts.protocol;
    found["source_port"] = counts.sourcePort;
    found["destination_port"] = counts.destinationPort;
    found["packets"] = counts.packets;
    found["arrived"] = counts.arrived;
    found["bytes"] = counts.bytes;
    found["first_data"] = static_cast<double>(counts.firstData) * 1e-9;
    found["last_data"] = static_cast<double>(counts.lastData) * 1e-9;
    return found;
}

template <class T>
nb::list
ToList(const std::vector<T>& items)
{
    nb::list found;
    for (const T& item : items)
    {
        found.append(ToDict(item));
    }
    return found;
}

/// Times in s in the answer.
nb::dict
Carry(const std::string& specText,
      const std::vector<std::tuple<int, std::string>>& devices,
      const std::vector<std::tuple<uint32_t, uint32_t, uint32_t, bool, int64_t, uint32_t>>& ways,
      int64_t begin,
      int64_t steady,
      int64_t end)
{
    const ExperimentSpec spec = ParseSpec(specText);
    std::vector<TunDevice> files;
    for (const auto& [file, capture] : devices)
    {
        files.push_back({file, capture});
    }
    std::vector<TunWay> all;
    for (const auto& [source, destination, route, fromServer, extraDelay, host] : ways)
    {
        const End sender = fromServer ? End::SERVER : End::CLIENT;
        all.push_back({source, destination, route, sender, extraDelay, host});
    }
    TunReport report;
    try
    {
        nb::gil_scoped_release release;
        report = CarryPackets(spec, files, all, {begin, steady, end}, [] {
            nb::gil_scoped_acquire gil;
            return PyErr_CheckSignals() == 0;
        });
    }
    catch (const std::system_error& error)
    {
        errno = error.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.what());
        throw nb::python_error();
    }
    if (PyErr_Occurred())
    {
        throw nb::python_error();
    }
    nb::dict found;
    found["forward"] = ToList(report.forward);
    found["reverse"] = ToList(report.reverse);
    found["flows"] = ToList(report.flows);
    found["packets"] = report.packets;
    found["unknown"] = report.unknown;
    found["refused"] = report.refused;
    found["late_p99"] = report.lateP99 * 1e-9;
    found["late_most"] = static_cast<double>(report.lateMost) * 1e-9;
    return found;
}

} // namespace

void
BindTun(nb::module_& m)
{
    m.def("carry_packets", &Carry, "spec"_a, "devices"_a, "ways"_a, "begin"_a, "steady"_a, "end"_a);
}

} // namespace tunnelcc
