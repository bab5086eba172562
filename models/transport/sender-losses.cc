/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

/**
 * \file
 * What a sender tells a congestion control that asks for it of losses, and of the flight that each
 * segment was sent in (draft-ietf-ccwg-bbr, sections 4.1.2.2 and 5.2.4: P.tx_in_flight, P.lost).
 */
namespace tunnelcc
{

uint64_t
Sender::LostWhenSent(const Flight& flight) const
{
    return m_lost - (static_cast<uint32_t>(m_lost) - flight.lost);
}

void
Sender::NoteLoss(int64_t now, uint64_t number)
{
    ++m_lost;
    if (!m_wantsLosses)
    {
        return;
    }
    SyncState();
    const Flight& flight = m_board.FlightAt(number);
    m_congestion->OnSegmentLost(m_state,
                                {number,
                                 flight.inFlight,
                                 LostWhenSent(flight),
                                 m_board.At(number).Has(Segment::APP_LIMITED)},
                                now);
}

void
Sender::CompleteRateSample(RateSample& sample)
{
    // No segment has been sent since, so that the slot of the sampled one is as it was.
    auto number = m_wantsLosses ? m_rate.SampledSegment() : std::nullopt;
    if (number)
    {
        const Flight& flight = m_board.FlightAt(*number);
        sample.txInFlight = flight.inFlight;
        sample.priorLost = LostWhenSent(flight);
    }
}

} // namespace tunnelcc
