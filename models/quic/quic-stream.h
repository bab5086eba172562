/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_STREAM_H
#define TUNNELCC_QUIC_STREAM_H

#include "quic-receive-stream.h"
#include "quic-send-stream.h"
#include "transport/byte-stream.h"

#include <cstdint>

namespace tunnelcc
{

class QuicConnection;

/// One end of a stream of a QUIC connection. At the client it opens with the connection, at the
/// server with the first frame that arrives.
class QuicStream final : public ByteStream
{
  public:
    /**
     * \param connection the connection that carries it
     * \param number its place among the connection's streams
     * \param window flow control at the receiving half, of both ends
     */
    QuicStream(QuicConnection& connection, uint32_t number, const QuicFlowSpec& window);

    void Connect(int64_t now) override;
    uint64_t Write(int64_t now, uint64_t bytes) override;
    void NoteIdle(int64_t now, SendLimit why) override;

    uint64_t Readable() const override
    {
        return m_isOpen ? m_receiving.Readable() : 0;
    }

    void Read(int64_t now, uint64_t bytes) override;

    bool IsAtEof() const override
    {
        return m_receiving.IsAtEof();
    }

    void Close(int64_t now) override;

  private:
    friend class QuicConnection;

    void Open(int64_t now);
    void WakeWriter(int64_t now);

    QuicConnection& m_connection;
    QuicSendStream m_sending;
    QuicReceiveStream m_receiving;
    bool m_isOpen{false};
    bool m_connects{false};   //!< OnOpen() follows once the connection is open
    bool m_isBlocked{false};  //!< a write was not taken as a whole
    bool m_isActive{false};   //!< waits for its turn to send new data
    bool m_isLossy{false};    //!< waits for its turn to send lost data
    bool m_tellsLimit{false}; //!< waits for its turn to send a new limit
    bool m_isTouched{false};  //!< its user will be told of what has arrived
    bool m_waits{false};      //!< waits for room in the send buffer
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_STREAM_H
