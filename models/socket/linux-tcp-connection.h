/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_TCP_CONNECTION_H
#define TUNNELCC_LINUX_TCP_CONNECTION_H

#include "path/packet-device.h"
#include "sent-segments.h"
#include "stream-bytes.h"
#include "transport/endpoint.h"

#include "ns3/packet.h"
#include "ns3/tcp-header.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/// Where a LinuxTcpConnection sends its segments.
class SegmentSink
{
  public:
    virtual ~SegmentSink() = default;

    /// \param header of TCP, but for ports  \param payload of the segment; may be kept
    /// \param ecn field of IP (RFC 3168)
    virtual void SendSegment(ns3::TcpHeader& header,
                             ns3::Ptr<ns3::Packet> payload,
                             uint8_t ecn) = 0;
};

/**
 * A TcpEndpoint whose segments are those of ns-3: with headers, and with contents.
 *
 * Options stand in the order in which Linux writes them (tcp_options_write()). Segments keep their
 * boundaries in the models, so a full data segment has no room for SACK blocks: a pure ACK with
 * them goes before it, where Linux would shorten the segment.
 */
class LinuxTcpConnection final : private PacketDevice
{
  public:
    /**
     * \param spec settings of this end
     * \param congestion algorithm for the data that this end sends
     * \param sent where to note what this end sends
     * \param sink where segments go; outlives this
     * \param user receives the events; outlives this
     */
    LinuxTcpConnection(const TcpSpec& spec,
                       std::unique_ptr<CongestionControl> congestion,
                       std::shared_ptr<SentSegments> sent,
                       SegmentSink& sink,
                       StreamUser& user);
    ~LinuxTcpConnection() override;
    LinuxTcpConnection(const LinuxTcpConnection&) = delete;
    LinuxTcpConnection& operator=(const LinuxTcpConnection&) = delete;

    /// MSS that a SYN tells, without options of other segments; 0: it tells none.
    static uint32_t MssOf(const ns3::TcpHeader& syn);

    /// Open actively: send SYN.
    void Connect(int64_t now);

    /// Take the place of a connection that has sent SYN and nothing else: with other settings, of
    /// which the answer has told. What was written there is written here.
    void TakeOver(int64_t now, const LinuxTcpConnection& before);

    /// Before the first SYN is received: whether both ends use ECN.
    void SetEcn(bool isOn)
    {
        m_spec.ecn = isOn;
    }

    /**
     * A segment arrived.
     * \param now ns  \param header of TCP  \param payload without headers; is kept
     * \param ecn field of IP
     * \returns false: it is of no use, or comes from no other end of this kind
     */
    bool Receive(int64_t now,
                 const ns3::TcpHeader& header,
                 ns3::Ptr<ns3::Packet> payload,
                 uint8_t ecn);

    /**
     * Write a packet's contents. If the send buffer fills, the rest is held and follows by itself;
     * until then nothing more is taken.
     * \returns whether they were taken
     */
    bool Write(int64_t now, ns3::Ptr<ns3::Packet> bytes);

    /// Go on with what was held. \returns whether nothing is left
    bool WriteRest(int64_t now);

    /// Send what was written, then FIN.
    void Close(int64_t now);

    /// Send RST.
    void Reset();

    /// Read `length` bytes. \pre at most Endpoint().Readable(), at least 1
    ns3::Ptr<ns3::Packet> Read(int64_t now, uint32_t length);

    /// Let a writer who found no room be woken once there is some.
    void WaitForRoom(int64_t now)
    {
        if (!m_endpoint.GetSender().Buffer().IsWriterBlocked())
        {
            m_endpoint.Resume(now, 0);
        }
    }

    /// Bytes that may be written.
    uint64_t Room() const
    {
        return IsHolding() ? 0 : Endpoint().GetSender().Buffer().Room();
    }

    /// Payload bytes sent for the first time since the last call.
    uint32_t TakeSent()
    {
        return std::exchange(m_newlySent, 0);
    }

    const std::shared_ptr<SentSegments>& Sent() const
    {
        return m_sent;
    }

    const TcpEndpoint& Endpoint() const
    {
        return m_endpoint;
    }

    const TcpSpec& Spec() const
    {
        return m_spec;
    }

    /// Whether every byte and FIN went both ways, and were acknowledged.
    bool IsFinished() const
    {
        return m_endpoint.FinishedTime() >= 0 && m_endpoint.GetReceiver().IsFinished();
    }

  private:
    /// Whether bytes wait that the send buffer had no room for.
    bool IsHolding() const
    {
        return m_written.End() > m_endpoint.GetSender().Buffer().Written();
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;
    void SendSyn(const Packet& packet);
    void SendData(int64_t now, const Packet& packet, const PacketExtras* extras);
    void SendAck(int64_t now, const Acknowledgement& ack);
    void SendProbe(int64_t now);

    /// Begin the header of any segment but a SYN.
    ns3::TcpHeader MakeHeader(ns3::SequenceNumber32 sequence, uint32_t tsVal, uint32_t tsEcr) const;
    void AddBlocks(ns3::TcpHeader& header, const Acknowledgement& ack) const;
    /// Note what an ACK tells, for segments that have none.
    void NoteTold(const Acknowledgement& ack);

    bool ReceiveSyn(int64_t now, const ns3::TcpHeader& header);
    void ReceiveData(int64_t now,
                     const ns3::TcpHeader& header,
                     ns3::Ptr<ns3::Packet> payload,
                     uint8_t ecn);
    void ReceiveAck(int64_t now, const ns3::TcpHeader& header);
    /// Write the SACK blocks of a header. \returns whether they are of this stream
    bool ReadBlocks(const ns3::TcpHeader& header, Packet& packet, PacketExtras& extras) const;

    TcpSpec m_spec;
    SegmentSink& m_sink;
    const std::shared_ptr<SentSegments> m_sent;
    std::shared_ptr<SentSegments> m_peer; //!< what the other end has sent; null: not known yet
    WrittenBytes m_written;
    ArrivedBytes m_arrived;
    TcpEndpoint m_endpoint;
    uint32_t m_newlySent{0};
    uint32_t m_peerScale{0};   //!< windows of the other end come in units of 2^this bytes
    uint32_t m_toldNumber{0};  //!< segment expected next, as told last
    uint32_t m_toldWindow{0};  //!< bytes
    uint32_t m_toldEcho{0};    //!< ms
    uint32_t m_heardWindow{0}; //!< what the other end told last
    ns3::SequenceNumber32 m_heardNumber{0};
    int64_t m_synTime{0}; //!< of the latest SYN, ns
    bool m_isMute{false}; //!< segments go nowhere
    bool m_isClosing{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_LINUX_TCP_CONNECTION_H
