/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PCC_VIVACE_H
#define TUNNELCC_PCC_VIVACE_H

#include "congestion/congestion-parameters.h"
#include "congestion/pcc-sender.h"

#include <cstdint>
#include <string_view>

/**
 * \file
 * PCC Vivace (Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018) as in its
 * Linux module (PCCproject/PCC-Kernel, branch vivace, ed39d0f, src/tcp_pcc.c): the rate x follows
 * the gradient of the utility x − 900 · x · (growth of the RTT, s/s) − 11 · x · (share of losses).
 * The authors' program in user space (PCCproject/PCC-Uspace) begins with x^0.9 instead, and
 * has 11.35.
 *
 * As in the module: the rate grows by half a step in slow start, which ends when the utility falls
 * and heeds losses from 10 % on only; four intervals at ±5 % decide whether to move; the first step
 * after that is one of 2.2 % upwards, whatever they decided, because both rates that it compares
 * are the same; later ones follow the gradient; a step downwards begins a new experiment.
 *
 * Left out: a socket's greatest pacing rate. Rates in bytes of payload a second; fractions are
 * whole thousandths, as in the module.
 */

namespace tunnelcc
{

/// Constants of PCC Vivace.
struct PccVivaceParameters
{
    double initialRate{524288};    //!< bytes/s
    uint32_t intervalSegments{50}; //!< least segments of an interval
    uint32_t ignoredSegments{10};  //!< not counted at its start and at its end
    double epsilon{0.05};          //!< experiments: relative distance from the rate
    double delayCoefficient{900};  //!< weight of the RTT's growth, s/s
    double lossCoefficient{11};    //!< weight of the share of losses
    double delayFilter{0.03};      //!< growth of the RTT that is ignored, s/s
    double gradientStep{25};       //!< step, thousandths of bytes/s per thousandth of the gradient
    double minDifference{0.02};    //!< least relative difference of two rates for a gradient
    double changeBound{0.1};       //!< largest first step, part of the rate
    double changeBoundStep{0.07};  //!< more of it for each step that reached it
    uint32_t minAmplifier{2};      //!< least factor of the step
    uint32_t maxSwing{2}; //!< steps that do not raise the factor, after changes of direction
};

/// Rate by the gradient of a utility of delay and losses.
class PccVivace : public PccSender
{
  public:
    /**
     * \param parameters constants
     * \param stream seeds the order of the intervals
     */
    PccVivace(const PccVivaceParameters& parameters, int64_t stream);

    /// Names, ranges and sources of PccVivaceParameters.
    static const CongestionParameterTable<PccVivaceParameters>& GetParameterTable();

    std::string_view GetPhase() const override;

  private:
    void Begin() override;
    void Judge(const SenderState& state, Interval& interval) const override;
    void GrowInSlowStart(const SenderState& state, int64_t lastUtility) override;
    int64_t FindDirection(const Interval* better) override;
    void Move(const SenderState& state, int64_t lastUtility) override;
    int64_t GetDelayGrowth(const SenderState& state, const Interval& interval) const;
    int64_t GetStep(int64_t lastUtility);
    int64_t GetGradient(int64_t lastUtility) const;
    void UpdateAmplifier(int64_t step);
    int64_t BoundStep(int64_t step);

    PccVivaceParameters m_parameters;
    const int64_t m_delayFilter;     //!< thousandths
    const int64_t m_minDifference;   //!< thousandths
    const int64_t m_minChangeBound;  //!< thousandths of the rate
    const int64_t m_changeBoundStep; //!< thousandths of the rate
    int64_t m_amplifier;
    int64_t m_swing{0};
    int64_t m_changeBound; //!< thousandths of the rate
};

} // namespace tunnelcc

#endif // TUNNELCC_PCC_VIVACE_H
