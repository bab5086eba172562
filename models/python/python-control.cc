/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "python/python-control.h"

#include "modules/module-image.h"
#include "modules/tunnelcc.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <memory>
#include <tuple>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace tunnelcc
{

namespace
{

/// Counts calls; even: none goes on. Who watches for calls that take too long reads it.
std::atomic<uint64_t> g_calls{0};

class Call
{
  public:
    Call()
    {
        g_calls.fetch_add(1, std::memory_order_relaxed);
    }

    ~Call()
    {
        g_calls.fetch_add(1, std::memory_order_relaxed);
    }

    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
};

/// A struct that belongs to an object of Python, which may outlive the run.
template <typename T>
class Shared
{
  public:
    Shared()
        : m_object(nb::cast(T{})),
          m_value(nb::inst_ptr<T>(m_object))
    {
    }

    const nb::object& Give(const T& value)
    {
        *m_value = value;
        return m_object;
    }

    const T& Take() const
    {
        return *m_value;
    }

    void Reset()
    {
        m_object.reset();
    }

  private:
    nb::object m_object;
    T* m_value;
};

/// An object of a class of Python.
class PythonControl final : public tc::CongestionControl
{
  public:
    PythonControl(std::string label, const nb::object& type, nb::object explain)
        : m_label(std::move(label)),
          m_explain(std::move(explain))
    {
        Run("__new__()", [&] {
            m_self = type.attr("__new__")(type);
            m_onAck = m_self.attr("on_ack");
            m_onInterval = m_self.attr("on_interval");
        });
    }

    ~PythonControl() override
    {
        nb::gil_scoped_acquire gil;
        for (nb::object* it : {&m_self, &m_onAck, &m_onInterval, &m_explain})
        {
            it->reset();
        }
        m_state.Reset();
        m_ack.Reset();
        m_interval.Reset();
    }

    void Describe(tc::Parameters& parameters) override
    {
        Run("the parameters", [&] {
            for (nb::handle item : m_self.attr("_parameters")())
            {
                const auto [name, value] = nb::cast<std::tuple<std::string, nb::object>>(item);
                DescribeOne(parameters, name, value);
            }
        });
    }

    void Configure(uint64_t seed) override
    {
        Run("__init__()", [&] {
            std::tie(interval, ownsWindow, needsEcn) =
                nb::cast<std::tuple<double, bool, bool>>(m_self.attr("_configure")(seed));
        });
    }

    void OnStart(tc::State& state) override
    {
        Run("on_start()", [&] { Pass(m_self.attr("on_start"), state); });
    }

    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        Run("on_ack()", [&] { Pass(m_onAck, state, m_ack.Give(ack)); });
    }

    void OnInterval(tc::State& state, const tc::Interval& news) override
    {
        Run("on_interval()", [&] { Pass(m_onInterval, state, m_interval.Give(news)); });
    }

    void OnLoss(tc::State& state) override
    {
        Run("on_loss()", [&] { Pass(m_self.attr("on_loss"), state); });
    }

    void OnTimeout(tc::State& state) override
    {
        Run("on_timeout()", [&] { Pass(m_self.attr("on_timeout"), state); });
    }

  private:
    template <typename... Arguments>
    void Pass(const nb::object& method, tc::State& state, const Arguments&... arguments)
    {
        method(m_state.Give(state), arguments...);
        state = m_state.Take();
    }

    void DescribeOne(tc::Parameters& parameters, const std::string& name, const nb::object& value)
    {
        if (nb::isinstance<nb::bool_>(value))
        {
            auto it = nb::cast<bool>(value);
            parameters.Add(name.c_str(), it, "");
            m_self.attr(name.c_str()) = it;
        }
        else if (nb::isinstance<nb::int_>(value))
        {
            auto it = nb::cast<int64_t>(value);
            parameters.Add(name.c_str(), it, "");
            m_self.attr(name.c_str()) = it;
        }
        else
        {
            auto it = nb::cast<double>(value);
            parameters.Add(name.c_str(), it, "", -1e15, 1e15, name == "interval" ? "s" : "");
            m_self.attr(name.c_str()) = it;
        }
    }

    /// Call something of Python. \throws ModuleError for its exceptions
    template <typename F>
    void Run(const char* call, F&& function)
    {
        nb::gil_scoped_acquire gil;
        try
        {
            Call inside;
            function();
        }
        catch (nb::python_error& error)
        {
            nb::object traceback = error.traceback();
            const nb::object text =
                m_explain(error.value(), traceback.is_valid() ? traceback : nb::none());
            throw ModuleError(m_label + ": " + call + " " + nb::cast<std::string>(text));
        }
    }

    std::string m_label;
    nb::object m_self;
    nb::object m_onAck;
    nb::object m_onInterval;
    nb::object m_explain;
    Shared<tc::State> m_state;
    Shared<tc::Ack> m_ack;
    Shared<tc::Interval> m_interval;
};

} // namespace

void
BindPythonControl(nb::module_& m)
{
    nb::class_<tc::State>(m, "State")
        .def(nb::init<>())
        .def_rw("cwnd", &tc::State::cwnd)
        .def_rw("ssthresh", &tc::State::ssthresh)
        .def_rw("pacing_rate", &tc::State::pacingRate)
        .def_ro("now", &tc::State::now)
        .def_ro("mss", &tc::State::mss)
        .def_ro("in_flight", &tc::State::inFlight)
        .def_ro("delivered", &tc::State::delivered)
        .def_ro("lost", &tc::State::lost)
        .def_ro("srtt", &tc::State::srtt)
        .def_ro("min_rtt", &tc::State::minRtt)
        .def_ro("is_cwnd_limited", &tc::State::isCwndLimited)
        .def_ro("is_recovering", &tc::State::isRecovering)
        .def_prop_ro("in_slow_start", &tc::State::InSlowStart)
        .def("slow_start", &tc::State::SlowStart, "acked"_a);
    nb::class_<tc::Ack>(m, "Ack")
        .def_ro("acked", &tc::Ack::acked)
        .def_ro("lost", &tc::Ack::lost)
        .def_ro("rtt", &tc::Ack::rtt)
        .def_ro("delivery_rate", &tc::Ack::deliveryRate)
        .def_ro("prior_in_flight", &tc::Ack::priorInFlight)
        .def_ro("is_app_limited", &tc::Ack::isAppLimited)
        .def_ro("is_marked", &tc::Ack::isMarked)
        .def_ro("is_new_round", &tc::Ack::isNewRound);
    nb::class_<tc::Interval>(m, "Interval")
        .def_ro("duration", &tc::Interval::duration)
        .def_ro("acked", &tc::Interval::acked)
        .def_ro("lost", &tc::Interval::lost)
        .def_ro("marked", &tc::Interval::marked)
        .def_ro("rate", &tc::Interval::rate)
        .def_ro("mean_rtt", &tc::Interval::meanRtt)
        .def_ro("min_rtt", &tc::Interval::minRtt);
    m.def("own_calls", [] { return g_calls.load(std::memory_order_relaxed); });
}

std::map<std::string, OwnMaker>
MakePythonMakers(const nb::dict& classes)
{
    std::map<std::string, OwnMaker> makers;
    for (const auto& [code, item] : classes)
    {
        // The dictionary outlives the run, so borrowed references do.
        const nb::tuple parts = nb::cast<nb::tuple>(item);
        const nb::handle label = parts[0];
        const nb::handle type = parts[1];
        const nb::handle explain = parts[2];
        makers[nb::cast<std::string>(code)] = [label, type, explain] {
            nb::gil_scoped_acquire gil;
            return std::make_unique<PythonControl>(nb::cast<std::string>(label),
                                                   nb::borrow(type),
                                                   nb::borrow(explain));
        };
    }
    return makers;
}

} // namespace tunnelcc
