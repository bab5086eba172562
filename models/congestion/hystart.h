/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HYSTART_H
#define TUNNELCC_HYSTART_H

#include "congestion/congestion-control.h"
#include "event/time-units.h"

#include <cstdint>

/**
 * \file
 * HyStart, which ends slow start before it overflows the path: Ha and Rhee, "Taming the Elephants:
 * New TCP Slow Start", Computer Networks 55 (2011), with the thresholds of Linux tcp_cubic.c (5.10
 * with the fixes of 5.16, to 6.18).
 *
 * Two detectors run once the window is large enough: a train of closely spaced ACKs that lasts
 * longer than the path's delay (half of it when the sender does not pace), and a rise of the least
 * RTT of a round above the least one of the connection.
 */

namespace tunnelcc
{

/// Detects the end of slow start.
class HyStart
{
  public:
    /// Thresholds; defaults as in Linux tcp_cubic.c.
    struct Parameters
    {
        bool useAckTrain{true};        //!< HYSTART_ACK_TRAIN
        bool useDelay{true};           //!< HYSTART_DELAY
        uint32_t lowWindow{16};        //!< segments; `hystart_low_window`
        int64_t ackSpacing{2 * MS};    //!< between ACKs of a train; `hystart_ack_delta_us`
        int64_t minDelayRise{4 * MS};  //!< HYSTART_DELAY_MIN
        int64_t maxDelayRise{16 * MS}; //!< HYSTART_DELAY_MAX
        uint32_t minSamples{8};        //!< RTT samples a round; HYSTART_MIN_SAMPLES
    };

    HyStart() = default;
    explicit HyStart(const Parameters& parameters);

    /// Start a round of RTT samples at the data sent next.
    void StartRound(const SenderState& state, int64_t now);

    /**
     * Take an RTT sample in slow start.
     *
     * \param state the connection
     * \param now time, ns
     * \param rtt the sample, ns
     * \param minRtt least RTT since the last time-out, this sample included, ns
     * \returns whether slow start is to end here
     */
    bool OnRtt(const SenderState& state, int64_t now, int64_t rtt, int64_t minRtt);

  private:
    /// Process an ACK. \returns whether the train that it belongs to is too long
    bool FollowTrain(const SenderState& state, int64_t now, int64_t minRtt);
    /// Process an RTT sample, ns. \returns whether RTTs of the round have risen too far
    bool FollowDelay(int64_t rtt, int64_t minRtt);

    Parameters m_parameters;
    uint64_t m_roundEnd{0};       //!< segment whose ACK ends the round
    int64_t m_roundStart{0};      //!< ns
    int64_t m_lastTrainAck{0};    //!< ns
    int64_t m_roundMinRtt{NEVER}; //!< ns
    uint32_t m_samples{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_HYSTART_H
