/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capture.h"

#include "datagram-format.h"
#include "spread.h"

#include <algorithm>
#include <unordered_map>

namespace tunnelcc
{

namespace
{

/// An address of a network 10.x/16 and fd00:x::/32, of a host by its number.
IpAddress
AddressIn(uint8_t network, uint32_t host, uint32_t version)
{
    const uint32_t number = host + 1;
    const auto high = static_cast<uint8_t>(number >> 8);
    const auto low = static_cast<uint8_t>(number);
    if (version == 4)
    {
        return {{10, network, high, low}, 4};
    }
    return {{0xfd, 0, 0, network, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, high, low}, 6};
}

IpAddress
Loopback(uint32_t version)
{
    IpAddress address{{127, 0, 0, 1}, 4};
    if (version == 6)
    {
        address = {{}, 6};
        address.bytes.back() = 1;
    }
    return address;
}

} // namespace

/// Sees packets arrive at a host, and hands them on.
class Capture::Arrival final : public PacketSink
{
  public:
    Arrival(Capture& capture,
            PacketSink& sink,
            PacketFormat& format,
            const std::optional<Spot>& spot)
        : m_capture(capture),
          m_sink(sink),
          m_format(format),
          m_spot(spot),
          m_isWanted(format.WantsArrivals())
    {
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        const SeenPacket seen{now, packet, m_format.SizeOf(packet), extras};
        if (m_spot)
        {
            m_capture.See(*m_spot, m_format, seen);
        }
        if (m_isWanted)
        {
            m_format.OnArriving(seen);
        }
        m_sink.Receive(now, packet, extras);
        if (m_isWanted)
        {
            m_format.OnArrived(now);
        }
    }

  private:
    Capture& m_capture;
    PacketSink& m_sink;
    PacketFormat& m_format;
    const std::optional<Spot> m_spot;
    const bool m_isWanted; //!< by the format
};

/// Stands between a sender and what it would send into.
class Capture::SenderTap final : public PacketDevice
{
  public:
    /// \param leaving,arriving where packets are seen, if there
    SenderTap(Capture& capture,
              PacketFormat& format,
              const Channel& onward,
              const std::optional<Spot>& leaving,
              const std::optional<Spot>& arriving)
        : m_capture(capture),
          m_format(format),
          m_onward(onward),
          m_leaving(leaving),
          m_arriving(arriving)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        Packet sent = packet;
        sent.sink = ReceiverOf(packet);
        const SeenPacket seen{now, sent, ipBytes, extras};
        m_format.OnSent(seen);
        if (m_leaving)
        {
            m_capture.See(*m_leaving, m_format, seen);
        }
        m_onward.Send(now, sent, ipBytes, extras);
    }

    MtuSource* GetMtuSource() override
    {
        return m_onward.GetMtuSource();
    }

  private:
    PacketSink* ReceiverOf(const Packet& packet)
    {
        if (packet.sink != m_latest)
        {
            PacketSink*& receiver = m_receivers[packet.sink];
            receiver = receiver ? receiver : NewReceiver(*packet.sink);
            m_latest = packet.sink;
            m_latestReceiver = receiver;
        }
        return m_latestReceiver;
    }

    PacketSink* NewReceiver(PacketSink& sink)
    {
        const FormatTable::Entry entry{&m_format, dynamic_cast<const TunnelExit*>(&sink)};
        m_capture.m_table.Add(&sink, entry);
        if (!m_arriving && !m_format.WantsArrivals())
        {
            return &sink;
        }
        auto& arrival = m_arrivals.emplace_back(
            std::make_unique<Arrival>(m_capture, sink, m_format, m_arriving));
        m_capture.m_table.Add(arrival.get(), entry);
        return arrival.get();
    }

    Capture& m_capture;
    PacketFormat& m_format;
    Channel m_onward;
    const std::optional<Spot> m_leaving;
    const std::optional<Spot> m_arriving;
    PacketSink* m_latest{nullptr}; //!< whom the latest packet was for
    PacketSink* m_latestReceiver{nullptr};
    std::map<PacketSink*, PacketSink*> m_receivers; //!< those and who takes their place
    std::vector<std::unique_ptr<Arrival>> m_arrivals;
};

/// Stands in front of what a host on the way sends into.
class Capture::PassingTap final : public PacketDevice
{
  public:
    PassingTap(Capture& capture, const Spot& spot, const Channel& onward)
        : m_capture(capture),
          m_spot(spot),
          m_onward(onward)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        const SeenPacket seen{now, packet, ipBytes, extras};
        m_capture.See(m_spot, m_capture.m_table.FormatOf(packet, seen.Receiver()), seen);
        m_onward.Send(now, packet, ipBytes, extras);
    }

    MtuSource* GetMtuSource() override
    {
        return m_onward.GetMtuSource();
    }

  private:
    Capture& m_capture;
    const Spot m_spot;
    Channel m_onward;
};

/// One direction of a captured link: finds out what becomes of packets.
class Capture::LinkSide final : private LinkWatcher
{
  public:
    LinkSide(Capture& capture, PathDirection& direction, const Spot& spot)
        : m_capture(capture),
          m_link(*direction.GetBottleneck()),
          m_isQueued(direction.GetQueuedLink() != nullptr),
          m_spot(spot)
    {
        if (m_isQueued)
        {
            direction.GetQueuedLink()->SetWatcher(this);
        }
    }

    void Send(const SeenPacket& seen, Channel& onward)
    {
        PacketFormat& format = m_capture.m_table.FormatOf(seen.packet, seen.Receiver());
        CaptureLog::Record& record = m_capture.Add(m_spot, format, seen);
        Packet packet = seen.packet;
        if (m_isQueued)
        {
            packet.time = static_cast<int64_t>(record.number);
            m_waiting.emplace(packet.time, &record);
            onward.Send(seen.now, packet, seen.ipBytes, seen.extras);
            return;
        }
        // What becomes of it is known at once.
        onward.Send(seen.now, packet, seen.ipBytes, seen.extras);
        record.fate = m_link.TakeFate();
        Settle(record);
    }

  private:
    void OnFate(int64_t packet, PacketFate fate) override
    {
        const auto found = m_waiting.find(packet);
        CaptureLog::Record& record = *found->second;
        if (fate != PacketFate::PASSED)
        {
            record.fate = fate; // one that passes may be marked
        }
        if (fate != PacketFate::MARKED)
        {
            m_waiting.erase(found);
            Settle(record);
        }
    }

    void Settle(CaptureLog::Record& record)
    {
        m_capture.m_log.Settle(record, m_capture.m_clock->Time());
    }

    Capture& m_capture;
    Bottleneck& m_link;
    const bool m_isQueued;
    const Spot m_spot;
    std::unordered_map<int64_t, CaptureLog::Record*> m_waiting; //!< by Packet::time
};

/// Stands in front of a captured link.
class Capture::LinkTap final : public PacketDevice
{
  public:
    LinkTap(LinkSide& side, const Channel& onward)
        : m_side(side),
          m_onward(onward)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        m_side.Send({now, packet, ipBytes, extras}, m_onward);
    }

  private:
    LinkSide& m_side;
    Channel m_onward;
};

Capture::Capture(const CaptureSpec& spec)
    : m_spec(spec),
      m_log(m_spec)
{
    m_table.SetDivided(m_divided);
}

Capture::~Capture() = default;

Capture::Tcp
Capture::AddTcp(const TcpSpec& spec,
                const WireEnds& ends,
                std::string_view title,
                const PerEnd<Channel>& channels)
{
    const PerEnd<SocketAddress> addresses = NewAddresses(ends);
    auto add = [&](End end) -> TcpFormat& {
        return AddFormat<TcpFormat>(spec,
                                    addresses[end],
                                    addresses[Other(end)],
                                    Spread(2 * m_connections + (end == End::SERVER)));
    };
    const PerEnd<TcpFormat&> formats{add(End::CLIENT), add(End::SERVER)};
    TcpFormat::Join(formats.client, formats.server);
    AddLogs(title, "TCP", m_tcpLogs, formats);
    return {{AddSender(formats.client, ends, End::CLIENT, channels.client),
             AddSender(formats.server, ends, End::SERVER, channels.server)},
            formats};
}

PerEnd<StreamContents*>
Capture::AddMptcp(const MultipathSpec& multipath,
                  const std::vector<PerEnd<TcpFormat*>>& subflows,
                  std::deque<PerEnd<MappingLog>>& mappings)
{
    constexpr uint64_t KEYS = 1 << 16; // other draws than those of ends of TCP
    const auto draw = [&](End end) {
        return Spread((KEYS + m_connections) * KEYS + (end == End::SERVER));
    };
    return m_mptcp.emplace_back(MakePerEnd(End::CLIENT, draw), multipath.paths, subflows, mappings)
        .Contents();
}

CarrierContents&
Capture::AddContents(StreamContents& stream,
                     uint32_t tunnel,
                     const std::vector<HandshakeTurn>& handshake,
                     End end,
                     const std::vector<LayerSpec>& layers)
{
    return *m_contents.emplace_back(std::make_unique<CarrierContents>(stream,
                                                                      handshake,
                                                                      end,
                                                                      layers,
                                                                      m_spec.tunnels.at(tunnel)));
}

PerEnd<Channel>
Capture::AddUdp(const WireEnds& ends, uint32_t header, const PerEnd<Channel>& channels)
{
    const PerEnd<SocketAddress> addresses = NewAddresses(ends);
    auto add = [&](End end) {
        auto& format = AddFormat<UdpFormat>(addresses[end], addresses[Other(end)], header);
        return AddSender(format, ends, end, channels[end]);
    };
    return {add(End::CLIENT), add(End::SERVER)};
}

Capture::Quic
Capture::AddQuic(const QuicSpec& spec,
                 const WireEnds& ends,
                 std::string_view title,
                 const PerEnd<Channel>& channels)
{
    const uint64_t draw = Spread(2 * m_connections);
    const PerEnd<SocketAddress> addresses = NewAddresses(ends);
    auto add = [&](End end) -> QuicFormat& {
        return AddFormat<QuicFormat>(spec, end, addresses[end], addresses[Other(end)], draw);
    };
    const PerEnd<QuicFormat&> formats{add(End::CLIENT), add(End::SERVER)};
    QuicFormat::Join(formats.client, formats.server);
    AddLogs(title, "QUIC", m_quicLogs, formats);
    return {{AddSender(formats.client, ends, End::CLIENT, channels.client),
             AddSender(formats.server, ends, End::SERVER, channels.server)},
            formats};
}

Channel
Capture::AddTunnel(const DatagramTunnelSpec& spec,
                   uint32_t number,
                   const WireEnds& ends,
                   End sender,
                   const Channel& channel)
{
    auto addressOf = [&](End end) { return SocketAddress{AddressAt(ends, end), ends.port}; };
    auto& format = AddFormat<TunnelFormat>(spec,
                                           m_spec.tunnels.at(number),
                                           addressOf(sender),
                                           addressOf(Other(sender)),
                                           m_table);
    return AddSender(format, ends, sender, channel);
}

Channel
Capture::AddNested(const NestedPackets& packets, const Channel& channel)
{
    auto& format = AddFormat<NestedFormat>(packets, m_table);
    return Channel(*m_taps.emplace_back(
        std::make_unique<SenderTap>(*this, format, channel, std::nullopt, std::nullopt)));
}

Channel
Capture::AddMessages(const MtuMessages& messages,
                     uint32_t host,
                     uint32_t link,
                     const Channel& channel)
{
    constexpr uint32_t FIRST_ROUTER = 0xff00; // beyond all hosts
    auto& format =
        AddFormat<TooBigFormat>(messages, AddressIn(0, FIRST_ROUTER + link, m_spec.ip), m_table);
    return Channel(*m_taps.emplace_back(
        std::make_unique<SenderTap>(*this,
                                    format,
                                    channel,
                                    std::nullopt,
                                    SpotAt(host, CaptureInterface::LINK, CaptureDirection::IN))));
}

Channel
Capture::AddPassing(uint32_t host,
                    CaptureInterface interface,
                    CaptureDirection direction,
                    const Channel& channel)
{
    const std::optional<Spot> spot = SpotAt(host, interface, direction);
    return spot ? Channel(*m_taps.emplace_back(std::make_unique<PassingTap>(*this, *spot, channel)))
                : channel;
}

Channel
Capture::AddPassingBehind(const RouteStepSpec& link,
                          CaptureDirection direction,
                          const Channel& channel)
{
    for (const CapturePlaceSpec& place : m_spec.places)
    {
        const auto isHere = [&](const RouteStepSpec& it) {
            return it.link == link.link && it.isReverse == link.isReverse;
        };
        if (place.host && std::ranges::any_of(place.arrivals, isHere))
        {
            return AddPassing(*place.host, CaptureInterface::LINK, direction, channel);
        }
    }
    return channel;
}

Channel
Capture::AddLink(uint32_t link, bool isReverse, PathDirection& direction, const Channel& channel)
{
    for (uint32_t place = 0; place < m_spec.places.size(); ++place)
    {
        if (m_spec.places[place].link != link)
        {
            continue;
        }
        auto& side = m_links[{link, isReverse}];
        if (!side)
        {
            side = std::make_unique<LinkSide>(
                *this,
                direction,
                Spot{place,
                     CaptureInterface::LINK,
                     isReverse ? CaptureDirection::IN : CaptureDirection::OUT});
        }
        return Channel(*m_taps.emplace_back(std::make_unique<LinkTap>(*side, channel)));
    }
    return channel;
}

template <class Log, class Format>
void
Capture::AddLogs(std::string_view title,
                 std::string_view protocol,
                 std::vector<std::unique_ptr<Log>>& logs,
                 const PerEnd<Format&>& formats)
{
    if (m_spec.qlog.empty())
    {
        return;
    }
    for (End end : ENDS)
    {
        const bool isClient = end == End::CLIENT;
        const std::string name = std::string(title) + (isClient ? "-client" : "-server");
        formats[end].SetLog(
            *logs.emplace_back(std::make_unique<Log>(m_spec.qlog + "/" + name + ".sqlog",
                                                     m_spec.limit,
                                                     Qlog::Subject{name, protocol, isClient})));
    }
}

template <class Format, class... Arguments>
Format&
Capture::AddFormat(Arguments&&... arguments)
{
    auto format = std::make_unique<Format>(std::forward<Arguments>(arguments)...);
    Format& added = *format;
    m_formats.push_back(std::move(format));
    return added;
}

Channel
Capture::AddSender(PacketFormat& format, const WireEnds& ends, End sender, const Channel& channel)
{
    return Channel(*m_taps.emplace_back(std::make_unique<SenderTap>(
        *this,
        format,
        channel,
        SpotAt(ends.hosts[sender], ends.interfaces[sender], CaptureDirection::OUT),
        SpotAt(ends.hosts[Other(sender)], ends.interfaces[Other(sender)], CaptureDirection::IN))));
}

std::optional<Capture::Spot>
Capture::SpotAt(uint32_t host, CaptureInterface interface, CaptureDirection direction) const
{
    for (uint32_t place = 0; place < m_spec.places.size(); ++place)
    {
        if (m_spec.places[place].host == host)
        {
            // A loopback shows each packet once: as it arrives there.
            const bool isSeen =
                interface != CaptureInterface::LOOPBACK || direction == CaptureDirection::OUT;
            return isSeen ? std::optional(Spot{place, interface, direction}) : std::nullopt;
        }
    }
    return {};
}

IpAddress
Capture::AddressAt(const WireEnds& ends, End end) const
{
    constexpr uint8_t FIRST_TUNNEL = 8;
    switch (ends.interfaces[end])
    {
    case CaptureInterface::LOOPBACK:
        return Loopback(m_spec.tunnels.at(ends.tunnel).ip);
    case CaptureInterface::DEVICE:
        return AddressIn(static_cast<uint8_t>(FIRST_TUNNEL + ends.tunnel),
                         ends.hosts[end],
                         m_spec.tunnels.at(ends.tunnel).ip);
    case CaptureInterface::LINK:
        break;
    }
    const uint32_t network = end == End::CLIENT ? ends.path : 0; // fewer than FIRST_TUNNEL
    return AddressIn(static_cast<uint8_t>(network), ends.hosts[end], m_spec.ip);
}

PerEnd<SocketAddress>
Capture::NewAddresses(const WireEnds& ends)
{
    // Linux sysctl ip_local_port_range
    constexpr uint32_t FIRST_PORT = 32768;
    constexpr uint32_t PORTS = 28232;
    const auto port = static_cast<uint16_t>(FIRST_PORT + m_connections++ % PORTS);
    return {{AddressAt(ends, End::CLIENT), port}, {AddressAt(ends, End::SERVER), ends.port}};
}

CaptureLog::Record&
Capture::Add(const Spot& spot, PacketFormat& format, const SeenPacket& seen)
{
    format.Write(seen, spot.View(), m_image);
    return m_log.Add(seen.now, spot.place, spot.interface, spot.direction, m_image);
}

void
Capture::Finish()
{
    m_log.Finish();
    for (auto& log : m_tcpLogs)
    {
        log->Finish();
    }
    for (auto& log : m_quicLogs)
    {
        log->Finish();
    }
}

const RecordFile*
Capture::EndedLog() const
{
    const RecordFile* found = nullptr;
    auto look = [&](const auto& logs) {
        for (const auto& log : logs)
        {
            found = log->File().IsWriting() ? found : &log->File();
        }
    };
    look(m_tcpLogs);
    look(m_quicLogs);
    return found;
}

void
Capture::See(const Spot& spot, PacketFormat& format, const SeenPacket& seen)
{
    if (m_log.IsWriting())
    {
        m_log.Settle(Add(spot, format, seen), m_clock->Time());
    }
}

} // namespace tunnelcc
