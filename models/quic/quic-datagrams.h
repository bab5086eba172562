/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_DATAGRAMS_H
#define TUNNELCC_QUIC_DATAGRAMS_H

#include <cstdint>

namespace tunnelcc
{

/// What one end of a connection sends in DATAGRAM frames, and who takes those of its peer
/// (RFC 9221). They are under congestion control, and a lost one is not sent again.
class QuicDatagrams
{
  public:
    virtual ~QuicDatagrams() = default;

    /// The handshake is over: datagrams may leave.
    virtual void OnOpen(int64_t now) = 0;

    /// Whether one waits.
    virtual bool HasNext() const = 0;

    /// Its payload, bytes. \pre HasNext()
    virtual uint32_t NextBytes() const = 0;

    /// Whether a packet has one at most, with its length.
    virtual bool AreAlone() const = 0;

    /// It goes into a packet. \returns what OnReceived() gets at the peer
    virtual uint64_t Take() = 0;

    /// It fits into no packet.
    virtual void DropNext() = 0;

    /// A packet was sent: there may be room again.
    virtual void OnSent(int64_t now) = 0;

    /// One of the peer arrived. \param number what Take() returned there
    virtual void OnReceived(int64_t now, uint64_t number) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_DATAGRAMS_H
