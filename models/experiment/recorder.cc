/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recorder.h"

#include "event/time-units.h"
#include "probe/known-mean.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tunnelcc
{

namespace
{

constexpr double NS = 1e-9; // s

/// Simulated time between looks at the wall clock.
constexpr int64_t PROGRESS_INTERVAL = 100 * MS;

/// The end of a tunnel that takes what one end of a flow sends, if that goes through it, or its
/// carriers do.
std::optional<End>
EndIn(const ExperimentSpec& spec, const FlowSpec& flow, End sender, uint32_t tunnel)
{
    if (!flow.tunnel)
    {
        return std::nullopt;
    }
    const End near = flow.access.Near(sender);
    if (flow.tunnel == tunnel)
    {
        return near;
    }
    if (const FlowSpec* under = UnderOf(spec.tunnels[*flow.tunnel]))
    {
        return EndIn(spec, *under, near, tunnel);
    }
    const auto* relay = std::get_if<RelaySpec>(&spec.tunnels[*flow.tunnel]);
    auto isBelow = [=](const HopSpec& hop) { return hop.under == tunnel; };
    const bool isUnder = relay && std::any_of(relay->hops.begin(), relay->hops.end(), isBelow);
    return isUnder ? std::optional(near) : std::nullopt;
}

/// The end of a connection at which a flow's data enter it.
End
SenderIn(const FlowSpec& flow, const Leg& leg)
{
    return leg.role == LegRole::CARRIER ? flow.access.Near(flow.sender) : flow.sender;
}

/// The end at which they enter the connection with several paths: its own, which no gateway is
/// before, or a carrier.
End
SenderInPaths(const FlowSpec& flow)
{
    return flow.access.Near(flow.sender);
}

/// The relays that take the datagrams of both ends.
std::vector<DatagramSide*>
Relays(const Datagrams& datagrams)
{
    if (!datagrams.relays.client)
    {
        return {};
    }
    return {datagrams.relays.client, datagrams.relays.server};
}

template <class Result>
void
FinishDatagrams(const Datagrams& datagrams, Result& result)
{
    const DatagramMeter& meter = datagrams.meter;
    const Histogram& delays = meter.Delays();
    result.sent = datagrams.sender->Sent();
    result.received = meter.Received();
    result.expected = meter.Expected(datagrams.sender->Next());
    result.resent = datagrams.sender->Resent();
    for (const DatagramSide* relay : Relays(datagrams))
    {
        result.relayDrops = result.relayDrops.value_or(0) + relay->Drops();
    }
    result.reordered = meter.Reordered();
    result.late = meter.Late();
    if (meter.Received() > 0)
    {
        constexpr double TRIMMED = 0.95;
        result.delayMean = delays.Mean() * NS;
        result.delayP50 = delays.Quantile(0.5) * NS;
        result.delayP95 = delays.Quantile(0.95) * NS;
        result.delayP99 = delays.Quantile(0.99) * NS;
        result.delayTrimmed = delays.TrimmedMean(TRIMMED) * NS;
        result.jitter = meter.Jitter() * NS;
        if (meter.PlayDelay() > 0)
        {
            result.playDelay = meter.PlayDelay() * NS;
        }
    }
}

} // namespace

Recorder::Recorder(EventLoop& loop,
                   const ExperimentSpec& spec,
                   World& world,
                   const ProgressCallback& progress)
    : m_loop(loop),
      m_spec(spec),
      m_world(world),
      m_progress(progress),
      m_warmupTimer(loop, this),
      m_sampleTimer(loop, this),
      m_progressTimer(loop, this),
      m_endTimer(loop, this)
{
    AddLegs();
    AddTunnels();
    AddNetwork();
    if (spec.warmup > 0)
    {
        m_warmupTimer.Set(spec.warmup);
    }
    else
    {
        OnWarmupEnd(0); // before anything happens at time 0
    }
    m_sampleTimer.Set(spec.probeInterval);
    m_progressTimer.Set(PROGRESS_INTERVAL);
    m_endTimer.Set(spec.duration);
}

void
Recorder::AddLegs()
{
    auto& flows = m_world.Flows();
    auto before = [&](FlowRole role) {
        return static_cast<size_t>(
            std::ranges::count_if(m_spec.flows, [=](const auto& it) { return it.role < role; }));
    };
    m_firstTraffic = before(FlowRole::CROSS_TRAFFIC);
    m_firstPing = before(FlowRole::PING);
    m_result.flows.resize(m_firstTraffic);
    m_result.crossTraffic.resize(m_firstPing - m_firstTraffic);
    m_result.pings.resize(flows.size() - m_firstPing);
    m_readAtStart.resize(m_firstTraffic);
    m_lastRead.resize(m_firstTraffic);
    for (size_t index = 0; index < m_firstTraffic; ++index)
    {
        if (flows[index].datagrams)
        {
            m_result.flows[index].datagrams.emplace();
        }
        else if (flows[index].sender->WritesMessages())
        {
            m_result.flows[index].messageSeries.emplace();
        }
    }
    // Of a connection that flows of both directions share, each direction is one.
    using Key = std::pair<const Leg*, End>;
    std::set<Key> used;
    for (uint32_t index = 0; index < m_firstTraffic; ++index)
    {
        for (const Leg* leg : flows[index].legs)
        {
            used.emplace(leg, SenderIn(m_spec.flows[index], *leg));
        }
    }
    m_result.legs.reserve(used.size()); // the probes keep references
    std::map<Key, uint32_t> numbers;
    for (const Leg& leg : m_world.Legs())
    {
        for (End sender : ENDS)
        {
            if (used.contains({&leg, sender}))
            {
                numbers.emplace(Key(&leg, sender), static_cast<uint32_t>(m_legs.size()));
                AddLeg(leg, sender);
            }
        }
    }
    for (uint32_t index = 0; index < m_firstTraffic; ++index)
    {
        for (const Leg* leg : flows[index].legs)
        {
            const End sender = SenderIn(m_spec.flows[index], *leg);
            m_result.flows[index].legs.push_back(numbers.at({leg, sender}));
        }
    }
}

void
Recorder::AddLeg(const Leg& leg, End sender)
{
    LegResult& result = m_result.legs.emplace_back();
    result.name = leg.Name();
    result.cc = leg.cc;
    if (m_spec.probeCongestion && std::holds_alternative<LegEnds<TcpEndpoint>>(leg.ends))
    {
        result.congestion.emplace();
    }
    auto makeProbe = [&](const auto& ends) {
        return MakeLegProbe(*ends[sender], *ends[Other(sender)], result);
    };
    m_legs.push_back(std::visit(makeProbe, leg.ends));
    m_sockets.emplace_back(leg.sockets[Other(sender)], 0);
    m_crossesPath.push_back(leg.hop == 0);
}

void
Recorder::AddTunnels()
{
    auto& tunnels = m_world.Tunnels();
    m_result.tunnels.resize(tunnels.size()); // the probes keep references
    for (uint32_t number = 0; number < tunnels.size(); ++number)
    {
        PacketTunnel* tunnel = tunnels[number]->Packets();
        std::optional<End> sender;
        for (auto flow = m_spec.flows.begin(); flow != m_spec.flows.end() && !sender; ++flow)
        {
            sender = EndIn(m_spec, *flow, flow->sender, number);
        }
        if (tunnel && sender)
        {
            TunnelResult& result = m_result.tunnels[number];
            const PerEnd<DatagramSide*> relays = tunnels[number]->RelaysBelow();
            auto add = [&](End end, PacketTunnelResult& way) {
                m_tunnels.emplace_back(*tunnel, end, relays[end], way);
            };
            add(*sender, result.forward.emplace());
            add(Other(*sender), result.reverse.emplace());
        }
    }
}

void
Recorder::AddNetwork()
{
    auto& links = m_world.GetNetwork().Links();
    m_result.links.resize(links.size()); // the probes keep references
    for (size_t i = 0; i < links.size(); ++i)
    {
        m_links.emplace_back(*links[i].forward.GetBottleneck(), m_result.links[i].forward);
        m_links.emplace_back(*links[i].reverse.GetBottleneck(), m_result.links[i].reverse);
    }
    auto& hosts = m_world.GetNetwork().Hosts();
    m_result.hosts.resize(hosts.size());
    for (size_t i = 0; i < hosts.size(); ++i)
    {
        m_hosts.emplace_back(hosts[i].cpu, m_result.hosts[i]);
    }
}

void
Recorder::CatchUp(int64_t now)
{
    for (const auto& tunnel : m_world.Tunnels())
    {
        if (PacketTunnel* packets = tunnel->Packets())
        {
            packets->CatchUp(now);
        }
    }
}

void
Recorder::OnWarmupEnd(int64_t now)
{
    CatchUp(now);
    for (auto& leg : m_legs)
    {
        leg->StartMeasuring(now);
    }
    for (auto& [socket, drops] : m_sockets)
    {
        drops = socket ? socket->Drops() : 0;
    }
    for (size_t i = 0; i < m_readAtStart.size(); ++i)
    {
        const Flow& flow = m_world.Flows()[i];
        m_readAtStart[i] = BytesRead(i);
        if (flow.receiver)
        {
            flow.receiver->TimeMessages(now, *flow.sender);
        }
        if (flow.multipath)
        {
            flow.multipath->StartMeasuring(now, Other(SenderInPaths(m_spec.flows[i])));
        }
        m_channelsAtStart.push_back(ChannelTimes(now, i));
    }
    for (PacketTunnelProbe& tunnel : m_tunnels)
    {
        tunnel.StartMeasuring();
    }
    for (const Flow& flow : m_world.Flows())
    {
        if (flow.datagrams)
        {
            flow.datagrams->sender->StartMeasuring();
            for (DatagramSide* relay : Relays(*flow.datagrams))
            {
                relay->StartMeasuring();
            }
        }
    }
    for (LinkProbe& link : m_links)
    {
        link.StartMeasuring(now);
    }
    for (HostProbe& host : m_hosts)
    {
        host.StartMeasuring(now);
    }
}

void
Recorder::OnSample(int64_t now)
{
    CatchUp(now);
    double interval = Seconds(m_spec.probeInterval);
    m_result.time.push_back(Seconds(now));
    for (auto& leg : m_legs)
    {
        leg->Sample(interval);
    }
    for (size_t i = 0; i < m_lastRead.size(); ++i)
    {
        uint64_t read = BytesRead(i);
        m_result.flows[i].goodputSeries.push_back(static_cast<double>(read - m_lastRead[i]) * 8 /
                                                  interval);
        m_lastRead[i] = read;
    }
    for (size_t i = 0; i < m_world.Flows().size(); ++i)
    {
        if (const auto& datagrams = m_world.Flows()[i].datagrams)
        {
            DelaySeriesOf(i).push_back(datagrams->meter.TakeSample() * NS);
        }
        else if (auto& messages = m_result.flows[i].messageSeries)
        {
            const double latency = m_world.Flows()[i].receiver->TakeLatencySample();
            messages->latency.push_back(latency * NS);
        }
    }
    for (PacketTunnelProbe& tunnel : m_tunnels)
    {
        tunnel.Sample();
    }
    for (LinkProbe& link : m_links)
    {
        link.Sample(now);
    }
    for (HostProbe& host : m_hosts)
    {
        host.Sample(now, interval);
    }
    m_sampleTimer.Set(now + m_spec.probeInterval);
    if (m_spec.until > 0 && now > m_spec.warmup)
    {
        EndIfKnown(now);
    }
}

void
Recorder::EndIfKnown(int64_t now)
{
    double goodput = 0;
    for (const FlowResult& flow : m_result.flows)
    {
        goodput += flow.goodputSeries.back();
    }
    m_goodputs.push_back(goodput);
    m_nextLook = std::max(m_nextLook, FirstLook(Seconds(m_spec.probeInterval)));
    if (m_goodputs.size() < m_nextLook)
    {
        return;
    }
    m_nextLook = NextLook(m_goodputs.size());
    if (now + m_spec.probeInterval <= m_spec.duration && // else this sample is the last anyway
        IsMeanKnown(m_goodputs, m_spec.until))
    {
        m_endTimer.Set(now);
    }
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
        m_loop.Stop();
    }
}

void
Recorder::OnEnd(int64_t now)
{
    CatchUp(now);
    for (auto& leg : m_legs)
    {
        leg->Finish(now);
    }
    for (size_t index = 0; index < m_result.flows.size(); ++index)
    {
        FinishFlow(now, index);
    }
    for (PacketTunnelProbe& tunnel : m_tunnels)
    {
        tunnel.Finish(now);
    }
    for (LinkProbe& link : m_links)
    {
        link.Finish(now);
    }
    for (HostProbe& host : m_hosts)
    {
        host.Finish(now);
    }
    for (size_t i = 0; i < m_result.legs.size(); ++i)
    {
        if (const auto& [socket, drops] = m_sockets[i]; socket)
        {
            m_result.legs[i].socketDrops = socket->Drops() - drops;
        }
        m_result.pathSegments += m_crossesPath[i] ? m_result.legs[i].segments : 0;
    }
    auto datagramsOf = [&](size_t index) -> const Datagrams& {
        return *m_world.Flows()[index].datagrams;
    };
    for (size_t i = 0; i < m_result.crossTraffic.size(); ++i)
    {
        FinishDatagrams(datagramsOf(m_firstTraffic + i), m_result.crossTraffic[i]);
    }
    for (size_t i = 0; i < m_result.pings.size(); ++i)
    {
        FinishDatagrams(datagramsOf(m_firstPing + i), m_result.pings[i]);
    }
    m_result.events = m_loop.GetEventCount();
    m_loop.Stop();
}

void
Recorder::FinishFlow(int64_t now, size_t index)
{
    FlowResult& result = m_result.flows[index];
    result.totalBytes = BytesRead(index);
    result.deliveredBytes = result.totalBytes - m_readAtStart[index];
    if (const auto& datagrams = m_world.Flows()[index].datagrams)
    {
        result.firstByteAt = Moment(datagrams->meter.FirstTime());
        FinishDatagrams(*datagrams, *result.datagrams);
        return;
    }
    const BulkReceiver& receiver = *m_world.Flows()[index].receiver;
    result.firstByteAt = Moment(receiver.FirstByteTime());
    result.completedAt = Moment(receiver.CompletionTime());
    MultipathConnection* paths = m_world.Flows()[index].multipath;
    if (paths && paths->CarriesBytes())
    {
        const End sender = SenderInPaths(m_spec.flows[index]);
        const ReorderingCounters counters = paths->Reordering(now, Other(sender));
        const auto arrived = static_cast<double>(std::max<uint64_t>(counters.arrived, 1));
        result.multipath = {static_cast<double>(counters.reordered) / arrived,
                            counters.waited / arrived * NS,
                            static_cast<double>(counters.longest) * NS,
                            counters.duplicates,
                            paths->Reinjected(sender)};
    }
    const std::vector<SendLimits::Times> channels = ChannelTimes(now, index);
    for (size_t i = 0; i < channels.size(); ++i)
    {
        result.channels.push_back(TimesBetween(m_channelsAtStart[index][i], channels[i]));
    }
    if (const Histogram* latency = receiver.MessageLatency())
    {
        MessageResult& messages = result.messages;
        messages.due = receiver.MessagesDue(now);
        messages.delivered = latency->Count();
        if (messages.delivered > 0)
        {
            messages.latencyMean = latency->Mean() * NS;
            messages.latencyP50 = latency->Quantile(0.5) * NS;
            messages.latencyP95 = latency->Quantile(0.95) * NS;
            messages.latencyP99 = latency->Quantile(0.99) * NS;
        }
    }
}

uint64_t
Recorder::BytesRead(size_t index) const
{
    const Flow& flow = m_world.Flows()[index];
    return flow.receiver
               ? flow.receiver->Total()
               : flow.legs.front()->Udp()[Other(m_spec.flows[index].sender)]->PayloadBytes();
}

std::vector<double>&
Recorder::DelaySeriesOf(size_t index)
{
    if (index < m_firstTraffic)
    {
        return m_result.flows[index].datagrams->delaySeries;
    }
    return index < m_firstPing ? m_result.crossTraffic[index - m_firstTraffic].delaySeries
                               : m_result.pings[index - m_firstPing].delaySeries;
}

std::vector<SendLimits::Times>
Recorder::ChannelTimes(int64_t now, size_t index) const
{
    std::vector<SendLimits::Times> times;
    const auto& sides = m_world.Flows()[index].sides; // two of each connection: its ends
    const bool isServer = m_spec.flows[index].sender == End::SERVER;
    for (size_t i = isServer ? 2 : 1; i + 1 < sides.size(); i += 2)
    {
        if (const SendLimits* limits = sides[i]->Limits())
        {
            times.push_back(limits->Until(now));
        }
    }
    return times;
}

} // namespace tunnelcc
