/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tun-network.h"

#ifdef __linux__

#include "event/event-loop.h"
#include "experiment/network.h"
#include "path/histogram.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <system_error>
#include <time.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace tunnelcc
{

namespace
{

constexpr int64_t SECOND = 1'000'000'000;
/// No packet is on its way for longer, ns: what is still there then was dropped.
constexpr int64_t LONGEST = 120 * SECOND;
constexpr uint32_t CAPTURED = 128; //!< bytes of each packet: its headers

using Bytes = std::vector<uint8_t>;

[[noreturn]] void
Fail(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

uint16_t
Half(const uint8_t* bytes)
{
    return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
}

uint32_t
Word(const uint8_t* bytes)
{
    return static_cast<uint32_t>(Half(bytes)) << 16 | Half(bytes + 2);
}

/// What the links need of an IPv4 packet's headers (RFC 791, 793, 768).
struct Headers
{
    static constexpr uint8_t TCP = 6;
    static constexpr uint8_t UDP = 17;

    explicit Headers(const Bytes& packet)
        : source(Word(&packet[12])),
          destination(Word(&packet[16])),
          protocol(packet[9]),
          ecn(packet[1] & 3)
    {
        const size_t ip = (packet[0] & 15) * 4;
        const bool isFragment = (Half(&packet[6]) & 0x3fff) != 0; // offset, more fragments
        payload = packet.size() - std::min(ip, packet.size());
        if (isFragment || packet.size() < ip + 8 || (protocol != TCP && protocol != UDP))
        {
            return;
        }
        sourcePort = Half(&packet[ip]);
        destinationPort = Half(&packet[ip + 2]);
        const size_t header = protocol == UDP           ? 8
                              : packet.size() < ip + 20 ? 20
                                                        : (packet[ip + 12] >> 4) * 4;
        payload -= std::min(header, payload);
    }

    std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t> Flow() const
    {
        return {source, destination, protocol, sourcePort, destinationPort};
    }

    uint32_t source;
    uint32_t destination;
    uint8_t protocol;
    uint8_t ecn;
    uint16_t sourcePort{0};
    uint16_t destinationPort{0};
    size_t payload; //!< bytes behind the header of TCP or UDP
};

/// Set CE, and mend the header's checksum.
void
SetCe(Bytes& packet)
{
    const uint16_t before = Half(&packet[0]);
    packet[1] |= 3;
    const uint16_t after = Half(&packet[0]);
    uint32_t sum =
        static_cast<uint16_t>(~Half(&packet[10])) + static_cast<uint16_t>(~before) + after;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    packet[10] = static_cast<uint8_t>(sum >> 8);
    packet[11] = static_cast<uint8_t>(sum);
}

/// A capture file of one device: pcap with times in ns, packets without a link layer.
class CaptureOfDevice
{
  public:
    explicit CaptureOfDevice(const std::string& name)
        : m_file(fopen(name.c_str(), "wb"), &fclose)
    {
        if (!m_file)
        {
            Fail(name.c_str());
        }
        const std::array<uint32_t, 6> header{0xa1b23c4d, 2 | 4 << 16, 0, 0, CAPTURED, 101};
        fwrite(header.data(), sizeof header, 1, m_file.get());
    }

    void Add(int64_t time, const Bytes& packet)
    {
        const auto size = static_cast<uint32_t>(packet.size());
        const uint32_t kept = std::min(size, CAPTURED);
        time = std::max<int64_t>(time, 0);
        const std::array<uint32_t, 4> header{static_cast<uint32_t>(time / SECOND),
                                             static_cast<uint32_t>(time % SECOND),
                                             kept,
                                             size};
        fwrite(header.data(), sizeof header, 1, m_file.get());
        fwrite(packet.data(), kept, 1, m_file.get());
    }

  private:
    std::unique_ptr<FILE, int (*)(FILE*)> m_file;
};

class Carrier final : private PacketSink
{
  public:
    Carrier(const ExperimentSpec& spec,
            const std::vector<TunDevice>& devices,
            const std::vector<TunWay>& ways,
            const TunTimes& times)
        : m_spec(spec),
          m_devices(devices),
          m_times(times),
          m_network(m_loop, spec)
    {
        for (const TunWay& way : ways)
        {
            m_ways[{way.source, way.destination}] = way;
        }
        for (const TunDevice& device : devices)
        {
            m_captures.push_back(device.capture.empty()
                                     ? nullptr
                                     : std::make_unique<CaptureOfDevice>(device.capture));
        }
    }

    void Run(const std::function<bool()>& onInterrupt);
    TunReport Report();

  private:
    struct Flow
    {
        const TunWay* way;
        Channel channel;
        TunFlowCounts counts;
    };

    /// A packet that is on its way.
    struct Entry
    {
        Bytes content; //!< empty: it has arrived
        int64_t time{0};
        uint32_t host{0};
        Flow* flow{nullptr};
    };

    static int64_t Clock()
    {
        timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return time.tv_sec * SECOND + time.tv_nsec;
    }

    void Drain(const TunDevice& device, uint32_t host);
    Flow& FlowOf(const TunWay& way, const Headers& headers);
    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;
    void Deliver(int64_t due, Entry& entry, bool isCe);
    void Serve();
    void Arm(int timer);
    int64_t DelayOf(const TunWay& way) const;
    TunLinkCounts CountsOf(PathDirection& direction) const;

    const ExperimentSpec& m_spec;
    const std::vector<TunDevice>& m_devices;
    const TunTimes m_times;
    EventLoop m_loop;
    Network m_network;
    std::map<std::pair<uint32_t, uint32_t>, TunWay> m_ways;
    std::map<std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t>, Flow> m_flows;
    std::vector<std::unique_ptr<CaptureOfDevice>> m_captures;
    std::deque<Entry> m_inside;            //!< in the order in which they entered
    uint32_t m_first{0};                   //!< number of the first of them
    std::multimap<int64_t, Entry> m_early; //!< packets before the begin, by when they arrive
    int64_t m_now{0};                      //!< since the begin, ns; negative before it
    int64_t m_armed{-1};
    bool m_isSteady{false};
    Bytes m_read = Bytes(1 << 16);
    TunReport m_report;
    Histogram m_late;
};

void
Carrier::Drain(const TunDevice& device, uint32_t host)
{
    for (;;)
    {
        const ssize_t size = read(device.file, m_read.data(), m_read.size());
        if (size < 0)
        {
            if (errno == EAGAIN)
            {
                return;
            }
            Fail("reading from a device");
        }
        if (size < 20 || m_read[0] >> 4 != 4)
        {
            continue;
        }
        Bytes content(m_read.begin(), m_read.begin() + size);
        const Headers headers(content);
        ++m_report.packets;
        if (m_captures[host])
        {
            m_captures[host]->Add(m_now, content);
        }
        const auto way = m_ways.find({headers.source, headers.destination});
        if (way == m_ways.end())
        {
            ++m_report.unknown;
            continue;
        }
        Flow& flow = FlowOf(way->second, headers);
        ++flow.counts.packets;
        if (headers.payload > 0 && flow.counts.firstData < 0)
        {
            flow.counts.firstData = m_now;
        }
        Entry entry{std::move(content), m_now, way->second.host, &flow};
        if (m_now < 0)
        {
            const int64_t due = m_now + DelayOf(way->second);
            m_early.emplace(due, std::move(entry));
            continue;
        }
        while (!m_inside.empty() &&
               (m_inside.front().content.empty() || m_inside.front().time < m_now - LONGEST))
        {
            m_inside.pop_front();
            ++m_first;
        }
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.datagramBytes = static_cast<uint32_t>(size);
        packet.isEct = headers.ecn != 0;
        packet.isL4s = headers.ecn == 1;
        packet.isCe = headers.ecn == 3;
        packet.sink = this;
        packet.segment = m_first + static_cast<uint32_t>(m_inside.size());
        m_inside.push_back(std::move(entry));
        flow.channel.Send(m_now, packet, static_cast<uint32_t>(size));
    }
}

Carrier::Flow&
Carrier::FlowOf(const TunWay& way, const Headers& headers)
{
    const auto found = m_flows.find(headers.Flow());
    if (found != m_flows.end())
    {
        return found->second;
    }
    TunFlowCounts counts;
    counts.source = headers.source;
    counts.destination = headers.destination;
    counts.protocol = headers.protocol;
    counts.sourcePort = headers.sourcePort;
    counts.destinationPort = headers.destinationPort;
    const Channel channel = m_network.ChannelFrom(way.route, way.sender, way.extraDelay);
    return m_flows.emplace(headers.Flow(), Flow{&way, channel, counts}).first->second;
}

int64_t
Carrier::DelayOf(const TunWay& way) const
{
    int64_t delay = way.extraDelay;
    for (const RouteStepSpec& step : m_spec.routes.at(way.route).sent[way.sender])
    {
        const DuplexLinkSpec& link = m_spec.links.at(step.link);
        delay += (step.isReverse ? link.reverse : link.forward).delay;
    }
    return delay;
}

void
Carrier::Receive(int64_t now, const Packet& packet, const PacketExtras*)
{
    const uint32_t place = packet.segment - m_first;
    if (place < m_inside.size() && !m_inside[place].content.empty())
    {
        Deliver(now, m_inside[place], packet.isCe);
    }
}

void
Carrier::Deliver(int64_t due, Entry& entry, bool isCe)
{
    Bytes content = std::exchange(entry.content, {});
    if (isCe)
    {
        SetCe(content);
    }
    const int64_t late = m_now - due;
    m_late.Record(late);
    m_report.lateMost = std::max(m_report.lateMost, late);
    TunFlowCounts& counts = entry.flow->counts;
    ++counts.arrived;
    counts.bytes += m_isSteady ? content.size() : 0;
    if (Headers(content).payload > 0)
    {
        counts.lastData = m_now;
    }
    if (m_captures[entry.host])
    {
        m_captures[entry.host]->Add(m_now, content);
    }
    if (write(m_devices[entry.host].file, content.data(), content.size()) < 0)
    {
        ++m_report.refused; // the device is down
    }
}

void
Carrier::Serve()
{
    m_now = Clock() - m_times.begin;
    while (!m_early.empty() && m_early.begin()->first <= m_now)
    {
        auto entry = m_early.extract(m_early.begin());
        Deliver(entry.key(), entry.mapped(), false);
    }
    if (m_now < 0)
    {
        return;
    }
    const int64_t steady = m_times.steady - m_times.begin;
    if (!m_isSteady && m_now >= steady)
    {
        m_loop.RunTo(std::max(steady, m_loop.Time()));
        m_isSteady = true;
        for (DuplexLink& link : m_network.Links())
        {
            for (PathDirection* direction : {&link.forward, &link.reverse})
            {
                direction->GetBottleneck()->StartMeasuring();
            }
        }
    }
    m_loop.RunTo(m_now);
}

void
Carrier::Arm(int timer)
{
    int64_t next = std::min(m_loop.NextTime(), m_times.end - m_times.begin);
    if (!m_isSteady)
    {
        next = std::min(next, m_times.steady - m_times.begin);
    }
    if (!m_early.empty())
    {
        next = std::min(next, m_early.begin()->first);
    }
    next = std::max<int64_t>(next + m_times.begin, 1);
    if (next == m_armed)
    {
        return;
    }
    m_armed = next;
    itimerspec value{};
    value.it_value.tv_sec = next / SECOND;
    value.it_value.tv_nsec = next % SECOND;
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &value, nullptr) < 0)
    {
        Fail("timerfd_settime");
    }
}

void
Carrier::Run(const std::function<bool()>& onInterrupt)
{
    struct Descriptor
    {
        ~Descriptor()
        {
            close(file);
        }

        int file;
    };

    const Descriptor poll{epoll_create1(EPOLL_CLOEXEC)};
    const Descriptor timer{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
    auto watch = [&](int file, uint32_t number) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = number;
        if (epoll_ctl(poll.file, EPOLL_CTL_ADD, file, &event) < 0)
        {
            Fail("epoll_ctl");
        }
    };
    for (uint32_t host = 0; host < m_devices.size(); ++host)
    {
        watch(m_devices[host].file, host);
    }
    const auto ofTimer = static_cast<uint32_t>(m_devices.size());
    watch(timer.file, ofTimer);
    std::array<epoll_event, 16> events;
    for (Serve(); m_now < m_times.end - m_times.begin; Serve())
    {
        Arm(timer.file);
        const int count = epoll_wait(poll.file, events.data(), events.size(), -1);
        if (count < 0 && (errno != EINTR || !onInterrupt()))
        {
            return;
        }
        Serve();
        for (int i = 0; i < count; ++i)
        {
            const uint32_t number = events[i].data.u32;
            if (number == ofTimer)
            {
                uint64_t ticks;
                m_armed = read(timer.file, &ticks, sizeof ticks) < 0 ? m_armed : -1;
            }
            else
            {
                Drain(m_devices[number], number);
            }
        }
    }
}

TunLinkCounts
Carrier::CountsOf(PathDirection& direction) const
{
    Bottleneck& link = *direction.GetBottleneck();
    TunLinkCounts counts;
    counts.packets = link.PacketsIn().measured;
    counts.drops = link.Drops().measured;
    counts.losses = link.RandomLosses().measured;
    counts.allDrops = link.Drops().all;
    counts.allLosses = link.RandomLosses().all;
    if (const auto marks = link.Marks())
    {
        counts.marks = marks->measured;
    }
    counts.queueMean = link.QueueDelay().Mean();
    counts.queueP95 = link.QueueDelay().Quantile(0.95);
    return counts;
}

TunReport
Carrier::Report()
{
    for (DuplexLink& link : m_network.Links())
    {
        m_report.forward.push_back(CountsOf(link.forward));
        m_report.reverse.push_back(CountsOf(link.reverse));
    }
    for (const auto& [key, flow] : m_flows)
    {
        m_report.flows.push_back(flow.counts);
    }
    m_report.lateP99 = m_late.Quantile(0.99);
    return std::move(m_report);
}

} // namespace

TunReport
CarryPackets(const ExperimentSpec& spec,
             const std::vector<TunDevice>& devices,
             const std::vector<TunWay>& ways,
             const TunTimes& times,
             const std::function<bool()>& onInterrupt)
{
    Carrier carrier(spec, devices, ways, times);
    carrier.Run(onInterrupt);
    return carrier.Report();
}

} // namespace tunnelcc

#else

#include <stdexcept>

namespace tunnelcc
{

TunReport
CarryPackets(const ExperimentSpec&,
             const std::vector<TunDevice>&,
             const std::vector<TunWay>&,
             const TunTimes&,
             const std::function<bool()>&)
{
    throw std::runtime_error("TUN devices are Linux's");
}

} // namespace tunnelcc

#endif
