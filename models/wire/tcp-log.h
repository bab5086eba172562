/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_LOG_H
#define TUNNELCC_TCP_LOG_H

#include "qlog.h"
#include "transport/acknowledgement.h"
#include "transport/sender.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace tunnelcc
{

/**
 * What one end of a TCP connection sends, receives, measures and counts as lost.
 *
 * qlog has no schema of TCP, so that events are those of QUIC. Every packet has a number of its
 * own, a segment that is sent again a new one. The frame ack tells these numbers, of the packets
 * that are new to the end; max_data is the end of the receive window, and stream 0 the
 * connection's. SYNs are of type initial.
 */
class TcpLog final : public Qlog
{
  public:
    using Qlog::Qlog;

    /// A packet, as both ends see it.
    struct Packet
    {
        int64_t now{0};          //!< ns
        uint32_t headerBytes{0}; //!< of TCP
        uint32_t payloadBytes{0};
        uint64_t offset{0}; //!< of the payload in the stream
        bool isSyn{false};
        bool isFin{false};
        bool hasSegment{false}; //!< payload or FIN
        uint32_t segment{0};    //!< its number
        uint32_t tsVal{0};      //!< of the segment, or the low half of an ACK's
        std::optional<Acknowledgement> ack;
        uint64_t maximum{0}; //!< offset at which the receive window ends
    };

    /// The end sends a packet. \param peer the other end's log
    void OnSent(const Packet& packet, const Sender& sender, TcpLog& peer);

    /// A packet of the other end arrives. \param peer its log
    void OnReceived(const Packet& packet, TcpLog& peer);

    /// The end may have learned something: log what it measures, if that has changed.
    void OnChange(int64_t now, const Sender& sender);

  private:
    /// Numbers of the packets that had a segment.
    struct Segment
    {
        uint64_t latest;
        uint64_t earlier;
        std::optional<uint64_t> arrived; //!< the first that did
        uint32_t latestTsVal;
    };

    /// An ACK without data that is on its way.
    struct SentAck
    {
        uint64_t packet;
        uint32_t number;
        uint16_t tsVal;
        uint32_t blocks;
    };

    /// What is known of the segments that ACKs have told of.
    struct Told
    {
        uint32_t number{0};                  //!< of the next expected
        std::map<uint32_t, uint32_t> blocks; //!< ends by begins
    };

    Segment* Find(uint32_t segment);
    void Remember(const Packet& packet, uint64_t number);
    /// The number of a packet that arrives from this end.
    std::optional<uint64_t> NumberOf(const Packet& packet);
    void AddPacket(std::string_view event,
                   const Packet& packet,
                   uint64_t number,
                   TcpLog& acknowledged,
                   Told& told);
    /// Add the packets that an ACK newly tells of. \param acknowledged log of what it is for
    void AddRanges(const Acknowledgement& ack, TcpLog& acknowledged, Told& told);

    uint64_t m_packets{0};
    uint32_t m_first{0}; //!< segment that m_segments begins with
    std::deque<Segment> m_segments;
    std::deque<SentAck> m_acks;
    Told m_sentAcks;     //!< by this end
    Told m_receivedAcks; //!< by the other one
    CaState m_state{CaState::OPEN};
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_LOG_H
