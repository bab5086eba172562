/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-registry.h"
#include "experiment/model-version.h"
#include "interop/ns3-attributes.h"
#include "interop/ns3-experiment.h"
#include "modules/last-words.h"
#include "modules/module-image.h"
#include "modules/module-loader.h"
#include "probe/columns.h"
#include "python/python-control.h"
#include "python/python-tun.h"
#include "spec/spec-text.h"
#include "tunnel/wire-bytes.h"
#include "wire/capture.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

/**
 * \file
 * The Python module `tunnelcc._core`: specifications as text in, arrays out, one for each
 * measurement (see probe/experiment-result.h).
 */
namespace nb = nanobind;
using namespace nb::literals;
using namespace tunnelcc;

namespace
{

/// Returns an array that owns the column's values.
nb::object
ToNumpy(Column& column)
{
    auto* values = new std::vector<double>(std::move(column.values));
    nb::capsule owner(values,
                      [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
    return nb::cast(nb::ndarray<nb::numpy, double>(values->data(),
                                                   column.shape.size(),
                                                   column.shape.data(),
                                                   owner));
}

/// Returns the column's shape and the bytes of its values, for a process that has no numpy.
nb::object
ToBytes(const Column& column)
{
    nb::list shape;
    for (const size_t count : column.shape)
    {
        shape.append(count);
    }
    return nb::make_tuple(nb::tuple(shape),
                          nb::bytes(column.values.data(), column.values.size() * sizeof(double)));
}

/// Returns a list, with a list for each dimension.
nb::list
ToLists(const TextColumn& column)
{
    nb::list lists;
    const size_t count = column.shape[0];
    for (size_t i = 0; i < count; ++i)
    {
        if (column.shape.size() == 1)
        {
            lists.append(column.values[i]);
            continue;
        }
        nb::list series;
        for (size_t j = 0; j < column.shape[1]; ++j)
        {
            series.append(column.values[i * column.shape[1] + j]);
        }
        lists.append(series);
    }
    return lists;
}

/// Returns name → array of numbers, or lists of what is none.
nb::dict
ToDict(const ExperimentResult& result, bool asBytes)
{
    Columns columns = ToColumns(result);
    nb::dict found;
    for (Column& column : columns.numbers)
    {
        found[nb::str(column.name.data(), column.name.size())] =
            asBytes ? ToBytes(column) : ToNumpy(column);
    }
    for (const TextColumn& column : columns.texts)
    {
        found[nb::str(column.name.data(), column.name.size())] = ToLists(column);
    }
    found["flow_legs"] = columns.flowLegs;
    found["flow_channels"] = columns.flowChannels;
    found["packet_tunnels"] = columns.packetTunnels;
    return found;
}

/// Runs without the GIL; takes it to report progress, and passes on what that raises, and to call
/// classes of Python (MakePythonMakers()).
nb::dict
Run(const std::string& specText,
    const nb::object& progress,
    Capture* capture,
    const nb::dict& classes,
    bool asBytes)
{
    const ExperimentSpec spec = ParseSpec(specText);
    const OwnMakers makers(MakePythonMakers(classes));
    std::exception_ptr failure;
    ProgressCallback callback = [&](double seconds) {
        nb::gil_scoped_acquire gil;
        try
        {
            if (PyErr_CheckSignals() != 0)
            {
                throw nb::python_error();
            }
            if (!progress.is_none())
            {
                progress(seconds);
            }
        }
        catch (...)
        {
            failure = std::current_exception();
        }
        return !failure;
    };
    ExperimentResult result;
    {
        nb::gil_scoped_release release;
        result = RunNs3Experiment(spec, callback, capture);
    }
    if (failure)
    {
        std::rethrow_exception(failure);
    }
    return ToDict(result, asBytes);
}

std::unique_ptr<Capture>
OpenCapture(const std::string& spec)
{
    try
    {
        return std::make_unique<Capture>(ParseCapture(spec));
    }
    catch (const std::system_error& error)
    {
        errno = error.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
}

void
BindDescriptors(nb::module_& m)
{
    nb::enum_<ValueKind>(m, "ValueKind")
        .value("SWITCH", ValueKind::SWITCH)
        .value("COUNT", ValueKind::COUNT)
        .value("NUMBER", ValueKind::NUMBER)
        .value("CHOICE", ValueKind::CHOICE)
        .value("TEXT", ValueKind::TEXT)
        .value("PART", ValueKind::PART);
    nb::class_<Descriptor>(m, "Descriptor")
        .def_ro("name", &Descriptor::name)
        .def_ro("kind", &Descriptor::kind)
        .def_ro("default", &Descriptor::defaultValue)
        .def_ro("unit", &Descriptor::unit)
        .def_ro("minimum", &Descriptor::minimum)
        .def_ro("maximum", &Descriptor::maximum)
        .def_ro("or_zero", &Descriptor::orZero)
        .def_ro("choices", &Descriptor::choices)
        .def_ro("doc", &Descriptor::doc)
        .def_ro("source", &Descriptor::source);
    m.def("specification", &ListSpecMembers);
    m.def("spec_members", [] {
        std::map<std::string, std::vector<std::string>> names;
        for (const auto& [name, members] : ListSpecMembers())
        {
            for (const Descriptor& member : members)
            {
                names[name].push_back(member.name);
            }
        }
        return names;
    });
}

void
BindMeasurements(nb::module_& m)
{
    nb::class_<MeasurementInfo>(m, "MeasurementInfo")
        .def_prop_ro("name", [](const MeasurementInfo& info) { return info.what.name; })
        .def_prop_ro("unit", [](const MeasurementInfo& info) { return info.what.unit; })
        .def_prop_ro("meaning", [](const MeasurementInfo& info) { return info.what.doc; })
        .def_ro("dimensions", &MeasurementInfo::dimensions)
        .def_prop_ro("since_start",
                     [](const MeasurementInfo& info) { return info.span == Span::WHOLE_RUN; })
        .def_prop_ro("is_moment",
                     [](const MeasurementInfo& info) { return info.span == Span::MOMENT; })
        .def_prop_ro("is_count", [](const MeasurementInfo& info) {
            return info.what.kind == ValueKind::COUNT;
        });
    m.def("measurements", &ListMeasurements);
}

void
BindCongestion(nb::module_& m)
{
    nb::class_<CongestionAlgorithmInfo>(m, "CongestionAlgorithmInfo")
        .def_ro("name", &CongestionAlgorithmInfo::name)
        .def_ro("summary", &CongestionAlgorithmInfo::summary)
        .def_ro("source", &CongestionAlgorithmInfo::source)
        .def_ro("note", &CongestionAlgorithmInfo::note);
    m.def("congestion_algorithms", &ListCongestionControls);
    m.def("ns3_congestion_controls", &ListNs3CongestionOps);
    m.def("has_congestion_control",
          [](const std::string& name) { return HasCongestionControl(name); });
    m.def("needs_ecn", [](const std::string& name) { return NeedsEcn(name); });
    nb::class_<ModuleInfo>(m, "ModuleInfo")
        .def_ro("name", &ModuleInfo::name)
        .def_ro("needs_ecn", &ModuleInfo::needsEcn)
        .def_ro("parameters", &ModuleInfo::parameters);
    nb::exception<ModuleError>(m, "ModuleError", PyExc_RuntimeError);
    m.def("leave_last_words", &LeaveLastWords, "file"_a);
    m.def("set_module_folder", &SetModuleFolder, "folder"_a);
    m.def(
        "describe_module",
        [](const std::string& name, const std::string& code, const nb::dict& classes) {
            const OwnMakers makers(MakePythonMakers(classes));
            return DescribeModule(name, code);
        },
        "name"_a,
        "code"_a,
        "classes"_a = nb::dict());
    BindPythonControl(m);
    m.def("congestion_parameters",
          [](const std::string& name) { return GetCongestionParameters(name); });
}

/// What the module was built with.
std::map<std::string, std::string>
DescribeBuild()
{
#ifdef __clang__
    const std::string compiler = __VERSION__; // has the compiler's name
#else
    const std::string compiler = std::string("GCC ") + __VERSION__;
#endif
#ifdef __OPTIMIZE__
    const std::string optimised = "optimised";
#else
    const std::string optimised = "not optimised";
#endif
    return {{"compiler", compiler}, {"ns3", TUNNELCC_NS3_VERSION}, {"optimised", optimised}};
}

} // namespace

NB_MODULE(_core, m)
{
    m.doc() = "Compiled models of tunnelcc; used through the package.";
    m.def("build", &DescribeBuild);
    BindCongestion(m);
    BindDescriptors(m);
    BindMeasurements(m);
    m.def("model_version", &ModelVersion);
    nb::class_<Capture>(m, "Capture")
        .def(nb::new_(&OpenCapture), "spec"_a)
        .def_prop_ro("packets", [](const Capture& it) { return it.File().Packets(); })
        .def_prop_ro("bytes", [](const Capture& it) { return it.File().File().Bytes(); })
        .def_prop_ro("is_full", [](const Capture& it) { return it.File().File().IsFull(); })
        .def_prop_ro("log_error",
                     [](const Capture& it) {
                         const RecordFile* log = it.EndedLog();
                         return log ? log->Error() : std::string();
                     })
        .def_prop_ro("is_log_full",
                     [](const Capture& it) {
                         const RecordFile* log = it.EndedLog();
                         return log && log->IsFull();
                     })
        .def_prop_ro("error", [](const Capture& it) { return it.File().File().Error(); });
    m.def("run",
          &Run,
          "spec"_a,
          "progress"_a = nb::none(),
          "capture"_a = nb::none(),
          "classes"_a = nb::dict(),
          "as_bytes"_a = false);
    m.def("complete_spec", [](const std::string& text) { return FormatSpec(ParseSpec(text)); });
    BindTun(m);
    m.def(
        "layer_wire_bytes",
        [](const std::string& layers, uint32_t messageBytes, uint64_t alreadySent) {
            return LayerWireBytes(ParseLayers(layers), messageBytes, alreadySent);
        },
        "layers"_a,
        "message_bytes"_a,
        "already_sent"_a = 0);
}
