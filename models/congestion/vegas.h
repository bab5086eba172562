/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_VEGAS_H
#define TUNNELCC_VEGAS_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"
#include "congestion/vegas-round.h"

#include <cstdint>
#include <string>

/**
 * \file
 * Vegas (Brakmo, O'Malley, Peterson, "TCP Vegas: New Techniques for Congestion Detection and
 * Avoidance", SIGCOMM 1994) as in Linux net/ipv4/tcp_vegas.c (5.10 to 6.18): once a round trip the
 * window moves by one segment so that between alpha and beta segments wait in the queue. Losses are
 * answered as by Reno.
 *
 * Left out: the microseconds that the kernel counts in.
 */

namespace tunnelcc
{

/// Constants of Vegas.
struct VegasParameters
{
    uint32_t alpha{2}; //!< segments
    uint32_t beta{4};  //!< segments
    uint32_t gamma{1}; //!< segments
};

/// Window from the delay that it causes.
class Vegas : public CongestionControl
{
  public:
    explicit Vegas(const VegasParameters& parameters);

    /// Names, ranges and sources of VegasParameters.
    static const CongestionParameterTable<VegasParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    bool WantsDeliveries() const override;
    void OnDelivered(SenderState& state, const AckEvent& event) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;

    /// Least RTT since the connection was last idle (baseRTT), ns; NEVER before a sample.
    int64_t GetBaseRtt() const
    {
        return m_round.GetBaseRtt();
    }

  protected:
    /**
     * \param parameters constants
     * \param minWindow least window that a round trip leaves, segments
     */
    Vegas(const VegasParameters& parameters, uint32_t minWindow);

    /// The table of the source file `file`.
    static CongestionParameterTable<VegasParameters> MakeParameterTable(const std::string& file);

    /// Begin to decide by the delay, with a new baseRTT (vegas_enable()).
    void Enable(const SenderState& state);

    /// A round trip of the open state is over: set the window by its delay.
    virtual void EndRound(SenderState& state, uint32_t acked);

    /// Threshold once the window has moved down to SenderState::cwnd.
    virtual uint32_t GetLoweredSsThresh(const SenderState& state) const;

  private:
    void AdjustWindow(SenderState& state, uint32_t acked);

    const VegasParameters m_parameters;
    const uint32_t m_minWindow; //!< segments
    AdditiveIncrease m_increase;
    VegasRound m_round;
    bool m_isOn{true}; //!< only in the open state
};

} // namespace tunnelcc

#endif // TUNNELCC_VEGAS_H
