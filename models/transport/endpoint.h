/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ENDPOINT_H
#define TUNNELCC_ENDPOINT_H

#include "byte-stream.h"
#include "path/path.h"
#include "receive-rtt.h"
#include "receiver.h"
#include "sender.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/// Bytes and packets that one endpoint put on the wire.
struct WireCounters
{
    uint64_t dataBytes{0}; //!< IP bytes of data segments, retransmissions included
    uint64_t ackBytes{0};  //!< IP bytes of everything else
    uint64_t acks{0};      //!< pure ACKs
};

/**
 * One end of a TCP connection: handshake (RFC 9293), a sender and a receiver, delayed ACKs.
 *
 * ACKs go in the headers of data packets where there are any to send. ACKs are delayed until every
 * second segment, or by the time in which segments used to come, with Linux's quick ACKs for the
 * first segments and after marks. With a congestion control that NeedsEcn(), each ACK tells
 * whether the latest segment was marked (RFC 8257, section 3.2); else marks are echoed until the
 * sender has reacted (RFC 3168).
 */
class TcpEndpoint final : public ByteStream, public PacketSink, private SegmentOutput
{
  public:
    /**
     * \param spec settings; both ends may differ
     * \param channel where packets go
     * \param congestion algorithm of the data sent from here
     */
    TcpEndpoint(const TcpSpec& spec,
                const Channel& channel,
                std::unique_ptr<CongestionControl> congestion);

    /// Tie two ends together. Call before Connect().
    static void Join(TcpEndpoint& a, TcpEndpoint& b);

    /// Who receives what leaves here: the other end, or what stands in between.
    void SetPeer(PacketSink& peer)
    {
        m_peer = &peer;
    }

    /// Share the host's memory with its other sockets. \param memory outlives the endpoint
    void SetMemory(TcpMemory& memory);

    /// Open actively: send SYN.
    void Connect(int64_t now) override;

    uint64_t Write(int64_t now, uint64_t bytes) override;

    uint64_t Readable() const override
    {
        return m_receiver.Readable();
    }

    /// Read `bytes`, at most Readable(). Tells the peer if that reopens a closed window.
    void Read(int64_t now, uint64_t bytes) override;

    bool IsAtEof() const override
    {
        return m_receiver.IsFinished() && m_receiver.Readable() == 0;
    }

    void Close(int64_t now) override
    {
        m_sender.Close(now);
    }

    const Sender& GetSender() const
    {
        return m_sender;
    }

    const Receiver& GetReceiver() const
    {
        return m_receiver;
    }

    const WireCounters& Wire() const
    {
        return m_wire;
    }

    /// When the connection was established here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When Connect() was given up for want of an answer, ns; −1: it was not.
    int64_t ConnectFailedTime() const
    {
        return m_connectFailedTime;
    }

    /// When the peer acknowledged our FIN, ns; −1: not yet.
    int64_t FinishedTime() const
    {
        return m_finishedTime;
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

  private:
    enum class State
    {
        CLOSED,
        SYN_SENT,
        SYN_RECEIVED,
        ESTABLISHED
    };

    void SendSegment(int64_t now, uint64_t number, const Segment& segment) override;
    void SendWindowProbe(int64_t now) override;
    void ChargeMemory();
    void SendSyn(int64_t now);
    uint32_t LinearTimeouts() const;
    void SendAck(int64_t now);
    Packet MakePacket(PacketKind kind) const;
    Acknowledgement MakeAck(int64_t now);
    int64_t HandshakeRtt(int64_t now, const Packet& packet) const;
    void Establish(int64_t now, const Packet& packet);
    void OnSyn(int64_t now, const Packet& packet);
    void OnSynAck(int64_t now, const Packet& packet);
    void OnData(int64_t now, const Packet& packet);
    void OnInOrder(int64_t now);
    /// Take in the marks of a data packet. \returns whether it is to be acknowledged at once
    bool OnMarking(int64_t now, const Packet& packet);
    /// Acknowledge the next `acks` segments at once.
    void AckQuickly(uint32_t acks);
    void DelayAck(int64_t now);
    int64_t AckDelay() const;
    void NoteAnswer(int64_t now);

    /// Whether data that arrives is likely to be answered: ACKs wait for that.
    bool IsInPingPong() const
    {
        return m_answers >= m_spec.pingPongAnswers;
    }

    bool IsAckDueAfterRead() const;
    /// Let a duplicate ACK wait for others. \returns false: it is to be sent at once
    bool CompressesAck(int64_t now);
    void OnAck(int64_t now, const Acknowledgement& ack);
    void OnSynTimer(int64_t now);
    void OnDelayedAck(int64_t now);

    const TcpSpec m_spec;
    Channel m_channel;
    PacketSink* m_peer{nullptr};
    Sender m_sender;
    Receiver m_receiver;
    WireCounters m_wire;
    TcpMemory* m_memory{nullptr}; //!< of the host; null: without limit
    uint64_t m_charged{0};        //!< our share of it, bytes

    State m_state{State::CLOSED};
    int64_t m_synTime{0};
    uint32_t m_synRetries{0}; //!< by time-out
    uint32_t m_synsSent{0};   //!< SYNs or SYN-ACKs, answers to repeated SYNs included
    uint32_t m_peerWindow{0};
    int64_t m_establishedTime{-1};
    int64_t m_connectFailedTime{-1};
    int64_t m_finishedTime{-1};

    ReceiveRtt m_receiveRtt;
    uint32_t m_peerClock{0};        //!< of the other end in its latest ACK, ms
    uint32_t m_unacked{0};          //!< data segments received since the last ACK
    uint32_t m_quickAcks{0};        //!< left to send at once
    int64_t m_lastInOrder{-NEVER};  //!< when data arrived in order, ns; before the first long ago
    uint32_t m_echo{0};             //!< timestamp to echo
    int64_t m_lastWrite{-NEVER};    //!< when data left, ns; before the first long ago
    int64_t m_ackTime{0};           //!< in which the next segment is expected, ns; 0: none came yet
    uint32_t m_answers{0};          //!< writes in answer to data (Linux's pingpong)
    bool m_isMirroringMarks{false}; //!< ACKs tell of the latest segment alone
    bool m_hasSeenEct{false};       //!< data arrived that may be marked
    bool m_echoesMark{false};       //!< a mark arrived that the peer has not answered yet
    uint32_t m_pushes{0};           //!< since the last ACK, segments behind which the sender may be
                                    //!< waiting
    uint64_t m_duplicatesOf{0};     //!< segment expected that the latest duplicate ACKs ask for
    uint32_t m_duplicateAcks{0};    //!< sent at once for it
    uint32_t m_compressed{0};       //!< ACKs that wait for m_compressionTimer
    bool m_isReceiving{false};      //!< the user is being told of new data; an ACK may follow
    int64_t m_ackTimerSet{0};       //!< ns
    int64_t m_ackDue{0};            //!< for when m_ackTimer was set, ns
    Timer<TcpEndpoint, &TcpEndpoint::OnDelayedAck> m_ackTimer;
    Timer<TcpEndpoint, &TcpEndpoint::SendAck> m_compressionTimer;
    Timer<TcpEndpoint, &TcpEndpoint::OnSynTimer> m_synTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_ENDPOINT_H
