/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-registry.h"
#include "experiment/experiment.h"
#include "tunnel/layer.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>

/**
 * \file
 * The Python module `tunnelcc._core`: experiments in, results out. Attributes have the names of the
 * structs' members in snake_case.
 */
namespace nb = nanobind;
using namespace nb::literals;
using namespace tunnelcc;

namespace
{

/// Makes a property that copies a series into a new numpy array.
template <class T>
auto
Series(std::vector<double> T::* member)
{
    return [member](const T& object) {
        const std::vector<double>& values = object.*member;
        auto* copy = new std::vector<double>(values);
        nb::capsule owner(copy, [](void* data) noexcept {
            delete static_cast<std::vector<double>*>(data);
        });
        return nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy->data(), {copy->size()}, owner);
    };
}

/// Runs without the GIL; takes it to report progress, and passes on what that raises.
ExperimentResult
Run(const ExperimentSpec& spec, const nb::object& progress)
{
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
        result = RunExperiment(spec, callback);
    }
    if (failure)
    {
        std::rethrow_exception(failure);
    }
    return result;
}

std::vector<uint32_t>
LayerWireBytes(const std::vector<LayerSpec>& layers, uint32_t messageBytes, uint64_t alreadySent)
{
    LayerStack stack(layers);
    constexpr uint64_t STEP = 32768;
    for (uint64_t sent = 0; sent < alreadySent; sent += STEP)
    {
        stack.Wrap(static_cast<uint32_t>(std::min(STEP, alreadySent - sent)));
    }
    return stack.Wrap(messageBytes);
}

void
BindPath(nb::module_& m)
{
    nb::class_<RateChange>(m, "RateChange")
        .def(nb::init<>())
        .def_rw("time", &RateChange::time)
        .def_rw("rate", &RateChange::rate);
    nb::class_<QueueSpec>(m, "QueueSpec")
        .def(nb::init<>())
        .def_rw("discipline", &QueueSpec::discipline)
        .def_rw("ecn", &QueueSpec::ecn)
        .def_rw("target", &QueueSpec::target)
        .def_rw("interval", &QueueSpec::interval)
        .def_rw("quantum", &QueueSpec::quantum)
        .def_rw("queues", &QueueSpec::queues)
        .def_rw("alpha", &QueueSpec::alpha)
        .def_rw("beta", &QueueSpec::beta)
        .def_rw("burst", &QueueSpec::burst)
        .def_rw("min_threshold", &QueueSpec::minThreshold)
        .def_rw("max_threshold", &QueueSpec::maxThreshold)
        .def_rw("max_probability", &QueueSpec::maxProbability)
        .def_rw("weight", &QueueSpec::weight)
        .def_rw("gentle", &QueueSpec::gentle)
        .def_rw("mean_packet_time", &QueueSpec::meanPacketTime);
    nb::class_<GilbertElliottSpec>(m, "GilbertElliottSpec")
        .def(nb::init<>())
        .def_rw("p", &GilbertElliottSpec::p)
        .def_rw("r", &GilbertElliottSpec::r)
        .def_rw("h", &GilbertElliottSpec::h)
        .def_rw("k", &GilbertElliottSpec::k);
    nb::class_<PolicerSpec>(m, "PolicerSpec")
        .def(nb::init<>())
        .def_rw("rate", &PolicerSpec::rate)
        .def_rw("burst", &PolicerSpec::burst)
        .def_rw("before", &PolicerSpec::before);
    nb::class_<JitterSpec>(m, "JitterSpec")
        .def(nb::init<>())
        .def_rw("mean", &JitterSpec::mean)
        .def_rw("distribution", &JitterSpec::distribution)
        .def_rw("reorders", &JitterSpec::reorders);
    nb::class_<LinkSpec>(m, "LinkSpec")
        .def(nb::init<>())
        .def_rw("rate", &LinkSpec::rate)
        .def_rw("rate_changes", &LinkSpec::rateChanges)
        .def_rw("rate_period", &LinkSpec::ratePeriod)
        .def_rw("reorder", &LinkSpec::reorder)
        .def_rw("reorder_delay", &LinkSpec::reorderDelay)
        .def_rw("buffer_bytes", &LinkSpec::bufferBytes)
        .def_rw("buffer_packets", &LinkSpec::bufferPackets)
        .def_rw("ecn_threshold", &LinkSpec::ecnThreshold)
        .def_rw("loss", &LinkSpec::loss)
        .def_rw("loss_periodic", &LinkSpec::lossPeriodic)
        .def_rw("loss_before", &LinkSpec::lossBefore)
        .def_rw("gilbert_elliott", &LinkSpec::gilbertElliott)
        .def_rw("framing", &LinkSpec::framing)
        .def_rw("queue", &LinkSpec::queue)
        .def_rw("policer", &LinkSpec::policer)
        .def_rw("jitter", &LinkSpec::jitter);
    nb::class_<PathSpec>(m, "PathSpec")
        .def(nb::init<>())
        .def_rw("forward", &PathSpec::forward)
        .def_rw("reverse", &PathSpec::reverse)
        .def_rw("rtt", &PathSpec::rtt);
}

void
BindHosts(nb::module_& m)
{
    nb::class_<TcpSpec>(m, "TcpSpec")
        .def(nb::init<>())
        .def_rw("mss", &TcpSpec::mss)
        .def_rw("header_bytes", &TcpSpec::headerBytes)
        .def_rw("syn_bytes", &TcpSpec::synBytes)
        .def_rw("receive_window", &TcpSpec::receiveWindow)
        .def_rw("initial_receive_window", &TcpSpec::initialReceiveWindow)
        .def_rw("initial_receive_room", &TcpSpec::initialReceiveRoom)
        .def_rw("is_receive_room_cushioned", &TcpSpec::isReceiveRoomCushioned)
        .def_rw("window_scale", &TcpSpec::windowScale)
        .def_rw("send_buffer", &TcpSpec::sendBuffer)
        .def_rw("send_buffer_per_segment", &TcpSpec::sendBufferPerSegment)
        .def_rw("deferral_limit", &TcpSpec::deferralLimit)
        .def_rw("initial_window", &TcpSpec::initialWindow)
        .def_rw("syn_linear_timeouts", &TcpSpec::synLinearTimeouts)
        .def_rw("min_rto", &TcpSpec::minRto)
        .def_rw("delayed_ack", &TcpSpec::delayedAck)
        .def_rw("ack_every", &TcpSpec::ackEvery)
        .def_rw("ping_pong_answers", &TcpSpec::pingPongAnswers)
        .def_rw("acks_pushed", &TcpSpec::acksPushed)
        .def_rw("is_prr_repair_bound", &TcpSpec::isPrrRepairBound)
        .def_rw("jiffy", &TcpSpec::jiffy)
        .def_rw("pacing_quantum", &TcpSpec::pacingQuantum)
        .def_rw("ecn", &TcpSpec::ecn)
        .def_rw("nodelay", &TcpSpec::nodelay)
        .def_rw("listener_delays", &TcpSpec::listenerDelays);
    nb::class_<HostSpec>(m, "HostSpec")
        .def(nb::init<>())
        .def_rw("cores", &HostSpec::cores)
        .def_rw("speed", &HostSpec::speed)
        .def_rw("switch_cost", &HostSpec::switchCost)
        .def_rw("tcp_memory", &HostSpec::tcpMemory)
        .def_rw("tcp_reserve", &HostSpec::tcpReserve)
        .def_rw("app_per_byte", &HostSpec::appPerByte);
    nb::class_<CongestionSpec>(m, "CongestionSpec")
        .def(nb::init<>())
        .def_rw("name", &CongestionSpec::name)
        .def_rw("parameters", &CongestionSpec::parameters);
    nb::class_<FlowSpec>(m, "FlowSpec")
        .def(nb::init<>())
        .def_rw("cc", &FlowSpec::cc)
        .def_rw("carrier_cc", &FlowSpec::carrierCc)
        .def_rw("carrier", &FlowSpec::carrier)
        .def_rw("start", &FlowSpec::start)
        .def_rw("data_start", &FlowSpec::dataStart)
        .def_rw("preamble", &FlowSpec::preamble)
        .def_rw("stop", &FlowSpec::stop)
        .def_rw("bytes", &FlowSpec::bytes)
        .def_rw("rate", &FlowSpec::rate)
        .def_rw("write_size", &FlowSpec::writeSize)
        .def_rw("rtt", &FlowSpec::rtt);
}

void
BindTunnel(nb::module_& m)
{
    nb::class_<HandshakeTurn>(m, "HandshakeTurn")
        .def(nb::init<>())
        .def_rw("client", &HandshakeTurn::client)
        .def_rw("server", &HandshakeTurn::server);
    nb::class_<LayerSpec>(m, "LayerSpec")
        .def(nb::init<>())
        .def_rw("kind", &LayerSpec::kind)
        .def_rw("max_payload", &LayerSpec::maxPayload)
        .def_rw("block", &LayerSpec::block)
        .def_rw("masked", &LayerSpec::masked)
        .def_rw("first_write", &LayerSpec::firstWrite)
        .def_rw("overhead", &LayerSpec::overhead)
        .def_rw("ramp_bytes", &LayerSpec::rampBytes)
        .def_rw("ramp_until", &LayerSpec::rampUntil)
        .def_rw("records_before", &LayerSpec::recordsBefore);
    nb::class_<RelayWorkSpec>(m, "RelayWorkSpec")
        .def(nb::init<>())
        .def_rw("per_byte", &RelayWorkSpec::perByte)
        .def_rw("per_message", &RelayWorkSpec::perMessage)
        .def_rw("per_write", &RelayWorkSpec::perWrite);
    nb::class_<RelayCostSpec>(m, "RelayCostSpec")
        .def(nb::init<>())
        .def_rw("send", &RelayCostSpec::send)
        .def_rw("receive", &RelayCostSpec::receive);
    nb::class_<MuxDirectionSpec>(m, "MuxDirectionSpec")
        .def(nb::init<>())
        .def_rw("max_frame", &MuxDirectionSpec::maxFrame)
        .def_rw("session_buffer", &MuxDirectionSpec::sessionBuffer)
        .def_rw("stream_window", &MuxDirectionSpec::streamWindow)
        .def_rw("first_stream_window", &MuxDirectionSpec::firstStreamWindow)
        .def_rw("session_window", &MuxDirectionSpec::sessionWindow)
        .def_rw("credit_step", &MuxDirectionSpec::creditStep);
    nb::class_<MuxSpec>(m, "MuxSpec")
        .def(nb::init<>())
        .def_rw("header_bytes", &MuxSpec::headerBytes)
        .def_rw("open_bytes", &MuxSpec::openBytes)
        .def_rw("accept_bytes", &MuxSpec::acceptBytes)
        .def_rw("credit_bytes", &MuxSpec::creditBytes)
        .def_rw("close_bytes", &MuxSpec::closeBytes)
        .def_rw("to_server", &MuxSpec::toServer)
        .def_rw("to_client", &MuxSpec::toClient);
    nb::class_<HopSpec>(m, "HopSpec")
        .def(nb::init<>())
        .def_rw("path", &HopSpec::path)
        .def_rw("cc", &HopSpec::cc)
        .def_rw("relay", &HopSpec::relay);
    nb::class_<RelaySpec>(m, "RelaySpec")
        .def(nb::init<>())
        .def_rw("copy_buffer", &RelaySpec::copyBuffer)
        .def_rw("handshake", &RelaySpec::handshake)
        .def_rw("confirms", &RelaySpec::confirms)
        .def_rw("request_bytes", &RelaySpec::requestBytes)
        .def_rw("response_bytes", &RelaySpec::responseBytes)
        .def_rw("to_server", &RelaySpec::toServer)
        .def_rw("to_client", &RelaySpec::toClient)
        .def_rw("cost_to_server", &RelaySpec::costToServer)
        .def_rw("cost_to_client", &RelaySpec::costToClient)
        .def_rw("app_tcp", &RelaySpec::appTcp)
        .def_rw("target_tcp", &RelaySpec::targetTcp)
        .def_rw("loopback_rtt", &RelaySpec::loopbackRtt)
        .def_rw("has_mux", &RelaySpec::hasMux)
        .def_rw("mux", &RelaySpec::mux)
        .def_rw("dials_early", &RelaySpec::dialsEarly)
        .def_rw("hops", &RelaySpec::hops);
}

void
BindPacketTunnels(nb::module_& m)
{
    nb::class_<PacketCostSpec>(m, "PacketCostSpec")
        .def(nb::init<>())
        .def_rw("per_packet", &PacketCostSpec::perPacket)
        .def_rw("per_byte", &PacketCostSpec::perByte);
    nb::class_<TunnelEndSpec>(m, "TunnelEndSpec")
        .def(nb::init<>())
        .def_rw("device_queue", &TunnelEndSpec::deviceQueue)
        .def_rw("socket_queue", &TunnelEndSpec::socketQueue)
        .def_rw("encapsulate", &TunnelEndSpec::encapsulate)
        .def_rw("decapsulate", &TunnelEndSpec::decapsulate)
        .def_rw("shares_thread", &TunnelEndSpec::sharesThread);
    nb::class_<DatagramTunnelSpec>(m, "DatagramTunnelSpec")
        .def(nb::init<>())
        .def_rw("end", &DatagramTunnelSpec::end)
        .def_rw("outer", &DatagramTunnelSpec::outer)
        .def_rw("copies_ecn", &DatagramTunnelSpec::copiesEcn);
    nb::class_<StreamTunnelSpec>(m, "StreamTunnelSpec")
        .def(nb::init<>())
        .def_rw("end", &StreamTunnelSpec::end)
        .def_rw("writes", &StreamTunnelSpec::writes)
        .def_rw("handshake", &StreamTunnelSpec::handshake)
        .def_rw("to_server", &StreamTunnelSpec::toServer)
        .def_rw("to_client", &StreamTunnelSpec::toClient)
        .def_rw("carrier_tcp", &StreamTunnelSpec::carrierTcp)
        .def_rw("carrier_cc", &StreamTunnelSpec::carrierCc);
    nb::class_<PacketTunnelResult>(m, "PacketTunnelResult")
        .def_ro("packets_in", &PacketTunnelResult::packetsIn)
        .def_ro("drops", &PacketTunnelResult::drops)
        .def_ro("outer_packets", &PacketTunnelResult::outerPackets)
        .def_ro("outer_bytes", &PacketTunnelResult::outerBytes)
        .def_ro("fragmented", &PacketTunnelResult::fragmented)
        .def_ro("socket_drops", &PacketTunnelResult::socketDrops)
        .def_ro("queue_packets_max", &PacketTunnelResult::queuePacketsMax)
        .def_prop_ro("queue_packets",
                     Series(&PacketTunnelResult::queuePackets),
                     nb::rv_policy::move)
        .def_prop_ro("drops_series", Series(&PacketTunnelResult::dropsSeries), nb::rv_policy::move);
}

void
BindExperiment(nb::module_& m)
{
    nb::class_<DatagramSpec>(m, "DatagramSpec")
        .def(nb::init<>())
        .def_rw("rate", &DatagramSpec::rate)
        .def_rw("packet_bytes", &DatagramSpec::packetBytes)
        .def_rw("start", &DatagramSpec::start)
        .def_rw("stop", &DatagramSpec::stop)
        .def_rw("on_time", &DatagramSpec::onTime)
        .def_rw("off_time", &DatagramSpec::offTime);
    nb::class_<ExperimentSpec>(m, "ExperimentSpec")
        .def(nb::init<>())
        .def_rw("path", &ExperimentSpec::path)
        .def_rw("tcp", &ExperimentSpec::tcp)
        .def_rw("client", &ExperimentSpec::client)
        .def_rw("server", &ExperimentSpec::server)
        .def_rw("one_machine", &ExperimentSpec::oneMachine)
        .def_rw("flows", &ExperimentSpec::flows)
        .def_rw("cross_traffic", &ExperimentSpec::crossTraffic)
        .def_rw("download", &ExperimentSpec::download)
        .def_rw("has_relay", &ExperimentSpec::hasRelay)
        .def_rw("relay", &ExperimentSpec::relay)
        .def_rw("has_datagram_tunnel", &ExperimentSpec::hasDatagramTunnel)
        .def_rw("datagram_tunnel", &ExperimentSpec::datagramTunnel)
        .def_rw("has_stream_tunnel", &ExperimentSpec::hasStreamTunnel)
        .def_rw("stream_tunnel", &ExperimentSpec::streamTunnel)
        .def_rw("duration", &ExperimentSpec::duration)
        .def_rw("warmup", &ExperimentSpec::warmup)
        .def_rw("probe_interval", &ExperimentSpec::probeInterval)
        .def_rw("seed", &ExperimentSpec::seed);
}

void
BindLegResult(nb::module_& m)
{
    nb::class_<LegResult>(m, "LegResult")
        .def_ro("name", &LegResult::name)
        .def_ro("cc", &LegResult::cc)
        .def_ro("delivered_bytes", &LegResult::deliveredBytes)
        .def_ro("wire_bytes", &LegResult::wireBytes)
        .def_ro("ack_wire_bytes", &LegResult::ackWireBytes)
        .def_ro("segments", &LegResult::segments)
        .def_ro("retransmits", &LegResult::retransmits)
        .def_ro("rtos", &LegResult::rtos)
        .def_ro("tail_loss_probes", &LegResult::tailLossProbes)
        .def_ro("established_time", &LegResult::establishedTime)
        .def_ro("connect_failed_time", &LegResult::connectFailedTime)
        .def_ro("finished_time", &LegResult::finishedTime)
        .def_prop_ro("goodput", Series(&LegResult::goodput), nb::rv_policy::move)
        .def_prop_ro("throughput", Series(&LegResult::throughput), nb::rv_policy::move)
        .def_prop_ro("cwnd", Series(&LegResult::cwnd), nb::rv_policy::move)
        .def_prop_ro("in_flight", Series(&LegResult::inFlight), nb::rv_policy::move)
        .def_prop_ro("pacing_rate", Series(&LegResult::pacingRate), nb::rv_policy::move)
        .def_prop_ro("srtt", Series(&LegResult::srtt), nb::rv_policy::move)
        .def_prop_ro("retransmits_series",
                     Series(&LegResult::retransmitsSeries),
                     nb::rv_policy::move)
        .def_prop_ro("rtos_series", Series(&LegResult::rtosSeries), nb::rv_policy::move);
}

void
BindResult(nb::module_& m)
{
    BindLegResult(m);
    nb::class_<MessageResult>(m, "MessageResult")
        .def_ro("count", &MessageResult::count)
        .def_ro("latency_mean", &MessageResult::latencyMean)
        .def_ro("latency_p50", &MessageResult::latencyP50)
        .def_ro("latency_p95", &MessageResult::latencyP95)
        .def_ro("latency_p99", &MessageResult::latencyP99);
    nb::class_<FlowResult>(m, "FlowResult")
        .def_ro("legs", &FlowResult::legs)
        .def_ro("messages", &FlowResult::messages)
        .def_ro("delivered_bytes", &FlowResult::deliveredBytes)
        .def_ro("total_bytes", &FlowResult::totalBytes)
        .def_ro("first_byte_time", &FlowResult::firstByteTime)
        .def_ro("completion_time", &FlowResult::completionTime)
        .def_prop_ro("goodput", Series(&FlowResult::goodput), nb::rv_policy::move);
    nb::class_<LinkResult>(m, "LinkResult")
        .def_ro("packets_in", &LinkResult::packetsIn)
        .def_ro("bytes_out", &LinkResult::bytesOut)
        .def_ro("drops", &LinkResult::drops)
        .def_ro("random_losses", &LinkResult::randomLosses)
        .def_ro("marks", &LinkResult::marks)
        .def_ro("policer_drops", &LinkResult::policerDrops)
        .def_ro("utilisation", &LinkResult::utilisation)
        .def_ro("queue_delay_mean", &LinkResult::queueDelayMean)
        .def_ro("queue_delay_p50", &LinkResult::queueDelayP50)
        .def_ro("queue_delay_p95", &LinkResult::queueDelayP95)
        .def_ro("queue_delay_p99", &LinkResult::queueDelayP99)
        .def_ro("queue_bytes_max", &LinkResult::queueBytesMax)
        .def_prop_ro("queue_bytes", Series(&LinkResult::queueBytes), nb::rv_policy::move)
        .def_prop_ro("drops_series", Series(&LinkResult::dropsSeries), nb::rv_policy::move)
        .def_prop_ro("utilisation_series",
                     Series(&LinkResult::utilisationSeries),
                     nb::rv_policy::move);
    nb::class_<DatagramResult>(m, "DatagramResult")
        .def_ro("sent", &DatagramResult::sent)
        .def_ro("received", &DatagramResult::received);
    nb::class_<HostResult>(m, "HostResult")
        .def_ro("cpu_seconds", &HostResult::cpuSeconds)
        .def_ro("utilisation", &HostResult::utilisation)
        .def_prop_ro("cpu", Series(&HostResult::cpu), nb::rv_policy::move);
    nb::class_<HopResult>(m, "HopResult")
        .def_ro("forward", &HopResult::forward)
        .def_ro("reverse", &HopResult::reverse)
        .def_ro("relay", &HopResult::relay);
    nb::class_<ExperimentResult>(m, "ExperimentResult")
        .def_prop_ro("time", Series(&ExperimentResult::time), nb::rv_policy::move)
        .def_ro("flows", &ExperimentResult::flows)
        .def_ro("legs", &ExperimentResult::legs)
        .def_ro("cross_traffic", &ExperimentResult::crossTraffic)
        .def_ro("forward", &ExperimentResult::forward)
        .def_ro("reverse", &ExperimentResult::reverse)
        .def_ro("tunnel_forward", &ExperimentResult::tunnelForward)
        .def_ro("tunnel_reverse", &ExperimentResult::tunnelReverse)
        .def_ro("client", &ExperimentResult::client)
        .def_ro("server", &ExperimentResult::server)
        .def_ro("hops", &ExperimentResult::hops)
        .def_ro("events", &ExperimentResult::events)
        .def_ro("path_segments", &ExperimentResult::pathSegments);
}

void
BindCongestion(nb::module_& m)
{
    nb::class_<CongestionAlgorithmInfo>(m, "CongestionAlgorithmInfo")
        .def_ro("name", &CongestionAlgorithmInfo::name)
        .def_ro("summary", &CongestionAlgorithmInfo::summary)
        .def_ro("source", &CongestionAlgorithmInfo::source);
    nb::class_<CongestionParameterInfo>(m, "CongestionParameterInfo")
        .def_ro("name", &CongestionParameterInfo::name)
        .def_ro("default", &CongestionParameterInfo::defaultValue)
        .def_ro("unit", &CongestionParameterInfo::unit)
        .def_ro("minimum", &CongestionParameterInfo::minimum)
        .def_ro("maximum", &CongestionParameterInfo::maximum)
        .def_ro("choices", &CongestionParameterInfo::choices)
        .def_ro("doc", &CongestionParameterInfo::doc)
        .def_ro("source", &CongestionParameterInfo::source);
    m.def("congestion_algorithms", &ListCongestionControls);
    m.def("ns3_congestion_controls", &ListNs3CongestionControls);
    m.def("has_congestion_control",
          [](const std::string& name) { return HasCongestionControl(name); });
    m.def("congestion_parameters",
          [](const std::string& name) { return GetCongestionParameters(name); });
    m.def("congestion_controls", [] {
        std::vector<std::string> names;
        for (const CongestionAlgorithmInfo& algorithm : ListCongestionControls())
        {
            names.push_back(algorithm.name);
        }
        return names;
    });
}

} // namespace

NB_MODULE(_core, m)
{
    m.doc() = "Compiled models of tunnelcc; used through the package.";
    BindCongestion(m);
    BindPath(m);
    BindHosts(m);
    BindTunnel(m);
    BindPacketTunnels(m);
    BindExperiment(m);
    BindResult(m);
    m.def("run", &Run, "spec"_a, "progress"_a = nb::none());
    m.def("layer_wire_bytes", &LayerWireBytes, "layers"_a, "message_bytes"_a, "already_sent"_a = 0);
}
