/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAPTURE_H
#define TUNNELCC_CAPTURE_H

#include "capture-log.h"
#include "carrier-contents.h"
#include "divided-format.h"
#include "event/event-loop.h"
#include "ip.h"
#include "packet-format.h"
#include "path/path.h"
#include "quic-format.h"
#include "spec/end.h"
#include "spec/experiment-spec.h"
#include "tcp-format.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// Where a connection, or a tunnel's datagrams, run.
struct WireEnds
{
    PerEnd<uint32_t> hosts;
    PerEnd<CaptureInterface> interfaces{CaptureInterface::LINK, CaptureInterface::LINK};
    uint32_t tunnel{0}; //!< whose devices they use
    uint16_t port{0};   //!< that the server listens at
    uint32_t path{0};   //!< of a connection over several: the client has an address for each
};

/**
 * Captures the packets of a run at some places.
 *
 * Every sender's packets pass through a tap in front of the channel that it would send into, and
 * those of a captured link through one more in front of the link. A run without a capture has no
 * taps. Nothing that a tap does changes a run.
 */
class Capture
{
  public:
    /// \param spec what to capture  \throws std::system_error if the file cannot be opened
    explicit Capture(const CaptureSpec& spec);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Let it know the simulation's time. \param loop outlives the run
    void SetClock(const EventLoop& loop)
    {
        m_clock = &loop;
    }

    /// How late packets may come, ns: CaptureLog::AllowLateness().
    void AllowLateness(int64_t lateness)
    {
        m_log.AllowLateness(lateness);
    }

    /// What a TCP connection's ends are to send into, and what is to know its senders.
    struct Tcp
    {
        PerEnd<Channel> channels;
        PerEnd<TcpFormat&> formats;
    };

    /// Add a TCP connection. \param spec its settings, which outlive the run
    /// \param title of its logs
    /// \param channels that its ends would send into
    Tcp AddTcp(const TcpSpec& spec,
               const WireEnds& ends,
               std::string_view title,
               const PerEnd<Channel>& channels);

    /**
     * Make TCP connections that were added the subflows of a connection of MPTCP.
     * \param subflows one for each path, by the end that sends
     * \param mappings that each end sends there; outlive the run
     * \returns what its streams hold, by the end that sends
     */
    PerEnd<StreamContents*> AddMptcp(const MultipathSpec& multipath,
                                     const std::vector<PerEnd<TcpFormat*>>& subflows,
                                     std::deque<PerEnd<MappingLog>>& mappings);

    /**
     * Add what an end of a tunnel writes to its carrier.
     * \param stream of the carrier's end
     * \param tunnel its number
     * \param handshake,layers as of CarrierContents
     * \returns what is to be told of messages
     */
    CarrierContents& AddContents(StreamContents& stream,
                                 uint32_t tunnel,
                                 const std::vector<HandshakeTurn>& handshake,
                                 End end,
                                 const std::vector<LayerSpec>& layers);

    /// Add what both ends send in UDP, with payloads of which nothing is known.
    /// \param header IP bytes around a shard, if there is FEC  \param channels as for AddTcp()
    PerEnd<Channel> AddUdp(const WireEnds& ends, uint32_t header, const PerEnd<Channel>& channels);

    /// What a QUIC connection's ends are to send into, and what is to know its senders.
    struct Quic
    {
        PerEnd<Channel> channels;
        PerEnd<QuicFormat&> formats;
    };

    /// Add a QUIC connection. \param spec its settings, which outlive the run
    /// \param title of its logs
    /// \param channels as for AddTcp()
    Quic AddQuic(const QuicSpec& spec,
                 const WireEnds& ends,
                 std::string_view title,
                 const PerEnd<Channel>& channels);

    /// Add what one end of a datagram tunnel sends. \param number the tunnel's
    Channel AddTunnel(const DatagramTunnelSpec& spec,
                      uint32_t number,
                      const WireEnds& ends,
                      End sender,
                      const Channel& channel);

    /// Add what one end of a tunnel sends through another tunnel. \param packets outlive the run
    /// \param channel as for AddTcp()
    Channel AddNested(const NestedPackets& packets, const Channel& channel);

    /**
     * Add what a router tells a sender.
     * \param messages which are sent
     * \param host that is told
     * \param link in front of which the router is
     * \param channel as for AddTcp()
     */
    Channel AddMessages(const MtuMessages& messages,
                        uint32_t host,
                        uint32_t link,
                        const Channel& channel);

    /**
     * Add what passes a host on its way: a gateway, or a router.
     * \param host its number  \param interface,direction where and how it is seen there
     * \param channel that the host sends into
     */
    Channel AddPassing(uint32_t host,
                       CaptureInterface interface,
                       CaptureDirection direction,
                       const Channel& channel);

    /// Add what passes the host to which a direction of a link leads, likewise.
    Channel AddPassingBehind(const RouteStepSpec& link,
                             CaptureDirection direction,
                             const Channel& channel);

    /// Add what enters a link in one direction. \param channel into it
    Channel AddLink(uint32_t link,
                    bool isReverse,
                    PathDirection& direction,
                    const Channel& channel);

    /// The run is over: write all that is left.
    void Finish();

    const PcapngFile& File() const
    {
        return m_log.File();
    }

    /// \returns the latest log that ended before the run did; null: none did
    const RecordFile* EndedLog() const;

    const CaptureSpec& Spec() const
    {
        return m_spec;
    }

  private:
    class Arrival;
    class SenderTap;
    class PassingTap;
    class LinkSide;
    class LinkTap;

    /// A place's interface, and a direction there.
    struct Spot
    {
        uint32_t place;
        CaptureInterface interface;
        CaptureDirection direction;

        /// Its number among all.
        uint32_t View() const
        {
            return 6 * place + 2 * static_cast<uint32_t>(interface) +
                   static_cast<uint32_t>(direction) - 1;
        }
    };

    /// Log both ends of a connection, if logs are wanted.
    template <class Log, class Format>
    void AddLogs(std::string_view title,
                 std::string_view protocol,
                 std::vector<std::unique_ptr<Log>>& logs,
                 const PerEnd<Format&>& formats);
    template <class Format, class... Arguments>
    Format& AddFormat(Arguments&&... arguments);
    Channel AddSender(PacketFormat& format,
                      const WireEnds& ends,
                      End sender,
                      const Channel& channel);
    /// Where a host's packets are seen; none: nowhere.
    std::optional<Spot> SpotAt(uint32_t host,
                               CaptureInterface interface,
                               CaptureDirection direction) const;
    IpAddress AddressAt(const WireEnds& ends, End end) const;
    PerEnd<SocketAddress> NewAddresses(const WireEnds& ends);
    CaptureLog::Record& Add(const Spot& spot, PacketFormat& format, const SeenPacket& seen);
    /// A packet passes, and nothing else can become of it.
    void See(const Spot& spot, PacketFormat& format, const SeenPacket& seen);

    const CaptureSpec m_spec;
    const EventLoop* m_clock{nullptr};
    CaptureLog m_log;
    PacketImage m_image;
    FormatTable m_table;
    DividedFormat m_divided{m_table};
    std::vector<std::unique_ptr<PacketFormat>> m_formats;
    std::vector<std::unique_ptr<PacketDevice>> m_taps;
    std::vector<std::unique_ptr<CarrierContents>> m_contents;
    std::deque<MptcpConnectionFormat> m_mptcp;
    std::vector<std::unique_ptr<TcpLog>> m_tcpLogs;
    std::vector<std::unique_ptr<QuicLog>> m_quicLogs;
    std::map<std::pair<uint32_t, bool>, std::unique_ptr<LinkSide>> m_links; //!< and if in reverse
    uint32_t m_connections{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_CAPTURE_H
