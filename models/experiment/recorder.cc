/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recorder.h"

#include "ns3/simulator.h"

#include <unordered_map>

namespace tunnelcc
{

namespace
{

/// Simulated time between looks at the wall clock, ns.
constexpr int64_t PROGRESS_INTERVAL = 100'000'000;

} // namespace

Recorder::Recorder(const ExperimentSpec& spec, World& world, const ProgressCallback& progress)
    : m_spec(spec),
      m_world(world),
      m_progress(progress),
      m_forward(world.Path().Forward(), m_result.forward),
      m_reverse(world.Path().Reverse(), m_result.reverse),
      m_client(world.Hosts().client.cpu, m_result.client),
      m_server(world.Hosts().server.cpu, m_result.server),
      m_warmupTimer(this),
      m_sampleTimer(this),
      m_progressTimer(this),
      m_endTimer(this)
{
    AddLegs();
    if (PacketTunnel* tunnel = world.GetPacketTunnel())
    {
        AddPacketTunnel(*tunnel);
    }
    AddHops();
    m_warmupTimer.Set(spec.warmup);
    m_sampleTimer.Set(spec.probeInterval);
    m_progressTimer.Set(PROGRESS_INTERVAL);
    m_endTimer.Set(spec.duration);
}

void
Recorder::AddLegs()
{
    auto& flows = m_world.Flows();
    m_result.flows.resize(flows.size());
    m_readAtStart.resize(flows.size());
    m_lastRead.resize(flows.size());
    m_result.legs.reserve(m_world.Legs().size()); // the probes keep references
    std::unordered_map<const Leg*, uint32_t> numbers;
    for (const Leg& leg : m_world.Legs())
    {
        numbers.emplace(&leg, static_cast<uint32_t>(numbers.size()));
        AddLeg(leg);
    }
    for (uint32_t index = 0; index < flows.size(); ++index)
    {
        for (const Leg* leg : flows[index]->legs)
        {
            m_result.flows[index].legs.push_back(numbers.at(leg));
        }
    }
}

void
Recorder::AddPacketTunnel(const PacketTunnel& tunnel)
{
    End sender = m_world.DataSender();
    m_tunnel.emplace_back(tunnel, sender, m_result.tunnelForward.emplace());
    m_tunnel.emplace_back(tunnel, Other(sender), m_result.tunnelReverse.emplace());
}

void
Recorder::AddHops()
{
    auto& relays = m_world.RelayHosts();
    m_result.hops.resize(relays.size()); // the probes keep references
    for (size_t i = 0; i < relays.size(); ++i)
    {
        World::RelayHost& relay = relays[i];
        HopResult& result = m_result.hops[i];
        m_hops.push_back({{relay.path.Forward(), result.forward},
                          {relay.path.Reverse(), result.reverse},
                          {relay.host.cpu, result.relay}});
    }
}

void
Recorder::AddLeg(const Leg& leg)
{
    LegResult& result = m_result.legs.emplace_back();
    result.name = leg.Name();
    result.cc = leg.cc;
    m_legs.emplace_back(leg.Sender(), leg.Receiver(), result);
}

void
Recorder::CatchUp(int64_t now)
{
    if (PacketTunnel* tunnel = m_world.GetPacketTunnel())
    {
        tunnel->CatchUp(now);
    }
}

void
Recorder::OnWarmupEnd(int64_t now)
{
    CatchUp(now);
    for (LegProbe& leg : m_legs)
    {
        leg.StartMeasuring(now);
    }
    for (size_t i = 0; i < m_readAtStart.size(); ++i)
    {
        const World::Flow& flow = *m_world.Flows()[i];
        m_readAtStart[i] = flow.receiver->Total();
        flow.receiver->TimeMessages(now, *flow.sender);
    }
    for (HopProbe& hop : m_hops)
    {
        hop.forward.StartMeasuring(now);
        hop.reverse.StartMeasuring(now);
        hop.relay.StartMeasuring(now);
    }
    for (PacketTunnelProbe& tunnel : m_tunnel)
    {
        tunnel.StartMeasuring();
    }
    m_datagramsAtStart = CountDatagrams();
    m_forward.StartMeasuring(now);
    m_reverse.StartMeasuring(now);
    m_client.StartMeasuring(now);
    m_server.StartMeasuring(now);
}

void
Recorder::OnSample(int64_t now)
{
    CatchUp(now);
    double interval = Seconds(m_spec.probeInterval);
    m_result.time.push_back(Seconds(now));
    for (LegProbe& leg : m_legs)
    {
        leg.Sample(interval);
    }
    for (size_t i = 0; i < m_lastRead.size(); ++i)
    {
        uint64_t read = m_world.Flows()[i]->receiver->Total();
        m_result.flows[i].goodput.push_back(static_cast<double>(read - m_lastRead[i]) * 8 /
                                            interval);
        m_lastRead[i] = read;
    }
    for (PacketTunnelProbe& tunnel : m_tunnel)
    {
        tunnel.Sample();
    }
    m_forward.Sample(now);
    m_reverse.Sample(now);
    m_client.Sample(now, interval);
    m_server.Sample(now, interval);
    for (HopProbe& hop : m_hops)
    {
        hop.forward.Sample(now);
        hop.reverse.Sample(now);
        hop.relay.Sample(now, interval);
    }
    m_sampleTimer.Set(now + m_spec.probeInterval);
}

void
Recorder::OnProgress(int64_t now)
{
    constexpr std::chrono::milliseconds WALL_INTERVAL{200};
    m_progressTimer.Set(now + PROGRESS_INTERVAL);
    auto wall = std::chrono::steady_clock::now();
    if (wall - m_lastProgress < WALL_INTERVAL)
    {
        return;
    }
    m_lastProgress = wall;
    if (m_progress && !m_progress(Seconds(now)))
    {
        ns3::Simulator::Stop();
    }
}

void
Recorder::OnEnd(int64_t now)
{
    CatchUp(now);
    for (LegProbe& leg : m_legs)
    {
        leg.Finish(now);
    }
    for (size_t index = 0; index < m_result.flows.size(); ++index)
    {
        FinishFlow(index);
    }
    for (PacketTunnelProbe& tunnel : m_tunnel)
    {
        tunnel.Finish();
    }
    m_forward.Finish(now);
    m_reverse.Finish(now);
    m_client.Finish(now);
    m_server.Finish(now);
    FinishHops(now);
    CountPathSegments();
    m_result.crossTraffic = CountDatagrams();
    for (size_t i = 0; i < m_datagramsAtStart.size(); ++i)
    {
        m_result.crossTraffic[i].sent -= m_datagramsAtStart[i].sent;
        m_result.crossTraffic[i].received -= m_datagramsAtStart[i].received;
    }
    m_result.events = ns3::Simulator::GetEventCount();
    ns3::Simulator::Stop();
}

void
Recorder::FinishFlow(size_t index)
{
    FlowResult& result = m_result.flows[index];
    const BulkReceiver& receiver = *m_world.Flows()[index]->receiver;
    result.totalBytes = receiver.Total();
    result.deliveredBytes = receiver.Total() - m_readAtStart[index];
    result.firstByteTime = Seconds(receiver.FirstByteTime());
    result.completionTime = Seconds(receiver.CompletionTime());
    constexpr double NS = 1e-9;
    if (const Histogram* latency = receiver.MessageLatency())
    {
        result.messages = {latency->Count(),
                           latency->Mean() * NS,
                           latency->Quantile(0.5) * NS,
                           latency->Quantile(0.95) * NS,
                           latency->Quantile(0.99) * NS};
    }
}

void
Recorder::FinishHops(int64_t now)
{
    for (HopProbe& hop : m_hops)
    {
        hop.forward.Finish(now);
        hop.reverse.Finish(now);
        hop.relay.Finish(now);
    }
}

std::vector<DatagramResult>
Recorder::CountDatagrams() const
{
    std::vector<DatagramResult> counts;
    for (const auto& source : m_world.CrossTraffic())
    {
        counts.push_back({source->Sent(), source->Received()});
    }
    return counts;
}

void
Recorder::CountPathSegments()
{
    for (size_t i = 0; i < m_result.legs.size(); ++i)
    {
        m_result.pathSegments += m_world.Legs()[i].hop == 0 ? m_result.legs[i].segments : 0;
    }
}

} // namespace tunnelcc
