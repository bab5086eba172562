/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_HISTORY_H
#define TUNNELCC_PACKET_HISTORY_H

#include "event/fifo.h"
#include "number-ranges.h"
#include "transport/scoreboard.h"

#include <cstdint>
#include <span>

namespace tunnelcc
{

/// What a QUIC frame is for (RFC 9000, section 19).
enum class QuicFrameKind : uint8_t
{
    STREAM,
    MAX_STREAM_DATA,
    MAX_DATA,
    CRYPTO,   //!< a packet of the handshake, whose number is QuicFrame::offset
    DATAGRAM, //!< its number for QuicDatagrams is QuicFrame::offset (RFC 9221, section 4)
    PATH_NEW_CONNECTION_ID, //!< QuicFrame::stream is the path (draft-ietf-quic-multipath-21,
                            //!< section 4.4)
    PATH_CHALLENGE,         //!< of the path that its packet takes
    PATH_RESPONSE,          //!< likewise
    PING
};

/// A frame of another kind than ACK.
struct QuicFrame
{
    uint64_t offset{0}; //!< STREAM: of its first byte; MAX_*: the limit
    uint32_t stream{0}; //!< its place among the connection's streams
    uint16_t length{0}; //!< STREAM, DATAGRAM: bytes of data
    QuicFrameKind kind{QuicFrameKind::PING};
    bool isFin : 1 {false};   //!< STREAM: it ends the stream
    bool isAgain : 1 {false}; //!< STREAM: it was lost, or took too long, and is sent again
    bool isCopy : 1 {false}; //!< STREAM: another path has it, too, and sends it again if it is lost
};

/// What the sender of a packet knows of it.
enum class QuicPacketFate : uint8_t
{
    UNTRACKED, //!< it asks for no ACK, or its number was skipped
    OUTSTANDING,
    ACKED,
    LOST
};

/// A packet that was sent.
struct QuicPacket
{
    static constexpr uint64_t NONE = UINT64_MAX;

    Segment sample; //!< what RateSampler stores for it, and when it was sent
    Flight flight{0, 0};
    uint64_t previous{NONE}; //!< outstanding packet before it
    uint64_t next{NONE};     //!< and after it
    uint64_t firstFrame{0};  //!< place of its first frame in the history
    uint64_t firstRange{0};  //!< place of its ACK's first range in the history, if it has several
    NumberRange lastRange;   //!< of its ACK, the highest one
    int64_t ackDelay{0};     //!< its ACK's delay: since the largest packet arrived, ns
    uint16_t frames{0};
    uint16_t ranges{0}; //!< number of its ACK's ranges; 0: it has no ACK
    uint16_t bytes{0};  //!< UDP payload
    QuicPacketFate fate{QuicPacketFate::UNTRACKED};
    bool isMtuProbe{false};
    bool isRepeated{false}; //!< what it carried was sent again, although it may still arrive
};

/**
 * Packets that one end of a connection has sent, by number. Their contents are stored here: a
 * packet on the path has its number only. Packets that ask for an ACK are outstanding until an ACK
 * comes or they are lost, and form a list in order. Old packets are removed; if one of them arrives
 * after all, it counts as lost.
 */
class PacketHistory
{
  public:
    /// The number of the next packet. Numbers never repeat (RFC 9000, section 12.3).
    uint64_t Next() const
    {
        return m_first + m_packets.Size();
    }

    /// Append a frame to the next packet.
    void AddFrame(const QuicFrame& frame)
    {
        m_frames.Push(frame);
        ++m_newFrames;
    }

    /// Frames of the next packet so far.
    uint32_t NewFrames() const
    {
        return m_newFrames;
    }

    /// One of these. \param index from 0
    const QuicFrame& NewFrame(uint32_t index) const
    {
        return m_frames[m_frames.Size() - m_newFrames + index];
    }

    /// Make the next packet of the frames appended, with an ACK of `ranges` if there are any.
    /// \param version NumberRanges::Version() of them
    /// \returns the packet; valid until the next one is made
    QuicPacket& Send(std::span<const NumberRange> ranges = {}, uint64_t version = 0)
    {
        QuicPacket& packet = m_packets.Append();
        packet = {};
        packet.frames = static_cast<uint16_t>(m_newFrames);
        packet.firstFrame = m_firstFrame + m_frames.Size() - m_newFrames;
        if (!ranges.empty())
        {
            if (version != m_olderVersion)
            {
                StoreOlder(ranges.first(ranges.size() - 1), version);
            }
            packet.ranges = static_cast<uint16_t>(ranges.size());
            packet.lastRange = ranges.back();
        }
        packet.firstRange = m_older;
        if (m_newFrames > 0)
        {
            packet.fate = QuicPacketFate::OUTSTANDING;
            Link(Next() - 1, packet);
        }
        m_newFrames = 0;
        return packet;
    }

    /// Skip a packet number.
    void Skip()
    {
        Send();
    }

    /// A packet by its number. \pre the history has it, as it has all that are outstanding
    QuicPacket& At(uint64_t number)
    {
        return m_packets[number - m_first];
    }

    const QuicPacket& At(uint64_t number) const
    {
        return m_packets[number - m_first];
    }

    /// The 64-bit number of a packet from its low 32 bits; QuicPacket::NONE: it was removed.
    uint64_t Find(uint32_t low) const
    {
        const uint32_t index = low - static_cast<uint32_t>(m_first);
        return index < m_packets.Size() ? m_first + index : QuicPacket::NONE;
    }

    /// A frame of a packet. \param index from 0
    const QuicFrame& FrameOf(const QuicPacket& packet, uint32_t index) const
    {
        return m_frames[packet.firstFrame - m_firstFrame + index];
    }

    /// A range of a packet's ACK. \param index from 0, the lowest
    const NumberRange& RangeOf(const QuicPacket& packet, uint32_t index) const
    {
        return index + 1 == packet.ranges ? packet.lastRange
                                          : m_ranges[packet.firstRange - m_firstRange + index];
    }

    /// A packet is no longer outstanding. \param fate why
    void Settle(QuicPacket& packet, QuicPacketFate fate)
    {
        packet.fate = fate;
        m_bytesInFlight -= packet.bytes;
        --m_inFlight;
        (packet.previous == QuicPacket::NONE ? m_oldest : At(packet.previous).next) = packet.next;
        (packet.next == QuicPacket::NONE ? m_newest : At(packet.next).previous) = packet.previous;
    }

    /// The size of the newest packet, which is outstanding, is known.
    void CountInFlight(const QuicPacket& packet)
    {
        m_bytesInFlight += packet.bytes;
        ++m_inFlight;
    }

    /// The oldest outstanding packet, or QuicPacket::NONE.
    uint64_t Oldest() const
    {
        return m_oldest;
    }

    /// UDP payload of the outstanding packets, bytes.
    uint64_t BytesInFlight() const
    {
        return m_bytesInFlight;
    }

    /// Number of outstanding packets.
    uint32_t InFlight() const
    {
        return m_inFlight;
    }

    /// The packet of that number has arrived: remove those that were sent long before it.
    void OnArrival(uint64_t number)
    {
        m_arrived = std::max(m_arrived, number);
        while (m_arrived - m_first > KEPT && m_arrived > m_first &&
               m_packets.Front().fate != QuicPacketFate::OUTSTANDING)
        {
            const QuicPacket& oldest = m_packets.Front();
            m_firstFrame += oldest.frames;
            m_frames.Drop(oldest.frames);
            m_packets.Pop();
            ++m_first;
            m_ranges.Drop(m_packets.Front().firstRange - m_firstRange);
            m_firstRange = m_packets.Front().firstRange;
        }
    }

  private:
    /// A packet is kept until one arrives that was sent so many packets later.
    static constexpr uint64_t KEPT = 4096;

    /// Store the ranges of an ACK but for the last one. Other ACKs share them until one of them
    /// changes: with a loss now and then, there are dozens.
    void StoreOlder(std::span<const NumberRange> ranges, uint64_t version)
    {
        m_olderVersion = version;
        m_older = m_firstRange + m_ranges.Size();
        for (const NumberRange& range : ranges)
        {
            m_ranges.Push(range);
        }
    }

    void Link(uint64_t number, QuicPacket& packet)
    {
        packet.previous = m_newest;
        (m_newest == QuicPacket::NONE ? m_oldest : At(m_newest).next) = number;
        m_newest = number;
    }

    Fifo<QuicPacket> m_packets;
    Fifo<QuicFrame> m_frames;
    Fifo<NumberRange> m_ranges;
    uint64_t m_first{0};      //!< number of the first in m_packets
    uint64_t m_firstFrame{0}; //!< place of the first in m_frames
    uint64_t m_firstRange{0}; //!< place of the first in m_ranges
    uint64_t m_older{0};      //!< place of those that StoreOlder() stored last
    uint64_t m_olderVersion{0};
    uint64_t m_arrived{0}; //!< highest number that has arrived
    uint32_t m_newFrames{0};
    uint64_t m_oldest{QuicPacket::NONE};
    uint64_t m_newest{QuicPacket::NONE};
    uint64_t m_bytesInFlight{0};
    uint32_t m_inFlight{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_HISTORY_H
