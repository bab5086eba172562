/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QVEGAS_H
#define TUNNELCC_QVEGAS_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"
#include "congestion/vegas-round.h"

#include <cstdint>

/**
 * \file
 * QVegas (marywangran/qvegas a767fe0, tcp_qvegas.c): Vegas with a window of its own.
 * It changes once a round trip by Vegas's rule, and it is put back whenever the connection is in
 * order again (state Open), so that a loss costs no more than the round trips of its recovery.
 * Meanwhile the window is Reno's: half of it after a loss, and grown by Reno wherever Vegas pauses.
 *
 * As in the source, what slow start adds during a round trip is dropped when Vegas's window is put
 * back at its end, so that the window grows by some segments a round trip rather than doubling; and
 * Vegas's window is at least four segments.
 *
 * Left out: the microseconds that the kernel counts in, and Reno's part of the window, which the
 * source takes off a value that it then overwrites. Windows in segments.
 */

namespace tunnelcc
{

/// Constants of QVegas.
struct QVegasParameters
{
    double alpha{2}; //!< segments
    double beta{4};  //!< segments
    double gamma{1}; //!< segments
};

/// Window from the delay that it causes, whatever is lost.
class QVegas : public CongestionControl
{
  public:
    explicit QVegas(const QVegasParameters& parameters);

    /// Names, ranges and sources of QVegasParameters.
    static const CongestionParameterTable<QVegasParameters>& GetParameterTable();

    void Init(TcpState& state, int64_t now) override;
    uint32_t GetSsThresh(TcpState& state, int64_t now) override;
    void OnAck(TcpState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(TcpState& state, CaState next, int64_t now) override;
    void OnTransmitStart(TcpState& state, int64_t now, int64_t idle) override;
    uint32_t GetUndoCwnd(TcpState& state, uint32_t priorCwnd) override;

    /// Vegas's own window, which is put back (lost_cwnd), segments.
    uint32_t GetVegasWindow() const
    {
        return m_vegasWindow;
    }

  private:
    void AdjustWindow(TcpState& state, uint32_t acked);

    QVegasParameters m_parameters;
    AdditiveIncrease m_increase;
    VegasRound m_round;
    bool m_isOn{true};         //!< only in the open state
    uint32_t m_vegasWindow{0}; //!< segments
};

} // namespace tunnelcc

#endif // TUNNELCC_QVEGAS_H
