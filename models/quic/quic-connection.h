/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_CONNECTION_H
#define TUNNELCC_QUIC_CONNECTION_H

#include "ack-tracker.h"
#include "event/fifo.h"
#include "event/random-stream.h"
#include "event/timer.h"
#include "flow-window.h"
#include "quic-datagrams.h"
#include "quic-handshake.h"
#include "quic-sender.h"
#include "quic-stream.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

/**
 * One end of a QUIC connection: streams that share packets, a handshake, flow control. Each stream
 * is delivered in order by itself, so a lost packet delays only the streams whose data it carried.
 *
 * Lost data is sent before new data. Streams with new data take turns, packet by packet. Where a
 * packet has one frame of a stream, streams with lost data take turns with them (quic-go v0.60.0,
 * framer.go).
 *
 * The threads of an end may sleep. It then reads a packet a little after it arrived, together with
 * those that arrived in the meantime.
 */
class QuicConnection final : public PacketSink, private QuicContents
{
  public:
    /**
     * \param spec settings of the connection
     * \param end which end this is
     * \param channel carries the packets
     * \param algorithm congestion control
     * \param draws random stream for how late a thread wakes up
     */
    QuicConnection(EventLoop& loop,
                   const QuicSpec& spec,
                   End end,
                   const Channel& channel,
                   std::unique_ptr<CongestionControl> algorithm,
                   const RandomStream& draws);

    QuicConnection(const QuicConnection&) = delete;
    QuicConnection& operator=(const QuicConnection&) = delete;

    /// Make two objects the two ends of a connection. Call before Connect().
    static void Join(QuicConnection& a, QuicConnection& b);

    /// Add this end of the next stream; the peer adds the other end.
    QuicStream& AddStream();

    /// Send and receive datagrams, too. Call before Connect(). \param datagrams outlives it
    void SetDatagrams(QuicDatagrams& datagrams)
    {
        m_datagrams = &datagrams;
    }

    /// QuicDatagrams has more to send.
    void SendDatagrams(int64_t now)
    {
        Send(now);
    }

    /// Begin the handshake, if it has not begun.
    void Connect(int64_t now);

    /// Whether streams may send.
    bool IsOpen() const
    {
        return m_establishedTime >= 0;
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    // Called by streams

    /// Bytes that a write may take now. \param unsent bytes of the stream that wait to be sent
    uint64_t RoomFor(uint64_t unsent) const;
    bool IsApart(uint64_t unsent, uint64_t bytes) const;

    /// A stream has `bytes` more to send; or, with 0 bytes, its end.
    void OnWritten(int64_t now, QuicStream& stream, uint64_t bytes);

    /// A write was not taken as a whole: the stream waits for room in the send buffer, if that has
    /// a limit.
    void OnBlocked(QuicStream& stream);

    /// A stream's user has read.
    void OnRead(int64_t now, QuicStream& stream, uint64_t bytes);

    void NoteIdle(int64_t now, SendLimit why)
    {
        m_sender.NoteIdle(now, why);
    }

    // For probes and tests

    const QuicSender& GetSender() const
    {
        return m_sender;
    }

    /// Flow control of all streams together, at the receiver.
    const FlowWindow& GetReceiver() const
    {
        return m_window;
    }

    const SendLimits& Limits() const
    {
        return m_sender.Limits();
    }

    /// When streams could first send here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When the peer had acknowledged all of all streams, and their ends, ns; −1: not yet.
    int64_t FinishedTime() const
    {
        return m_finishedTime;
    }

  private:
    bool IsOver() const
    {
        return m_finishedTime >= 0;
    }

    void Start();
    void OnWake(int64_t now);
    bool Read(int64_t now, uint32_t segment);
    void OnFrame(int64_t now, const QuicFrame& frame);
    void OnStreamFrame(const QuicFrame& frame);
    void OpenIfDone(int64_t now);
    void TellUsers(int64_t now);
    void Send(int64_t now);
    void Activate(QuicStream& stream);
    bool WantsTurn(const QuicStream& stream) const;
    void TellLimit(QuicStream& stream);
    uint64_t Credit() const;

    // QuicContents
    uint32_t AddFrames(int64_t now, uint32_t room, bool hasAck) override;
    bool TakesAckAlong() const override;
    uint32_t AddLimits(int64_t now, uint32_t room);
    void OnPacketSent(int64_t now) override;
    void OnFrameAcked(const QuicFrame& frame) override;
    void OnFrameLost(const QuicFrame& frame) override;
    SendLimit LimitOfData() const override;

    const QuicSpec m_spec;
    const End m_end;
    QuicConnection* m_peer{nullptr};
    AckTracker m_acks;
    QuicHandshake m_handshake;
    QuicSender m_sender;
    FlowWindow m_window; //!< flow control of what is received
    RandomStream m_draws;
    Fifo<uint32_t> m_arrived; //!< segments of packets that no thread has read yet
    Timer<QuicConnection, &QuicConnection::OnWake> m_wakeTimer;
    std::deque<QuicStream> m_streams;
    QuicDatagrams* m_datagrams{nullptr}; //!< null: there are none
    bool m_hasStarted{false};
    bool m_isReceiving{false}; //!< nothing is sent before that is over
    int64_t m_establishedTime{-1};
    int64_t m_finishedTime{-1};
    size_t m_endsAcked{0}; //!< streams of which the peer has acknowledged the end

    uint64_t m_limit;                    //!< bytes of all streams that the peer lets this end send
    uint64_t m_sent{0};                  //!< bytes of it that are used up
    uint64_t m_unsent{0};                //!< bytes written, but in no packet yet
    uint64_t m_unacked{0};               //!< bytes written and not acknowledged
    bool m_tellsLimit{false};            //!< the peer gets a new limit of the connection
    Fifo<QuicStream*> m_active;          //!< streams that have data, in turn
    Fifo<QuicStream*> m_lossy;           //!< streams whose data were lost, if they go first
    Fifo<QuicStream*> m_telling;         //!< streams whose peers get a new limit
    Fifo<QuicStream*> m_blocked;         //!< streams whose writers wait for the send buffer
    std::vector<QuicStream*> m_touched;  //!< streams whose users are to be told
    std::vector<QuicStream*> m_wakeable; //!< streams with new data in the latest packet
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_CONNECTION_H
