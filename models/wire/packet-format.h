/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_FORMAT_H
#define TUNNELCC_PACKET_FORMAT_H

#include "packet-image.h"
#include "tunnel/datagram-tunnel.h"

#include <cstdint>
#include <unordered_map>

namespace tunnelcc
{

/// A packet as somebody sees it pass.
struct SeenPacket
{
    int64_t now; //!< ns
    const Packet& packet;
    uint32_t ipBytes;
    const PacketExtras* extras; //!< if Packet::HasExtras()

    /// Who receives it behind the last link.
    const PacketSink* Receiver() const
    {
        return packet.isInTransit ? extras->sink : packet.sink;
    }
};

/// Writes the packets that one sender sends: the headers that Packet, its extras and what is known
/// of the connection say, and filler behind them.
class PacketFormat
{
  public:
    virtual ~PacketFormat() = default;

    /// IP bytes of a packet.
    virtual uint32_t SizeOf(const Packet& packet) const = 0;

    /// The sender sends a packet. Each passes here first.
    virtual void OnSent(const SeenPacket& /* seen */)
    {
    }

    /// Whether OnArriving() and OnArrived() are to be called.
    virtual bool WantsArrivals() const
    {
        return false;
    }

    /// A packet is about to be received.
    virtual void OnArriving(const SeenPacket& /* seen */)
    {
    }

    /// A packet has been received. \param now ns
    virtual void OnArrived(int64_t /* now */)
    {
    }

    /**
     * Write a packet.
     * \param view number of the place and direction where it is seen: what passed there before may
     *        tell what the packet itself does not
     * \param image the packet, as long as its IP bytes
     */
    virtual void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) = 0;
};

class DividedFormat;

/// What is known of packets by who receives them.
class FormatTable
{
  public:
    struct Entry
    {
        PacketFormat* format{nullptr};
        const TunnelExit* exit{nullptr}; //!< the receiver, if it takes packets out of a tunnel
    };

    void Add(const PacketSink* receiver, const Entry& entry)
    {
        m_entries[receiver] = entry;
    }

    /// \pre its sender has sent a packet
    const Entry& Of(const PacketSink* receiver) const
    {
        auto found = m_entries.find(receiver);
        return found != m_entries.end() ? found->second : Of(receiver->StandsFor());
    }

    /// The format of a packet, which may be a piece of another. \param receiver as of Of()
    PacketFormat& FormatOf(const Packet& packet, const PacketSink* receiver) const;

    /// Set the format of pieces.
    void SetDivided(DividedFormat& format)
    {
        m_divided = &format;
    }

  private:
    DividedFormat* m_divided{nullptr};
    std::unordered_map<const PacketSink*, Entry> m_entries;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_FORMAT_H
