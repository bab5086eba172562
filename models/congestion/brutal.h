/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BRUTAL_H
#define TUNNELCC_BRUTAL_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"

#include <array>
#include <cstdint>
#include <limits>

/**
 * \file
 * TCP Brutal (apernet/tcp-brutal 204aeea, brutal.c, version 1.0.2): sends at a rate that the user
 * sets, and faster the more is lost. The sender paces at rate / share, where share is the part of
 * the segments of the last seconds that arrived, but at least a floor. Losses have no other effect.
 *
 * The rate is in bytes of payload a second, as pacing is in Linux. As in the source, the share is a
 * whole percentage and counts whole seconds, losses count when an ACK shows them (not those that a
 * timer finds), the RTT is in whole milliseconds, the window is not below four segments, and before
 * the first delivery nothing is paced.
 *
 * Hysteria 2's (hysteria cb70589, core/internal/congestion/brutal), for QUIC, has the same rule
 * (`exact`), but rounds neither the share nor the RTT, paces from the start, has a window of a
 * segment at least, and its rate is in bytes of QUIC packets.
 *
 * Left out: the source has 1 Mbit/s until the application sets a rate, here it is set from the
 * start; kernels with little room for an algorithm's data have fewer seconds, 3 at least (`slots`).
 */

namespace tunnelcc
{

/// Constants of Brutal.
struct BrutalParameters
{
    double rate{std::numeric_limits<double>::quiet_NaN()}; //!< payload bytes/s; has no default
    double cwndGain{2};                                    //!< window, times rate · RTT
    double minAckRate{0.8};                                //!< least share that is believed
    uint32_t slots{5};                                     //!< s
    uint32_t minSamples{50};                               //!< segments
    bool exact{false};                                     //!< compute as Hysteria 2 does
};

/// A constant rate, raised by what is lost.
class Brutal : public CongestionControl
{
  public:
    explicit Brutal(const BrutalParameters& parameters);

    /// Names, ranges and sources of BrutalParameters.
    static const CongestionParameterTable<BrutalParameters>& GetParameterTable();

    bool HasCongControl() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;

    /// Part of the segments of the last seconds that arrived, percent, not below the floor.
    double GetAckRate(int64_t now) const;

  private:
    void Set(SenderState& state, int64_t now) const;

    /// Most seconds that are remembered.
    static constexpr uint32_t MAX_SLOTS = 60;

    /// Segments that ACKs of one second showed to be delivered or lost.
    struct Slot
    {
        int64_t second{-1}; //!< −1: never used
        uint64_t acked{0};  //!< segments
        uint64_t lost{0};   //!< segments
    };

    BrutalParameters m_parameters;
    uint32_t m_slotCount;
    double m_minAckRate; //!< percent
    std::array<Slot, MAX_SLOTS> m_slots{};
};

} // namespace tunnelcc

#endif // TUNNELCC_BRUTAL_H
