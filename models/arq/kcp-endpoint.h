/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_ENDPOINT_H
#define TUNNELCC_KCP_ENDPOINT_H

#include "event/timer.h"
#include "fec/fec-decoder.h"
#include "fec/fec-encoder.h"
#include "kcp-datagram.h"
#include "kcp-receiver.h"
#include "kcp-sender.h"
#include "path/path.h"
#include "transport/byte-stream.h"
#include "transport/send-limits.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// The phases of an end's clocks when the simulation begins, ns.
struct KcpPhase
{
    int64_t clock{0}; //!< time since its millisecond clock last advanced
    int64_t flush{0}; //!< time from the start of the session to the first flush by the clock
};

/// Datagrams that one end of a KCP session has sent.
struct KcpWireCounters
{
    uint64_t bytes{0};       //!< IP bytes, parity included
    uint64_t parityBytes{0}; //!< IP bytes of parity
    uint64_t parity{0};      //!< datagrams of parity
};

/**
 * One end of a KCP session (kcp-go): a byte stream over datagrams. A write is taken as a whole, or
 * not at all. There is no handshake: the client may send at once, and the server begins with the
 * first datagram. Nothing tells the peer that a session ends.
 *
 * With FEC every datagram is a shard. A datagram that FEC has rebuilt gives neither the peer's
 * window nor a sample of the round-trip time.
 */
class KcpEndpoint final : public ByteStream, public PacketSink, private ShardSender
{
  public:
    /**
     * \param spec settings of the session
     * \param end which end this is
     * \param channel carries the datagrams
     * \param phase phases of the end's clocks
     */
    KcpEndpoint(EventLoop& loop,
                const KcpSpec& spec,
                End end,
                const Channel& channel,
                const KcpPhase& phase);

    /// Make two endpoints the two ends of a session. Call before Connect().
    static void Join(KcpEndpoint& a, KcpEndpoint& b);

    void Connect(int64_t now) override;
    uint64_t Write(int64_t now, uint64_t bytes) override;

    uint64_t Readable() const override
    {
        return m_receiver.Readable();
    }

    void NoteIdle(int64_t now, SendLimit why) override;
    void Read(int64_t now, uint64_t bytes) override;

    bool IsAtEof() const override
    {
        return false;
    }

    void Close(int64_t /* now */) override
    {
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    const KcpSender& GetSender() const
    {
        return m_sender;
    }

    const KcpReceiver& GetReceiver() const
    {
        return m_receiver;
    }

    /// Why this end waited, and for how long.
    const SendLimits& Limits() const
    {
        return m_limits;
    }

    /// Datagrams sent from here that may still arrive.
    const KcpLog& Log() const
    {
        return m_log;
    }

    const KcpWireCounters& Wire() const
    {
        return m_wire;
    }

    /// When the session began here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// Counters of FEC for the datagrams received here, until `now`, ns.
    FecCounters ReceivedFec(int64_t now) const
    {
        return m_decoder ? m_decoder->Counters(now) : FecCounters{};
    }

  private:
    uint32_t Clock(int64_t now) const;
    void Start(int64_t now);
    void OnTick(int64_t now);
    void Input(int64_t now, const Packet& packet, bool isRegular);
    void TellUser(int64_t now);
    void WakeWriter(int64_t now);
    void Flush(int64_t now);
    void NoteLimit(int64_t now);
    void FlushAcks(int64_t now);
    void BeginFlush();
    void ListAcks(int64_t now);
    void ListProbes(int64_t now);
    void List(int64_t now, const KcpSegment& segment);
    void SendDatagram(int64_t now);
    void SendShard(int64_t now, Packet& shard, uint32_t bytes) override;

    const KcpSpec m_spec;
    const KcpBehaviour m_behaviour;
    const KcpPhase m_phase;
    Channel m_channel;
    KcpEndpoint* m_peer{nullptr};
    KcpSender m_sender;
    KcpReceiver m_receiver;
    KcpLog m_log; //!< datagrams sent from here
    int64_t m_establishedTime{-1};
    Timer<KcpEndpoint, &KcpEndpoint::OnTick> m_tick;
    bool m_isBlocked{false}; //!< a write was not taken

    // The datagram that is being filled
    KcpDatagram* m_datagram{nullptr};
    uint32_t m_bytes{0}; //!< bytes of its segments; 0: it has none
    uint32_t m_una{0};
    uint32_t m_window{0};

    // Windows that are closed
    uint32_t m_probeWait{0}; //!< from the latest probe to the next one, ms; 0: none is due
    uint32_t m_probeTime{0};
    bool m_tellsWindow{false}; //!< the next flush tells the peer the window

    FecLog m_fecLog; //!< shards sent from here
    std::optional<FecEncoder> m_encoder;
    std::optional<FecDecoder> m_decoder;
    bool m_isDecoding{false};
    bool m_isRegular{false}; //!< the decoder's next datagram arrived, and was not rebuilt
    KcpWireCounters m_wire;
    SendLimits m_limits;
    SendLimit m_idle{SendLimit::APPLICATION}; //!< the limit while nothing is written
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_ENDPOINT_H
