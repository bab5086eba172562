/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_FORMAT_H
#define TUNNELCC_TCP_FORMAT_H

#include "ip.h"
#include "mptcp-format.h"
#include "packet-format.h"
#include "segment-offsets.h"
#include "spec/end.h"
#include "spec/tcp-spec.h"
#include "stream-contents.h"
#include "tcp-log.h"
#include "transport/packet-size.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Address and port of a connection's end.
struct SocketAddress
{
    IpAddress address;
    uint16_t port{0};
};

/**
 * What one end of a TCP connection sends: headers of IP and TCP (RFC 9293) with options in the
 * order in which Linux writes them (tcp_options_write()).
 *
 * A data segment has no room for SACK blocks here, as in the models; those that it tells of are
 * left out.
 */
class TcpFormat final : public PacketFormat
{
  public:
    /**
     * \param spec settings of the connection; outlive it
     * \param self,peer addresses of this end and the other
     * \param draw random bits of this end: where its numbers begin
     */
    TcpFormat(const TcpSpec& spec,
              const SocketAddress& self,
              const SocketAddress& peer,
              uint64_t draw);

    /// Tie two ends together.
    static void Join(TcpFormat& a, TcpFormat& b)
    {
        a.m_peer = &b;
        b.m_peer = &a;
    }

    /// What sends the packets, before the first.
    void SetSender(const Sender& sender)
    {
        m_sender = &sender;
    }

    /// Write a log of this end. \param log outlives this
    void SetLog(TcpLog& log)
    {
        m_log = &log;
    }

    /// Be one end of a subflow of MPTCP. \param subflow outlives this
    void SetSubflow(SubflowFormat& subflow)
    {
        m_subflow = &subflow;
    }

    /// What the stream holds, unless it is a subflow's.
    StreamContents& Contents()
    {
        return m_contents;
    }

    uint32_t SizeOf(const Packet& packet) const override
    {
        // Only data are so large that a tunnel cuts them into fragments.
        return packet.kind == PacketKind::FRAGMENT
                   ? SegmentIpBytes(packet.length, m_spec)
                   : IpBytes(packet, m_spec) + (m_subflow ? m_subflow->HandshakeBytes(packet) : 0);
    }

    void OnSent(const SeenPacket& seen) override;
    void OnArriving(const SeenPacket& seen) override;
    void OnArrived(int64_t now) override;

    bool WantsArrivals() const override
    {
        return m_log;
    }

    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) override;

  private:
    /// What was last seen of this end at some place.
    struct View
    {
        uint32_t ackNumber{0}; //!< segment
        uint32_t window{0};    //!< bytes
        uint64_t next{0};      //!< offset behind all data
        uint64_t dataAck{0};   //!< of a subflow: bytes of the connection's stream

        /// \param low half of it
        void NoteDataAck(uint32_t low)
        {
            dataAck += static_cast<int32_t>(low - static_cast<uint32_t>(dataAck));
        }
    };

    /// What a header says.
    struct Header
    {
        uint32_t sequence;
        uint32_t acknowledgement;
        uint16_t flags;
        uint16_t window;
        uint32_t tsVal;
        uint32_t tsEcr;
        uint32_t sackBlocks;
    };

    uint32_t SequenceOf(uint64_t offset) const
    {
        return m_first + 1 + static_cast<uint32_t>(offset);
    }

    /// Of the other end's segment, or the next, in an ACK.
    uint32_t PeerSequenceOf(uint32_t segment) const
    {
        return m_peer->SequenceOf(m_peer->m_offsets.Of(segment));
    }

    uint32_t IpHeaderBytes() const
    {
        return IpHeader{m_self.address, m_other.address, IpProtocol::TCP, 0, {}}.Size();
    }

    /// A packet of this end, for a log.
    TcpLog::Packet Logged(const SeenPacket& seen) const;
    View& ViewOf(uint32_t view);
    Header HeaderOf(const SeenPacket& seen, View& view) const;
    void WriteSynOptions(const Header& header, std::vector<uint8_t>& bytes) const;
    void WriteOptions(const SeenPacket& seen,
                      const Header& header,
                      std::vector<uint8_t>& bytes) const;

    const TcpSpec& m_spec;
    const SocketAddress m_self;
    const SocketAddress m_other;
    const uint32_t m_first; //!< initial sequence number
    const uint32_t m_clock; //!< of timestamps when the simulation begins, ms
    TcpFormat* m_peer{nullptr};
    const Sender* m_sender{nullptr};
    TcpLog* m_log{nullptr};
    SegmentOffsets m_offsets;
    uint32_t m_acked{0}; //!< segments of this end that the other has acknowledged
    StreamContents m_contents;
    SubflowFormat* m_subflow{nullptr}; //!< null: it is no subflow
    std::vector<View> m_views;
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_FORMAT_H
