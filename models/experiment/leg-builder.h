/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_BUILDER_H
#define TUNNELCC_LEG_BUILDER_H

#include "flow.h"
#include "leg.h"
#include "modules/module-loader.h"
#include "network.h"
#include "spec/experiment-spec.h"
#include "tunnel/udp-socket.h"
#include "wire/capture.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tunnelcc
{

/// Given a congestion control, its specification and the seed of its random numbers, it returns
/// what runs in its place: for observers.
using AlgorithmWrapper =
    std::function<std::unique_ptr<CongestionControl>(std::unique_ptr<CongestionControl> algorithm,
                                                     const CongestionSpec& spec,
                                                     int64_t stream)>;

/// Where servers of applications listen in a capture, as iperf3.
constexpr uint16_t APP_PORT = 5201;

/// Numbers of carriers are apart by so much from hop to hop.
constexpr uint32_t MAX_CARRIERS = 1 << 16;

/// The tunnel into which a flow's hosts send themselves, by end; none: they send to a gateway, or
/// there is no tunnel.
PerEnd<std::optional<uint32_t>> InsideOf(const FlowSpec& flow);

/// What is needed to make a leg.
struct LegParts
{
    LegRole role;
    std::optional<uint32_t> hop; //!< as Leg::hop
    uint32_t number;             //!< of the draws of its congestion control, for its role
    const TcpSpec& tcp;
    const CongestionSpec& cc;
    PerEnd<Channel> channels; //!< that its ends send into
    PerEnd<Host&> hosts;
    std::optional<uint32_t> tunnel; //!< whose carrier it is
    /// Number of the tunnel that carries its packets, where it ends on the host of an end.
    PerEnd<std::optional<uint32_t>> inside;
    bool isOnLoopback{false};
    uint32_t path{0};                              //!< as Leg::path
    const PerEnd<UdpSocketSpec>* sockets{nullptr}; //!< null: programs compute for nothing
};

/// A TCP connection, and what is captured of it.
struct TcpLeg
{
    Leg& leg;
    PerEnd<TcpFormat*> formats{}; //!< null: nothing

    /// What its streams hold; null: nothing is captured.
    PerEnd<StreamContents*> Contents() const
    {
        return MakePerEnd(End::CLIENT, [&](End end) {
            return formats[end] ? &formats[end]->Contents() : nullptr;
        });
    }
};

/// Makes the connections of a world.
class LegBuilder
{
  public:
    /// All but `wrap` outlive it. \param wrap as of World
    LegBuilder(EventLoop& loop,
               const ExperimentSpec& spec,
               Network& network,
               Capture* capture,
               AlgorithmWrapper wrap);

    TcpLeg AddTcp(const LegParts& given);
    Leg& AddQuic(const LegParts& given, const QuicSpec& quic);
    Leg& AddKcp(const LegParts& given, const KcpSpec& kcp);
    /// \param sessions that legs share; the first makes them
    Leg& AddRudp(const LegParts& given, const RudpSpec& rudp, LegEnds<RudpSession>& sessions);
    /// \param header IP bytes around a datagram's payload
    Leg& AddUdp(uint32_t header);

    /// Add the connection between a flow's applications themselves. \param index the flow's
    Sockets AddApp(uint32_t index,
                   Flow& flow,
                   std::optional<uint32_t> hop,
                   const PerEnd<Channel>& channels);

    /// Add such a connection that is of MPTCP. \param channels of each path
    Sockets AddMptcpApp(uint32_t index, Flow& flow, const std::vector<PerEnd<Channel>>& channels);

    /// Add a connection of MPTCP, whose subflows are legs.
    /// \param first its first subflow  \param multipath outlives it
    /// \param channels of each path
    MultipathConnection& AddMptcp(const LegParts& first,
                                  const MultipathSpec& multipath,
                                  const std::vector<PerEnd<Channel>>& channels);

    /// Add a connection of QUIC over several paths. Parameters as of AddMptcp().
    MultipathConnection& AddQuicPaths(const LegParts& first,
                                      const QuicSpec& quic,
                                      const MultipathSpec& multipath,
                                      const std::vector<PerEnd<Channel>>& channels);

    /// What is told of the streams of a tunnel's carrier. \param streams null: nothing
    /// \param handshake,layers as of CarrierContents
    PerEnd<CarrierContents*> ContentsOf(const PerEnd<StreamContents*>& streams,
                                        uint32_t tunnel,
                                        const std::vector<HandshakeTurn>& handshake,
                                        const PerEnd<const std::vector<LayerSpec>*>& layers);

    /// Every connection there is, in the order in which flows first use them.
    const std::deque<Leg>& Legs() const
    {
        return m_legs;
    }

  private:
    /// What is captured of what ends send over UDP. \param header IP bytes around a shard, if there
    /// is FEC
    LegParts WithUdpTaps(const LegParts& parts, uint32_t header = 0);
    /// What is captured of what ends send over QUIC; null: nothing. \param parts send through it
    PerEnd<QuicFormat*> AddQuicTaps(LegParts& parts, const QuicSpec& quic);
    WireEnds WireEndsOf(const LegParts& parts) const;
    /// Put sockets before programs to which reading costs time. \param header as of WithUdpTaps()
    PerEnd<UdpSocket*> AddSockets(LegParts& parts, uint32_t header = 0);
    std::unique_ptr<CongestionControl> MakeAlgorithm(const LegParts& parts, End end);
    std::unique_ptr<CongestionControl> MakeAlgorithm(const LegParts& parts,
                                                     End end,
                                                     const QuicSpec& quic);
    MakerForEnd<RandomStream> DrawsOf(RandomComponent component, uint32_t number) const;

    EventLoop& m_loop;
    const ExperimentSpec& m_spec;
    Network& m_network;
    Capture* const m_capture;
    const AlgorithmWrapper m_wrap;
    ModuleLoader m_modules; //!< of algorithms that are files; outlives them
    std::deque<Leg> m_legs;
    std::deque<MultipathConnection> m_multipath;
    std::deque<UdpSocket> m_sockets;
    std::deque<ToUdpSocket> m_toSockets;
};

} // namespace tunnelcc

#endif // TUNNELCC_LEG_BUILDER_H
