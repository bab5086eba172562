/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_SESSION_H
#define TUNNELCC_RUDP_SESSION_H

#include "event/fifo.h"
#include "event/random-stream.h"
#include "event/timer.h"
#include "path/path.h"
#include "rudp-message.h"
#include "rudp-pacer.h"
#include "spec/rudp-spec.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

class RudpEndpoint;

/// The phases of an end's clocks when the simulation begins, ns.
struct RudpPhase
{
    int64_t clock{0}; //!< time since its millisecond clock last advanced
    int64_t pings{0}; //!< time until it first looks whether to ping
    int64_t acks{0};  //!< time until it first looks for numbers to acknowledge
};

/**
 * What all connections of RUDP between two hosts share at one of the hosts: the lock under which
 * they send, the queue of packets to send again, pings, and the clock of ACKs.
 */
class RudpSession final : public PacketSink, private RudpThread
{
  public:
    /**
     * \param spec settings of the connections
     * \param end which end this is
     * \param channel carries the pings
     * \param phase phases of the end's clocks
     * \param draws random stream for how late it looks whether to ping
     */
    RudpSession(EventLoop& loop,
                const RudpSpec& spec,
                End end,
                const Channel& channel,
                const RudpPhase& phase,
                const RandomStream& draws);

    /// Make two objects the two ends of a session. Call before anything is sent.
    static void Join(RudpSession& a, RudpSession& b);

    /// A connection begins here.
    void Add(int64_t now, RudpEndpoint& connection);

    RudpPacer& Pacer()
    {
        return m_pacer;
    }

    /// A packet was sent for the first time: send it again later, if it is not acknowledged.
    void AddResend(int64_t now, RudpEndpoint& connection, uint32_t number);

    /// Call the connection's RudpEndpoint::SendAcks() the next time that this end sends ACKs.
    void ListAcks(int64_t now, RudpEndpoint& connection);

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    /// Whether a ping of this end was answered.
    bool HasPingTime() const
    {
        return m_hasPingTime;
    }

    /// Round-trip time of the latest ping, ms; before the first answer, that of RudpSpec.
    uint32_t PingTime() const
    {
        return m_pingTime;
    }

  private:
    /// A packet that may have to be sent again.
    struct Item
    {
        RudpEndpoint* connection;
        int64_t time; //!< ms
        uint32_t number;
        uint32_t count; //!< how often the thread has looked at it
    };

    int64_t Clock(int64_t now) const;
    void Open(int64_t now);
    void Close(int64_t now);
    void SendMessage(int64_t now, RudpMessage kind, uint32_t number, uint32_t bytes);
    void OnPingTime(int64_t now);
    void OnAckTime(int64_t now);
    int64_t ResendTime(int64_t now) const;
    void OnResendTime(int64_t now);
    void ResendNext(int64_t now);
    void Requeue(int64_t now);
    uint32_t Send(int64_t now) override;
    void GoOn(int64_t now) override;

    const RudpSpec m_spec;
    const End m_end;
    const RudpPhase m_phase;
    Channel m_channel;
    RandomStream m_draws;
    RudpSession* m_peer{nullptr};
    RudpPacer m_pacer;
    bool m_isOpen{false};
    std::vector<RudpEndpoint*> m_connections; //!< open connections

    // Pings
    int64_t m_pingSent{-1};           //!< when the latest ping was sent, ms
    int64_t m_replyTime{0};           //!< when the latest answer arrived, ms
    uint32_t m_pingTime{0};           //!< round-trip time that it showed, ms
    bool m_hasPingTime{false};        //!< m_pingTime was measured, and is not RudpSpec's
    std::vector<int64_t> m_pingTimes; //!< when each was sent, ms
    uint32_t m_firstPing{0};          //!< number of the first ping since the session opened
    Timer<RudpSession, &RudpSession::OnPingTime> m_pingTimer;

    // ACKs
    std::vector<RudpEndpoint*> m_listed; //!< connections that have ACKs to send
    Timer<RudpSession, &RudpSession::OnAckTime> m_ackTimer;

    // What is sent again
    Fifo<Item> m_items;
    Item m_item{};            //!< the packet that the thread is sending again
    bool m_isSending{false};  //!< the thread waits for the lock, or sleeps
    uint32_t m_itemLength{0}; //!< payload of m_item, bytes
    Timer<RudpSession, &RudpSession::OnResendTime> m_resendTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SESSION_H
