/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DIVIDED_FORMAT_H
#define TUNNELCC_DIVIDED_FORMAT_H

#include "ip.h"
#include "packet-format.h"
#include "path/path-mtu.h"

#include <cstdint>

namespace tunnelcc
{

/// Pieces of packets: fragments of IP that a router made, and segments of TCP that were split.
class DividedFormat final : public PacketFormat
{
  public:
    /// \param table of all senders
    explicit DividedFormat(const FormatTable& table)
        : m_table(table)
    {
    }

    /// The next call of Write() is for a piece of this packet. \param number of it
    void Choose(const DividedPacket& whole, uint32_t number)
    {
        m_chosen = &whole;
        m_number = number;
    }

    uint32_t SizeOf(const Packet& packet) const override
    {
        return packet.datagramBytes;
    }

    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) override;

  private:
    const FormatTable& m_table;
    const DividedPacket* m_chosen{nullptr};
    uint32_t m_number{0};
    PacketImage m_whole; //!< the packet itself
};

/// Messages of ICMP that a packet was too big (RFC 792 with RFC 1191; RFC 4443, section 3.2).
class TooBigFormat final : public PacketFormat
{
  public:
    /**
     * \param messages which are written
     * \param router address of who sends them
     * \param table of all senders
     */
    TooBigFormat(const MtuMessages& messages, const IpAddress& router, const FormatTable& table)
        : m_messages(messages),
          m_router(router),
          m_table(table)
    {
    }

    uint32_t SizeOf(const Packet& packet) const override
    {
        return packet.datagramBytes;
    }

    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) override;

  private:
    const MtuMessages& m_messages;
    const IpAddress m_router;
    const FormatTable& m_table;
    PacketImage m_quoted;
};

} // namespace tunnelcc

#endif // TUNNELCC_DIVIDED_FORMAT_H
