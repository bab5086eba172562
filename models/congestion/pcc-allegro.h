/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PCC_ALLEGRO_H
#define TUNNELCC_PCC_ALLEGRO_H

#include "congestion/congestion-parameters.h"
#include "congestion/pcc-sender.h"

#include <cstdint>
#include <string_view>

/**
 * \file
 * PCC Allegro (Dong et al., "PCC: Re-architecting Congestion Control for Consistent High
 * Performance", NSDI 2015) as in its Linux module (PCCproject/PCC-Kernel 2eeadf0, src/tcp_pcc.c):
 * the rate goes where the utility is higher, T(L) · (1 − L) − L times the rate, with L the share of
 * losses and T a sigmoid that falls at 5 % loss. Four intervals decide on a direction; then the
 * rate moves on, interval by interval, while the utility rises.
 *
 * As in the module, utilities are whole numbers, and slow start compares utilities per rate, which
 * without loss are the same at any rate: it ends with the second interval, near the first rate of
 * 524 kB/s. Its steps are the bytes that an interval delivered, not a doubling. So the way to a
 * fast link is by steps of 1 to 5 %.
 *
 * Left out: a socket's greatest pacing rate. Rates in bytes of payload a second.
 */

namespace tunnelcc
{

/// Constants of PCC Allegro.
struct PccAllegroParameters
{
    double initialRate{524288};    //!< bytes/s
    uint32_t intervalSegments{40}; //!< least segments of an interval
    uint32_t ignoredSegments{5};   //!< not counted at its start and at its end
    double minEpsilon{0.01};       //!< least step of the rate
    double maxEpsilon{0.05};       //!< largest step of the rate
    double lossMargin{0.05};       //!< loss at which the sigmoid has fallen to a half
};

/// Rate by experiments and a utility of losses.
class PccAllegro : public PccSender
{
  public:
    /**
     * \param parameters constants
     * \param stream seeds the order of the intervals
     */
    PccAllegro(const PccAllegroParameters& parameters, int64_t stream);

    /// Names, ranges and sources of PccAllegroParameters.
    static const CongestionParameterTable<PccAllegroParameters>& GetParameterTable();

    std::string_view GetPhase() const override;

    /// Utility of a rate. \param rate bytes/s \param lost,delivered segments
    int64_t GetUtility(int64_t rate, int64_t lost, int64_t delivered) const;

  private:
    /// Where the last experiment went.
    enum class Direction : uint8_t
    {
        UP,
        DOWN,
        STAY
    };

    uint32_t LeastSegments() const override;
    void Begin() override;
    void Resume() override;
    void Judge(const SenderState& state, Interval& interval) const override;
    void GrowInSlowStart(const SenderState& state, int64_t lastUtility) override;
    int64_t FindDirection(const Interval* better) override;
    void Move(const SenderState& state, int64_t lastUtility) override;
    void WidenStep();
    int64_t GetStep(int64_t rate) const;

    const int64_t m_minEpsilon; //!< percent
    const int64_t m_maxEpsilon; //!< percent
    const int64_t m_lossMargin; //!< thousandths of a percent
    Direction m_direction{Direction::UP};
};

} // namespace tunnelcc

#endif // TUNNELCC_PCC_ALLEGRO_H
