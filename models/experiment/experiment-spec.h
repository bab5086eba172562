/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_SPEC_H
#define TUNNELCC_EXPERIMENT_SPEC_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/**
 * \file
 * One experiment as plain numbers: times in nanoseconds, rates in bit/s, sizes in bytes,
 * probabilities in [0, 1]. The Python package validates what users write and fills this in;
 * nothing here has units to parse or defaults to guess.
 */
namespace tunnelcc
{

/// A step of a link's rate.
struct RateChange
{
    int64_t time{0};
    double rate{0}; //!< bit/s from then on
};

/// Queue discipline of a link. Each reads what it needs; see the discipline's own file.
struct QueueSpec
{
    std::string discipline; //!< "codel", "fq-codel", "pie", "red"; empty: drop-tail
    bool ecn{true};         //!< marks ECN-capable packets where it would drop others
    int64_t target{0};      //!< codel, fq-codel, pie: waiting time to aim at
    int64_t interval{0}; //!< codel, fq-codel: for how long it may be exceeded; pie: update period
    uint32_t quantum{0}; //!< fq-codel: bytes a queue sends in its turn
    uint32_t queues{0};  //!< fq-codel: how many there are
    double alpha{0};     //!< pie: weight of the distance from the target, 1/s
    double beta{0};      //!< pie: weight of the change, 1/s
    int64_t burst{0};    //!< pie: how long a burst may last without drops
    uint64_t minThreshold{0};  //!< red: average bytes waiting from which it drops
    uint64_t maxThreshold{0};  //!< red: average bytes waiting where maxProbability is reached
    double maxProbability{0};  //!< red
    double weight{0};          //!< red: of one packet in the average
    bool gentle{true};         //!< red: drops rise to certainty between one and two maxThreshold
    int64_t meanPacketTime{0}; //!< red: transmission time of a typical packet, for idle times
};

/// Bursty loss as a chain of two states. No bursts while p is 0.
struct GilbertElliottSpec
{
    double p{0}; //!< probability that a packet in the good state is the last there
    double r{1}; //!< probability that a packet in the bad state is the last there
    double h{0}; //!< probability that a packet in the bad state arrives
    double k{1}; //!< probability that a packet in the good state arrives
};

/// Token-bucket policer.
struct PolicerSpec
{
    double rate{0};    //!< bit/s; 0: no policer
    uint64_t burst{0}; //!< bytes that the bucket holds
    bool before{true}; //!< in front of the queue; otherwise behind the link
};

/// Delay that varies from packet to packet, on top of the constant one.
struct JitterSpec
{
    int64_t mean{0};          //!< 0: none
    std::string distribution; //!< "uniform", "exponential", "half-normal"
    bool reorders{false};     //!< packets may overtake each other
};

/// One direction of a path: a queue in front of a link, and what happens to packets around it.
struct LinkSpec
{
    double rate{0};                      //!< bit/s; 0 without changes: unlimited, no queue
    std::vector<RateChange> rateChanges; //!< in order of time; none if unlimited
    int64_t ratePeriod{0};     //!< after which the changes repeat: the time of the last one, which
                               //!< brings the first rate back; 0: they do not
    double reorder{0};         //!< probability that a packet is late, independent of others
    int64_t reorderDelay{0};   //!< by how much
    uint64_t bufferBytes{0};   //!< most bytes waiting; 0: not limited in bytes
    uint64_t bufferPackets{0}; //!< most packets waiting; 0: not limited in packets
    uint64_t ecnThreshold{
        0};         //!< waiting bytes above which ECN-capable packets are marked; 0: never
    double loss{0}; //!< probability that a packet is lost, independent of others
    bool lossPeriodic{false};          //!< one packet in every 1/loss is lost instead
    GilbertElliottSpec gilbertElliott; //!< in place of independent loss
    bool lossBefore{false};            //!< loss acts before the queue instead of after the link
    uint32_t framing{0};               //!< bytes added to each IP packet on this link
    QueueSpec queue;
    PolicerSpec policer;
    JitterSpec jitter;
};

struct PathSpec
{
    LinkSpec forward; //!< the direction in which flows send
    LinkSpec reverse; //!< the direction of their ACKs
    int64_t rtt{0};   //!< base RTT, half in each direction
};

/// TCP settings of one kind of connection (over the path, or on a host's loopback).
struct TcpSpec
{
    uint32_t mss{1448};        //!< payload bytes of a full segment
    uint32_t headerBytes{52};  //!< IPv4 + TCP headers of a segment and of a pure ACK
    uint32_t synBytes{60};     //!< SYN and SYN-ACK, IP bytes
    uint64_t receiveWindow{0}; //!< largest window advertised, bytes
    uint64_t initialReceiveWindow{
        0};                         //!< first window, then adjusted to what is read; 0: the largest
    uint64_t initialReceiveRoom{0}; //!< to which that one grows at once, as segments arrive
    bool isReceiveRoomCushioned{false}; //!< it grows by the law of Linux before 6.16
    uint32_t windowScale{0};            //!< windows are told in units of two to this power, bytes
    uint64_t sendBuffer{0};             //!< payload bytes that the send buffer holds
    double sendBufferPerSegment{0};     //!< the buffer grows with cwnd: bytes a segment, times the
                                        //!< factor of the algorithm; 0: full size at once
    uint32_t initialWindow{10};         //!< segments
    uint32_t synLinearTimeouts{0};      //!< time-outs of a SYN before they double
    int64_t minRto{200'000'000};
    int64_t delayedAck{40'000'000}; //!< least time that an ACK waits for a second segment
    int64_t jiffy{0};               //!< by which the kernel's timers count; 0: they are exact
    uint32_t ackEvery{2};           //!< segments per ACK
    uint32_t pingPongAnswers{1}; //!< writes in answer to data that make ACKs wait for further ones
    bool acksPushed{true}; //!< once all is read, a full segment with PSH is acknowledged at once
    int64_t pacingQuantum{1'000'000}; //!< time's worth of data per paced burst; 0: packet by packet
    int64_t deferralLimit{1'000'000}; //!< new data waits to fill a burst while the next ACK is
                                      //!< expected within this, and within half of SRTT
    bool isPrrRepairBound{false};     //!< PRR slow-starts as in Linux before 5.11
    bool nodelay{false};              //!< no Nagle
    bool listenerDelays{false};       //!< Nagle at the end that listens, in spite of nodelay
    bool ecn{false};                  //!< data may be marked instead of dropped (RFC 3168)

    /// Whether segments carry timestamps (RFC 7323), which shows in their headers.
    bool HasTimestamps() const
    {
        constexpr uint32_t PLAIN_HEADER_BYTES = 40; // IPv4 and TCP without options
        return headerBytes > PLAIN_HEADER_BYTES;
    }
};

/// A host's CPU: `cores` servers with one run queue.
struct HostSpec
{
    uint32_t cores{2};
    double speed{1};       //!< relative to the host on which costs were measured
    int64_t switchCost{0}; //!< CPU time of a core's change to another thread
    uint64_t tcpMemory{0}; //!< most bytes that all sockets hold together (tcp_mem[2]); 0: unlimited
    uint64_t tcpReserve{0}; //!< bytes that a socket keeps of what it released, still counted
    double appPerByte{0};   //!< CPU ns per byte of the application (one thread for all flows)
};

struct CongestionSpec
{
    std::string name;
    std::vector<std::pair<std::string, double>> parameters;
};

struct FlowSpec
{
    CongestionSpec cc;
    CongestionSpec carrierCc;   //!< of the tunnel's connection for this flow
    uint32_t carrier{0};        //!< number of that connection, from 0 without gaps
    int64_t start{0};           //!< connect
    int64_t dataStart{0};       //!< first byte of bulk data; not before `start`
    uint32_t preamble{0};       //!< bytes written on connecting (iperf3's cookie)
    int64_t stop{0};            //!< the application closes; 0: never
    uint64_t bytes{0};          //!< bulk bytes to send; 0: until the end
    double rate{0};             //!< bit/s that the application writes at most; 0: as fast as it can
    uint32_t writeSize{131072}; //!< bytes per application write
    int64_t rtt{0};             //!< base RTT of this flow
};

/// UDP cross traffic in the direction of the data.
struct DatagramSpec
{
    double rate{0};             //!< bit/s of IP bytes while sending
    uint32_t packetBytes{1500}; //!< IP bytes of a datagram
    int64_t start{0};
    int64_t stop{0};    //!< 0: never
    int64_t onTime{0};  //!< length of a period of sending; 0: sends all the time
    int64_t offTime{0}; //!< length of the silence after it
};

/// One turn of a tunnel's handshake on its carrier: sizes of the writes, in TCP payload bytes.
struct HandshakeTurn
{
    std::vector<uint32_t> client;
    std::vector<uint32_t> server;
};

/// One encapsulation of a relay's byte stream, outermost last.
struct LayerSpec
{
    std::string kind;          //!< "websocket", "tls", "ssh"
    uint32_t maxPayload{0};    //!< largest frame or record payload; 0: one per write
    uint32_t block{0};         //!< ssh: padded to a multiple of this
    bool masked{false};        //!< websocket: client's 4-byte mask
    uint32_t firstWrite{0};    //!< websocket: this much of a message leaves in a write of its own
    uint32_t overhead{0};      //!< tls: bytes added per record; ssh: tag per packet
    uint32_t rampBytes{0};     //!< tls: the k-th record carries at most rampBytes·k …
    uint32_t rampUntil{0};     //!< … until this many bytes were sent; 0: no ramp
    uint32_t recordsBefore{0}; //!< tls: records already sent by the handshake
};

/// CPU time that one relay spends on a message.
struct RelayWorkSpec
{
    double perByte{0};    //!< ns per carrier payload byte
    double perMessage{0}; //!< ns for the first read and the first write
    double perWrite{0};   //!< ns for each further one on the carrier

    /// CPU time (ns) of a message of `wire` carrier bytes that crosses in so many writes.
    double Of(uint32_t wire, uint32_t writes) const
    {
        return perByte * wire + perMessage + perWrite * (writes - 1);
    }
};

/// CPU cost at both relays of moving data one way, per direction of the carrier.
struct RelayCostSpec
{
    RelayWorkSpec send;    //!< at the relay that sends on the carrier
    RelayWorkSpec receive; //!< at the one that receives
};

/// One direction of a carrier that streams share.
struct MuxDirectionSpec
{
    uint32_t maxFrame{32768};      //!< most application bytes of a frame
    uint64_t sessionBuffer{0};     //!< unread bytes of all streams at which the receiver stops
                                   //!< reading; 0: it does not
    uint64_t streamWindow{0};      //!< bytes that a stream may send without credit; 0: no limit
    uint64_t firstStreamWindow{0}; //!< the same, before the first credit
    uint64_t sessionWindow{0};     //!< bytes that all streams may; 0: no limit
    uint64_t creditStep{0};        //!< bytes that a stream's reader takes, or those of all streams,
                                   //!< before that window is credited
};

/// How streams share a carrier. Sizes in bytes, without layers.
struct MuxSpec
{
    uint32_t headerBytes{0}; //!< of a frame of data
    uint32_t openBytes{0};   //!< frame that begins a stream
    uint32_t acceptBytes{0}; //!< answer to it, which its sender waits for; 0: none
    uint32_t creditBytes{0}; //!< frame that lets the peer send more, on a stream or on all
    uint32_t closeBytes{0};  //!< frame that ends a stream
    MuxDirectionSpec toServer;
    MuxDirectionSpec toClient;
};

/// What lies beyond a relay in a chain: the path to the next one, and the carrier across it.
struct HopSpec
{
    PathSpec path;
    CongestionSpec cc; //!< of its carriers; no name: that of the flow's first carrier
    HostSpec relay;    //!< the host at its beginning
};

/// A tunnel that terminates TCP: relays, and carriers between them.
struct RelaySpec
{
    uint32_t copyBuffer{32768};           //!< bytes read at once and forwarded as one message
    std::vector<HandshakeTurn> handshake; //!< after the carrier's TCP handshake
    bool confirms{false};                 //!< servers end it when what lies behind them is open
    uint32_t requestBytes{0};             //!< prefix of the first message to the server
    uint32_t responseBytes{0};            //!< prefix of the first message to the client
    std::vector<LayerSpec> toServer;      //!< innermost first
    std::vector<LayerSpec> toClient;
    RelayCostSpec costToServer;
    RelayCostSpec costToClient;
    TcpSpec appTcp;    //!< application ↔ relay, on the client's loopback
    TcpSpec targetTcp; //!< relay ↔ target, on the server's loopback
    int64_t loopbackRtt{0};
    bool hasMux{false}; //!< flows with the same FlowSpec::carrier share one
    MuxSpec mux;
    bool dialsEarly{false};    //!< shared carriers are dialled at time 0, not by the first flow
    std::vector<HopSpec> hops; //!< beyond the first
};

/// CPU time of handling one packet.
struct PacketCostSpec
{
    double perPacket{0}; //!< ns
    double perByte{0};   //!< ns per inner IP byte
};

/// The device, socket and program at each end of a tunnel that carries packets.
struct TunnelEndSpec
{
    uint32_t deviceQueue{0}; //!< most packets that wait in front of the program; 0: no limit
    uint32_t socketQueue{0}; //!< most packets that wait at the UDP socket; 0: no limit
    PacketCostSpec encapsulate;
    PacketCostSpec decapsulate;
    bool sharesThread{false}; //!< one thread for both directions, else one for each
};

/// A tunnel in which each packet becomes a datagram, which is fragmented where it does not fit.
struct DatagramTunnelSpec
{
    TunnelEndSpec end;
    /// IP bytes of the packets in which an inner packet leaves: by its own IP bytes, up to the MTU.
    std::vector<std::vector<uint32_t>> outer;
    bool copiesEcn{false}; //!< marks pass between inner and outer headers (RFC 6040)
};

/// A tunnel that writes packets into one TCP connection, the carrier of all flows.
struct StreamTunnelSpec
{
    TunnelEndSpec end; //!< there is no UDP socket
    /// Bytes of the writes that a packet becomes, before `toServer` or `toClient`: by its IP bytes.
    std::vector<std::vector<uint32_t>> writes;
    std::vector<HandshakeTurn> handshake; //!< after the carrier's TCP handshake
    std::vector<LayerSpec> toServer;      //!< innermost first
    std::vector<LayerSpec> toClient;
    TcpSpec carrierTcp;
    CongestionSpec carrierCc;
};

struct ExperimentSpec
{
    PathSpec path;
    TcpSpec tcp; //!< connections across the path, or of the applications in a tunnel of packets
    HostSpec client;
    HostSpec server;
    bool oneMachine{false}; //!< both hosts run on the client's cores
    std::vector<FlowSpec> flows;
    std::vector<DatagramSpec> crossTraffic;
    bool download{false}; //!< data flows from server to client
    bool hasRelay{false};
    RelaySpec relay;
    bool hasDatagramTunnel{false};
    DatagramTunnelSpec datagramTunnel;
    bool hasStreamTunnel{false};
    StreamTunnelSpec streamTunnel;
    int64_t duration{0}; //!< warm-up included
    int64_t warmup{0};
    int64_t probeInterval{100'000'000};
    uint64_t seed{1};
};

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_SPEC_H
