/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BYTE_SAMPLER_H
#define TUNNELCC_BYTE_SAMPLER_H

#include "congestion/windowed-max-filter.h"
#include "event/fifo.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * Bandwidth samples of packets, in bytes, as Chromium's QUIC takes them (hysteria cb70589,
 * core/internal/congestion/bbr/bandwidth_sampler.go).
 *
 * A packet's sample is the lower of a sending rate and an ACK rate. Let A be the packet that was
 * last acknowledged when this one left. The sending rate is that from A to this packet; the ACK
 * rate is that from the ACK of A until now. A loss lowers the ACK rate only, where Linux divides
 * what was delivered by the longer of the two times.
 */
class ByteSampler
{
  public:
    /// The connection's state when a packet was sent.
    struct SentState
    {
        bool isKnown{false};
        bool isAppLimited{false};
        uint64_t inFlight{0}; //!< bytes; its own are counted twice, as in the source
        uint64_t acked{0};    //!< bytes that had been acknowledged
    };

    /// The sample of a packet that was acknowledged.
    struct Sample
    {
        SentState sent;      //!< state when it was sent; if unknown, there is no sample
        double bandwidth{0}; //!< bytes/s
        int64_t rtt{0};      //!< ns, with the delay of the ACK
    };

    /// A packet is sent. \param inFlight bytes, this packet's included  \param asks for an ACK
    void OnSent(int64_t now, uint64_t number, uint32_t bytes, uint64_t inFlight, bool asks);

    /// A packet is acknowledged.
    Sample OnAcked(int64_t now, uint64_t number);

    /// A packet of `bytes` is lost.
    SentState OnLost(uint64_t number, uint32_t bytes);

    /// The application limits the sender: samples of what was sent until now may be too low.
    void MarkAppLimited();

    /// An event was processed. \param bandwidth the largest, this event's included, bytes/s
    void OnEventEnd(double bandwidth, uint32_t round);

    /// Forget packets before this one: they are acknowledged or lost, or will give no sample.
    void Forget(uint64_t number);

    uint64_t Acked() const
    {
        return m_acked;
    }

    uint64_t Lost() const
    {
        return m_lost;
    }

    /// Most bytes that were acknowledged beyond what the bandwidth explains, in the last rounds.
    uint64_t AckHeight() const
    {
        return m_ackHeight.Get();
    }

  private:
    static constexpr uint64_t NONE = UINT64_MAX;
    static constexpr int64_t NOT_ACKED = -1;
    static constexpr uint32_t ROUNDS = 10; //!< of AckHeight(): bandwidthWindowSize

    struct Packet
    {
        SentState state;
        uint32_t bytes{0};
        int64_t time{0};                      //!< when it was sent, ns
        uint64_t sent{0};                     //!< bytes sent until then, its own included
        uint64_t sentAtLastAcked{0};          //!< `sent` of A, see ByteSampler
        int64_t lastAckedSentTime{NOT_ACKED}; //!< when A was sent, ns
        int64_t lastAckedTime{0};             //!< when A was acknowledged, ns
    };

    const Packet* Find(uint64_t number) const;

    Fifo<Packet> m_packets;
    uint64_t m_first{0}; //!< number of the first in m_packets
    uint64_t m_sent{0};  //!< bytes
    uint64_t m_acked{0};
    uint64_t m_lost{0};
    uint64_t m_sentAtLastAcked{0};
    int64_t m_lastAckedSentTime{NOT_ACKED};
    int64_t m_lastAckedTime{0};
    uint64_t m_lastSent{NONE}; //!< numbers
    bool m_isAppLimited{false};
    uint64_t m_limitedUntil{NONE}; //!< the packet whose successors end it

    // Aggregation of ACKs.
    WindowedMaxFilter<uint64_t> m_ackHeight; //!< bytes, by round
    uint64_t m_ackedBefore{0};               //!< at the end of the last event
    int64_t m_epochStart{NOT_ACKED};
    uint64_t m_epochBytes{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_BYTE_SAMPLER_H
