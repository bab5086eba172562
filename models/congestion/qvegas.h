/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QVEGAS_H
#define TUNNELCC_QVEGAS_H

#include "congestion/vegas.h"

#include <cstdint>

/**
 * \file
 * QVegas (marywangran/qvegas a767fe0, tcp_qvegas.c): Vegas with a window of its own.
 * That window changes once a round trip by Vegas's rule. It is restored whenever the connection is
 * back in the state Open, so that a loss costs no more than the round trips of its recovery. In
 * between, the window is Reno's: half after a loss, and grown by Reno wherever Vegas pauses.
 *
 * As in the source, what slow start adds during a round trip is dropped when Vegas's window is put
 * back at its end, so that the window grows by some segments a round trip rather than doubling; and
 * Vegas's window is at least four segments.
 *
 * Left out: the microseconds that the kernel counts in, and Reno's part of the window, which the
 * source takes off a value that it then overwrites.
 */

namespace tunnelcc
{

/// Window from the delay that it causes, whatever is lost.
class QVegas : public Vegas
{
  public:
    explicit QVegas(const VegasParameters& parameters);

    /// Names, ranges and sources of VegasParameters.
    static const CongestionParameterTable<VegasParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;

    /// Vegas's own window, which is put back (lost_cwnd), segments.
    uint32_t GetVegasWindow() const
    {
        return m_vegasWindow;
    }

  private:
    void EndRound(SenderState& state, uint32_t acked) override;
    uint32_t GetLoweredSsThresh(const SenderState& state) const override;

    uint32_t m_vegasWindow{0}; //!< segments
};

} // namespace tunnelcc

#endif // TUNNELCC_QVEGAS_H
