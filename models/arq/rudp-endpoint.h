/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_ENDPOINT_H
#define TUNNELCC_RUDP_ENDPOINT_H

#include "path/path.h"
#include "rudp-message.h"
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
 * packets, whose sizes do not change, and is done when the last of them was sent; until then no
 * other write is taken. There is no handshake, and no congestion control: the window and the rate
 * are the limits.
 *
 * The end of the stream is sent twice and is not acknowledged. A reader sees it only if it has read
 * all data by then.
 */
class RudpEndpoint final : public ByteStream, public PacketSink, private RudpThread
{
  public:
    /**
     * \param spec settings of the connection
     * \param session the session of this end
     * \param channel carries the datagrams
     */
    RudpEndpoint(const RudpSpec& spec, RudpSession& session, const Channel& channel);

    /// Make two endpoints the two ends of a connection. Call before Connect().
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

    /// The session closes: nothing is sent or read from now on.
    void Abort(int64_t now);

    /// Send ACKs: lists of packets that have arrived, and how many were read.
    void SendAcks(int64_t now);

    /// Payload of a packet that is not acknowledged, bytes; 0: it is, or the connection is closed.
    uint32_t MissingLength(uint32_t number) const;

    /// Send a packet again. \returns its payload, bytes; 0: the connection is closed
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

    /// Why this end waited, and for how long.
    const SendLimits& Limits() const
    {
        return m_limits;
    }

    /// Lists sent from here that may still arrive.
    const RudpLog& Log() const
    {
        return m_log;
    }

    /// IP bytes sent from here, without pings.
    uint64_t WireBytes() const
    {
        return m_wireBytes;
    }

    /// When the connection began here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When the session closed here, ns; −1: it has not.
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
    bool m_isListed{false}; //!< it sends ACKs the next time that the session does
    int64_t m_establishedTime{-1};
    int64_t m_closedTime{-1};
    bool m_hasPeerClosed{false};

    // The writer
    uint64_t m_unsent{0};    //!< bytes of its write that are not sent yet
    uint32_t m_latest{0};    //!< number of the packet that it sent last
    bool m_isSending{false}; //!< it waits for the lock, or sleeps
    bool m_waitsForWindow{false};
    bool m_isBlocked{false}; //!< another write was not taken
    bool m_closes{false};    //!< it closes the stream after its write

    uint64_t m_wireBytes{0};
    SendLimits m_limits;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_ENDPOINT_H
