/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ENDPOINT_H
#define TUNNELCC_ENDPOINT_H

#include "ack-policy.h"
#include "byte-stream.h"
#include "data-level.h"
#include "ecn-echo.h"
#include "path/path.h"
#include "receive-rtt.h"
#include "receiver.h"
#include "sender.h"
#include "tcp-handshake.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/// Bytes and packets that one endpoint put on the wire.
struct WireCounters
{
    uint64_t ackBytes{0};  //!< IP bytes of everything but data segments
    uint64_t acks{0};      //!< pure ACKs
    uint64_t dataBytes{0}; //!< IP bytes of data segments, retransmissions included
};

/**
 * One end of a TCP connection: handshake (RFC 9293), sender, receiver, and policy of ACKs.
 *
 * Data packets carry ACKs in their headers; other ACKs are packets of their own. With a congestion
 * control that NeedsEcn(), each ACK tells whether the latest segment was marked.
 */
class alignas(64) TcpEndpoint final : public ByteStream,
                                      public PacketSink,
                                      private SynOutput,
                                      private SegmentOutput,
                                      private AckOutput
{
  public:
    /**
     * \param spec settings, which outlive the endpoint; both ends may differ
     * \param channel carries the packets
     * \param congestion algorithm for the data that this end sends
     */
    TcpEndpoint(EventLoop& loop,
                const TcpSpec& spec,
                const Channel& channel,
                std::unique_ptr<CongestionControl> congestion);
    TcpEndpoint(EventLoop&, TcpSpec&&, const Channel&, std::unique_ptr<CongestionControl>) = delete;

    /// Make two endpoints the two ends of a connection. Call before Connect().
    static void Join(TcpEndpoint& a, TcpEndpoint& b);

    /// Set the receiver of the packets: the other end, or something between the two.
    void SetPeer(PacketSink& peer)
    {
        m_peer = &peer;
    }

    /// Share the host's memory with its other sockets. \param memory outlives the endpoint
    void SetMemory(TcpMemory& memory);

    /// Be a subflow of a connection over several paths. Call before Connect(). \param level of that
    /// connection, on this end; outlives the endpoint
    void SetDataLevel(DataLevel& level)
    {
        m_dataLevel = &level;
        m_sender.SetUnbounded();
    }

    /// Let the algorithm know those of the other subflows. \param group outlives the endpoint
    void Couple(CoupledGroup& group)
    {
        m_sender.Couple(group);
    }

    /// As Sender::WaitForRoom().
    void WaitForRoom()
    {
        m_sender.WaitForRoom();
    }

    /// Tell the peer that the window of the connection over several paths has opened.
    void TellWindow(int64_t now)
    {
        if (m_isEstablished)
        {
            SendAck(now);
        }
    }

    /// The peer's window as told in the handshake, bytes; 0: not yet.
    uint32_t HandshakeWindow() const
    {
        return m_peerWindow;
    }

    /// The receiver's estimate of the RTT, ns; 0: none yet.
    int64_t ReceiveRttEstimate() const
    {
        return m_receiveRtt.Rtt();
    }

    /// Open actively: send SYN.
    void Connect(int64_t now) override;

    void NoteIdle(int64_t now, SendLimit why) override
    {
        m_sender.NoteIdle(now, why);
    }

    bool Poll(int64_t now) override
    {
        return m_sender.Poll(now);
    }

    /// As SendBuffer::EndPart().
    void EndPart()
    {
        m_sender.EndPart();
    }

    uint64_t Write(int64_t now, uint64_t bytes) override
    {
        return Write(now, bytes, false);
    }

    uint64_t Resume(int64_t now, uint64_t bytes) override
    {
        return Write(now, bytes, true);
    }

    uint64_t Readable() const override
    {
        return m_receiver.Readable();
    }

    /// Read `bytes`, at most Readable(). Tells the peer if that reopens a closed window.
    void Read(int64_t now, uint64_t bytes) override;

    uint64_t ReadAll(int64_t now) override
    {
        // As the base does, but without its virtual calls: each segment comes here.
        const uint64_t bytes = m_receiver.Readable();
        Read(now, bytes);
        return bytes;
    }

    bool IsAtEof() const override
    {
        return m_receiver.IsFinished() && m_receiver.Readable() == 0;
    }

    void Close(int64_t now) override
    {
        m_sender.Close(now);
    }

    const Sender& GetSender() const
    {
        return m_sender;
    }

    /// Why the sender waited, and for how long.
    const SendLimits& Limits() const
    {
        return m_sender.Limits();
    }

    const Receiver& GetReceiver() const
    {
        return m_receiver;
    }

    const WireCounters& Wire() const
    {
        return m_wire;
    }

    /// When the connection was established here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_handshake.EstablishedTime();
    }

    /// When this end gave up, as no answer to its SYNs came, ns; −1: it has not.
    int64_t ConnectFailedTime() const
    {
        return m_handshake.FailedTime();
    }

    /// When the peer acknowledged our FIN, ns; −1: not yet.
    int64_t FinishedTime() const
    {
        return m_finishedTime;
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    /// Take all timers out of the event loop, so that the endpoint may be destroyed before the
    /// simulation ends.
    void Withdraw()
    {
        m_sender.Withdraw();
        m_acks.Withdraw();
        m_handshake.Withdraw();
    }

  private:
    /// What a segment that arrived requires of the next ACK.
    struct Arrival
    {
        AckUrgency urgency;
        bool isAckDue; //!< at once, because of congestion marks
        bool isPushed;
    };

    uint64_t Write(int64_t now, uint64_t bytes, bool isResumed);
    void SendSegments(int64_t now, uint64_t first, uint32_t count, const Segment& last) override;
    void SendWindowProbe(int64_t now) override;
    void ReturnReserve() override;

    /// Charge the host's memory for what the buffers hold.
    void ChargeMemory()
    {
        if (m_memory)
        {
            UpdateCharge();
        }
    }

    void UpdateCharge();
    uint64_t HeldMemory() const;
    /// Let `charged` bytes be our share of the host's memory.
    void Charge(uint64_t charged);
    void SendSyn(int64_t now, bool isAnswer) override;
    void SendAck(int64_t now) override;
    /// Send an ACK with a data ACK. \pre it is a subflow; not inline, as few connections are
    [[gnu::noinline]] void SendDataAck(int64_t now);
    [[gnu::noinline]] void TakeDataAck(int64_t now, const PacketExtras& extras, uint32_t window);
    Packet MakePacket(PacketKind kind) const;
    Acknowledgement MakeAck(int64_t now);
    void Establish(int64_t now, const Packet& packet);
    /// A packet arrives before the connection is established. \returns whether it has data or an
    /// ACK besides its part in the handshake
    bool ShakeHands(int64_t now, const Packet& packet);
    void OnSyn(int64_t now, const Packet& packet);
    void OnSynAck(int64_t now, const Packet& packet);
    Arrival TakeData(int64_t now, const Packet& packet);
    void DeliverData(int64_t now, const Arrival& arrival);
    /// Take in the ECN bits of a data packet. \returns whether an ACK is due at once
    bool TakeMarks(int64_t now, const Packet& packet);
    void OnAck(int64_t now, const Acknowledgement& ack);

    /// Hears what routers say about the path's MTU.
    class MtuEar final : public MtuListener
    {
      public:
        explicit MtuEar(Sender& sender)
            : m_sender(sender)
        {
        }

        void OnPathMtu(int64_t now, uint32_t mtu) override
        {
            m_sender.OnPathMtu(now, mtu);
        }

      private:
        Sender& m_sender;
    };

    // What every packet needs comes first, on few cache lines (hence alignas): where flows are
    // many, each packet finds them cold.
    const TcpSpec& m_spec;
    Channel m_channel;
    PacketSink* m_peer{nullptr};
    TcpMemory* m_memory{nullptr};    //!< of the host; null: without limit
    DataLevel* m_dataLevel{nullptr}; //!< of a subflow; null: it is a connection by itself
    uint32_t m_peerClock{0};         //!< timestamp of the other end's latest ACK, ms
    uint32_t m_echo{0};              //!< timestamp to echo
    bool m_isEstablished{false};     //!< as the handshake's state, which is on another cache line
    bool m_isReceiving{false};       //!< the user is being told of new data; an ACK may follow
    bool m_isL4s{false};             //!< data bears ECT(1)
    EcnEcho m_ecnEcho;
    WireCounters m_wire;
    uint64_t m_charged{0}; //!< our share of m_memory, bytes
    int64_t m_finishedTime{-1};
    Sender m_sender;
    Receiver m_receiver;
    ReceiveRtt m_receiveRtt;
    AckPolicy m_acks;
    TcpHandshake m_handshake;
    MtuEar m_mtuEar{m_sender};
    uint32_t m_peerWindow{0}; //!< the peer's window as told in the handshake, bytes
};

} // namespace tunnelcc

#endif // TUNNELCC_ENDPOINT_H
