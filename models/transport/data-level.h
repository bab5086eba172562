/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATA_LEVEL_H
#define TUNNELCC_DATA_LEVEL_H

#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * One end of a connection over several paths, as its subflows see it: what their ACKs say of the
 * connection's own stream (RFC 8684, sections 3.3.2 and 3.3.4).
 */
class DataLevel
{
  public:
    /// Next byte of the connection's stream that this end expects, modulo 2^32: an ACK is about to
    /// leave.
    virtual uint32_t DataAck() const = 0;

    /// The window of such an ACK, bytes. It counts from DataAck(), and for the subflow from its own
    /// ACK (Linux mptcp_set_rwin()).
    virtual uint32_t Window() = 0;

    /// What the options of a packet of the handshake, which is about to leave, have beyond those
    /// that TcpSpec counts, bytes.
    virtual uint32_t HandshakeBytes(const Packet& packet) const = 0;

    /**
     * A subflow has received an ACK, and done what follows from it.
     * \param now ns
     * \param dataAck what the other end's DataAck() was
     * \param window what its Window() was, bytes
     */
    virtual void OnDataAck(int64_t now, uint32_t dataAck, uint32_t window) = 0;

  protected:
    ~DataLevel() = default;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATA_LEVEL_H
