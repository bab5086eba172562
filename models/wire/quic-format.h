/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_FORMAT_H
#define TUNNELCC_QUIC_FORMAT_H

#include "datagram-format.h"
#include "quic-log.h"
#include "quic/quic-sender.h"
#include "spec/end.h"
#include "spec/quic-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * What one end of a QUIC connection sends (RFC 9000, section 17): long headers in the handshake,
 * short ones after it. A datagram has one packet. Frames are encrypted, which is filler here, and
 * so are the bits that header protection hides.
 */
class QuicFormat final : public UdpFormat
{
  public:
    /**
     * \param spec of the connection; outlives this
     * \param end which this is
     * \param self,peer addresses of this end and the other
     * \param connection number that its IDs are made of
     */
    QuicFormat(const QuicSpec& spec,
               End end,
               const SocketAddress& self,
               const SocketAddress& peer,
               uint64_t connection)
        : UdpFormat(self, peer),
          m_spec(spec),
          m_end(end),
          m_connection(connection)
    {
    }

    /// Tie two ends together.
    static void Join(QuicFormat& a, QuicFormat& b)
    {
        a.m_peer = &b;
        b.m_peer = &a;
    }

    /// What sends the packets, before the first.
    void SetSender(const QuicSender& sender)
    {
        m_sender = &sender;
    }

    /// Write a log of this end. \param log outlives this
    void SetLog(QuicLog& log)
    {
        m_log = &log;
    }

    void OnSent(const SeenPacket& seen) override;
    void OnArriving(const SeenPacket& seen) override;
    void OnArrived(int64_t now) override;

    bool WantsArrivals() const override
    {
        return m_log;
    }

  private:
    void WritePayload(const SeenPacket& seen, PacketImage& image) override;
    void WriteLongHeader(uint64_t handshakePacket, uint32_t number, PacketImage& image) const;
    /// Bytes of the IDs in what an end sends.
    uint32_t IdBytes(End sender) const;
    /// Append an ID of so many bytes. \param receiver the end that chose it
    void WriteId(End receiver, uint32_t size, std::vector<uint8_t>& bytes) const;

    const QuicSpec& m_spec;
    const End m_end;
    const uint64_t m_connection;
    const QuicSender* m_sender{nullptr};
    QuicFormat* m_peer{nullptr};
    QuicLog* m_log{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_FORMAT_H
