/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_PATH_H
#define TUNNELCC_QUIC_PATH_H

#include "ack-tracker.h"
#include "event/fifo.h"
#include "quic-handshake.h"
#include "quic-sender.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

class QuicConnection;

/**
 * One path of a connection at one end: it numbers its packets, acknowledges those of the peer's,
 * and has loss recovery and congestion control of its own (draft-ietf-quic-multipath-21, sections 2
 * and 5.3). A connection that does not use several has one.
 */
class QuicPath final : public PacketSink
{
  public:
    /// \param connection,contents that it is of  \param number from 0, of its paths
    /// Others as of QuicConnection.
    QuicPath(EventLoop& loop,
             const QuicSpec& spec,
             End end,
             const Channel& channel,
             std::unique_ptr<CongestionControl> algorithm,
             QuicConnection& connection,
             QuicContents& contents,
             uint32_t number)
        : m_connection(connection),
          m_number(number),
          acks(spec.acks),
          handshake(spec, end),
          sender(loop, spec, end, channel, std::move(algorithm), contents, handshake, acks, number)
    {
    }

    QuicPath(const QuicPath&) = delete;
    QuicPath& operator=(const QuicPath&) = delete;

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    uint32_t Number() const
    {
        return m_number;
    }

    // What a scheduler sees (multipath/scheduler.h)

    bool IsBackup() const
    {
        return isBackup;
    }

    bool IsUsable() const
    {
        return isUsable;
    }

    /// Whether a packet with data may leave now: the window has room, and pacing lets it.
    bool HasRoom() const
    {
        return !wasOffered && sender.CanSend(roundTime);
    }

    /// Smoothed RTT, ns.
    int64_t Srtt() const
    {
        return sender.Detection().Rtt().Smoothed();
    }

    /// Congestion window, packets.
    double CongestionWindow() const
    {
        return static_cast<double>(sender.Congestion().Window()) / PacketBytes();
    }

    /// Packets in flight.
    double InFlight() const
    {
        return static_cast<double>(sender.BytesInFlight()) / PacketBytes();
    }

    /// UDP payload of a full packet.
    uint32_t PacketBytes() const
    {
        return sender.PacketBytes();
    }

    bool IsOpen() const
    {
        return openTime >= 0;
    }

    /// Whether it is open, and as far as is known works: an ACK came since the latest PTO.
    bool Works() const
    {
        return IsOpen() && !sender.Detection().IsProbing();
    }

    // For probes and tests, as QuicConnection has them

    const QuicSender& GetSender() const
    {
        return sender;
    }

    const QuicPath& GetReceiver() const
    {
        return *this;
    }

    /// Bytes of streams and datagrams that came over it, copies included.
    uint64_t TotalRead() const
    {
        return received;
    }

    const SendLimits& Limits() const
    {
        return sender.Limits();
    }

    /// When it could first send data, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return openTime;
    }

    /// As of the connection.
    int64_t FinishedTime() const;

  private:
    QuicConnection& m_connection;
    const uint32_t m_number;

  public:
    /// A frame of a packet on another path.
    struct Copy
    {
        QuicFrame frame;
        uint32_t path;
        uint64_t number; //!< of the packet
    };

    // What the connection keeps of it
    AckTracker acks;
    QuicHandshake handshake; //!< of the first one; the others have none
    QuicSender sender;
    bool isBackup{false}; //!< used only while no other works
    int64_t openTime{-1}; //!< when data could first leave; −1: not yet
    uint64_t received{0};
    int64_t roundTime{0};     //!< time at which the connection sends
    bool isUsable{false};     //!< it is open, and has not failed unless all have
    bool isOffered{false};    //!< data may go into its next packet
    bool wasOffered{false};   //!< and there were none for it, at this time
    bool tellsId{false};      //!< the peer gets a connection ID for it
    bool challenges{false};   //!< the peer's address is to be validated
    bool owesResponse{false}; //!< the peer wants to validate this address
    Fifo<Copy> copies;        //!< to be sent here, too
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_PATH_H
