/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_ENDPOINT_H
#define TUNNELCC_RUDP_ENDPOINT_H

#include "path/path.h"
#include "rudp-log.h"
#include "rudp-receiver.h"
#include "rudp-sender.h"
#include "rudp-session.h"
#include "transport/byte-stream.h"
#include "transport/send-limits.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * One end of a connection of RUDP (FinalSpeed): a byte stream over datagrams. A write is cut into
 * packets, whose sizes stay, and is over when the last of them was sent; until then no other is
 * taken. There is no handshake, and no congestion control: the window and the rate are the limits.
 *
 * The end of the stream is told twice, not acknowledged, and seen only by a reader that has read
 * all by then.
 */
class RudpEndpoint final : public ByteStream, public PacketSink, private RudpThread
{
  public:
    /**
     * \param spec of the connection
     * \param session of this end
     * \param channel where datagrams go
     */
    RudpEndpoint(const RudpSpec& spec, RudpSession& session, const Channel& channel);

    /// Tie two ends together. Call before Connect().
    static void Join(RudpEndpoint& a, RudpEndpoint& b);

    void Connect(int64_t now) override;
    uint64_t Write(int64_t now, uint64_t bytes) override;
    void NoteIdle(int64_t now, SendLimit why) override;

    uint64_t Readable() const override
    {
        return IsOpen() ? m_receiver.Readable() : 0;
    }

    void Read(int64_t now, uint64_t bytes) override;

    bool IsAtEof() const override
    {
        return m_hasPeerClosed || m_closedTime >= 0;
    }

    void Close(int64_t now) override;
    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    /// Whether the connection has begun here and was not aborted.
    bool IsOpen() const
    {
        return m_establishedTime >= 0 && m_closedTime < 0;
    }

    /// The session closes: nothing is sent or read any more.
    void Abort(int64_t now);

    /// Send lists of what has arrived, and what was read.
    void SendAcks(int64_t now);

    /// Data of a packet that was not acknowledged; 0: it was, or the connection is closed.
    uint32_t MissingLength(uint32_t number) const;

    /// Send a packet again. \returns bytes of its data; 0: the connection is closed
    uint32_t Resend(int64_t now, uint32_t number, uint32_t length);

    /// A packet will not be sent again.
    void GiveUp(uint32_t number)
    {
        m_sender.GiveUp(number);
    }

    const RudpSender& GetSender() const
    {
        return m_sender;
    }

    const RudpReceiver& GetReceiver() const
    {
        return m_receiver;
    }

    RudpSession& GetSession() const
    {
        return m_session;
    }

    /// What kept this end from sending more, and how long.
    const SendLimits& Limits() const
    {
        return m_limits;
    }

    /// Lists sent here, as far as they can still arrive.
    const RudpLog& Log() const
    {
        return m_log;
    }

    /// IP bytes sent here, those of pings not among them.
    uint64_t WireBytes() const
    {
        return m_wireBytes;
    }

    /// When the connection began here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When the session closed here, ns; −1: not so.
    int64_t ClosedTime() const
    {
        return m_closedTime;
    }

  private:
    void Start(int64_t now);
    void ListAcks(int64_t now);
    void OnData(int64_t now, const Packet& packet);
    void OnAcks(int64_t now, const Packet& packet);
    void OnClose(int64_t now, const Packet& packet);
    void SendNext(int64_t now);
    uint32_t Send(int64_t now) override;
    void GoOn(int64_t now) override;
    void SendClose(int64_t now);
    void SendMessage(int64_t now, RudpMessage kind, uint32_t number, uint32_t bytes);
    void NoteLimit(int64_t now, SendLimit limit);

    const RudpSpec m_spec;
    RudpSession& m_session;
    Channel m_channel;
    RudpEndpoint* m_peer{nullptr};
    RudpSender m_sender;
    RudpReceiver m_receiver;
    RudpLog m_log;
    bool m_isListed{false}; //!< for the next time that ACKs leave
    int64_t m_establishedTime{-1};
    int64_t m_closedTime{-1};
    bool m_hasPeerClosed{false};

    // The writer
    uint64_t m_unsent{0};    //!< bytes of its write
    uint32_t m_latest{0};    //!< number of the packet that it sent last
    bool m_isSending{false}; //!< it waits for the lock, or sleeps
    bool m_waitsForWindow{false};
    bool m_isBlocked{false}; //!< another write was not taken
    bool m_closes{false};    //!< after its write

    uint64_t m_wireBytes{0};
    SendLimits m_limits;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_ENDPOINT_H
