/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FAST_H
#define TUNNELCC_FAST_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"

#include <cstdint>

/**
 * \file
 * FAST TCP after its papers: Jin, Wei and Low, "FAST TCP: Motivation, Architecture, Algorithms,
 * Performance", INFOCOM 2004, and Wei, Jin, Low and Hegde, same title, IEEE/ACM Transactions on
 * Networking 14(6), 2006. Once a round trip, the window w moves by a part gamma towards what would
 * leave alpha segments of the flow in the queue:
 *
 *     w ← min(2·w, (1 − gamma)·w + gamma·(baseRTT/RTT·w + alpha))
 *
 * baseRTT is the least RTT of the connection, RTT a mean in which a sample counts min(3/w, 1/4). In
 * equilibrium, each flow has alpha segments in the queue, whatever its RTT. A loss halves the
 * window.
 *
 * The papers' own Linux code is not public. They do not say how the window moves within a round
 * trip: here it grows by what is acknowledged, until it has its new size. Left out: pacing (the
 * papers' burstiness control), a measurement of baseRTT that recovers from a rise of the path's
 * delay, and alpha that depends on the rate.
 */

namespace tunnelcc
{

/// Constants of FAST.
struct FastParameters
{
    double alpha{20}; //!< segments
    double gamma{0.5};
};

/// Keeps a constant number of segments in the queue.
class Fast : public CongestionControl
{
  public:
    explicit Fast(const FastParameters& parameters);

    /// Names, ranges and sources of FastParameters.
    static const CongestionParameterTable<FastParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    bool WantsDeliveries() const override;
    void OnDelivered(SenderState& state, const AckEvent& event) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;

  private:
    void UpdateWindow(const SenderState& state);

    FastParameters m_parameters;
    double m_window{0};       //!< segments; what SenderState::cwnd grows to
    int64_t m_baseRtt{NEVER}; //!< ns
    double m_meanRtt{0};      //!< ns; 0: no sample yet
    uint64_t m_roundEnd{0};   //!< segment whose ACK ends the round trip
};

} // namespace tunnelcc

#endif // TUNNELCC_FAST_H
