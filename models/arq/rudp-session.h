/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_SESSION_H
#define TUNNELCC_RUDP_SESSION_H

#include "event/fifo.h"
#include "event/random-stream.h"
#include "event/timer.h"
#include "path/path.h"
#include "rudp-log.h"
#include "rudp-pacer.h"
#include "spec/rudp-spec.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

class RudpEndpoint;

/// Where the clocks of an end are when the simulation begins, ns.
struct RudpPhase
{
    int64_t clock{0}; //!< how far its ms has gone
    int64_t pings{0}; //!< until it first looks whether to ping
    int64_t acks{0};  //!< until it first looks for numbers to acknowledge
};

/**
 * What all connections of RUDP between two hosts have in common, at one of them: the lock under
 * which they send, the queue of packets to send again, pings, and the clock of ACKs.
 */
class RudpSession final : public PacketSink, private RudpThread
{
  public:
    /**
     * \param spec of the connections
     * \param end which this is
     * \param channel where pings go
     * \param phase of the end's clocks
     * \param draws of how late it looks whether to ping
     */
    RudpSession(const RudpSpec& spec,
                End end,
                const Channel& channel,
                const RudpPhase& phase,
                const RandomStream& draws);

    /// Tie two ends together. Call before anything is sent.
    static void Join(RudpSession& a, RudpSession& b);

    /// A connection begins here.
    void Add(int64_t now, RudpEndpoint& connection);

    RudpPacer& Pacer()
    {
        return m_pacer;
    }

    /// A packet was sent for the first time: send it again later, if it is not acknowledged.
    void AddResend(int64_t now, RudpEndpoint& connection, uint32_t number);

    /// There is something to tell a connection's peer, by RudpEndpoint::SendAcks() the next time
    /// that ACKs leave.
    void ListAcks(int64_t now, RudpEndpoint& connection);

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

    /// Whether a ping of this end was answered.
    bool HasPingTime() const
    {
        return m_hasPingTime;
    }

    /// Time that the latest ping took, ms; before the first answer RudpSpec's.
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
        uint32_t count; //!< times that it was looked at
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
    std::vector<RudpEndpoint*> m_connections; //!< that are open

    // Pings
    int64_t m_pingSent{-1};           //!< the latest, ms
    int64_t m_replyTime{0};           //!< of the latest answer, ms
    uint32_t m_pingTime{0};           //!< time that it took, ms
    bool m_hasPingTime{false};        //!< it is not the first one of RudpSpec
    std::vector<int64_t> m_pingTimes; //!< when each was sent, ms
    uint32_t m_firstPing{0};          //!< since the session is open
    Timer<RudpSession, &RudpSession::OnPingTime> m_pingTimer;

    // ACKs
    std::vector<RudpEndpoint*> m_listed; //!< that have something to tell
    Timer<RudpSession, &RudpSession::OnAckTime> m_ackTimer;

    // What is sent again
    Fifo<Item> m_items;
    Item m_item{};            //!< the thread is at it
    bool m_isSending{false};  //!< it waits for the lock, or sleeps
    uint32_t m_itemLength{0}; //!< bytes of its data
    Timer<RudpSession, &RudpSession::OnResendTime> m_resendTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SESSION_H
