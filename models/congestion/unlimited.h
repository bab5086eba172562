/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UNLIMITED_H
#define TUNNELCC_UNLIMITED_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/cubic.h"

#include <cstdint>

/**
 * \file
 * A sender without a congestion window, like the Linux module "TA" of giltu/KernelPCC (a19a4ec,
 * tcp_TA.c). Despite its repository's name, it has nothing of PCC. It is CUBIC, but its window is
 * so large at the start, and wherever CUBIC's curve would raise it, that only buffers and the
 * receiver's window limit the sender. Windows in segments.
 *
 * What is left of congestion control is the transport's and CUBIC's: in recovery no more is sent
 * than was delivered (PRR), and after a time-out slow start begins with one segment; once HyStart
 * or the threshold ends it, the window is without limit again.
 *
 * Left out: the first window of 2·10⁸, the threshold that the kernel's product of 32 bits makes of
 * 0.7 of a window (1.6 or 2.8 million segments; 7 million here), all beyond what a connection can
 * have in flight; connections to port 5000, which skip slow start; and the socket's greatest pacing
 * rate of 1000 bytes/s, which makes bursts of two segments and holds the sender under fq alone.
 */

namespace tunnelcc
{

/// Constants of Unlimited.
struct UnlimitedParameters
{
    uint32_t window{10'000'000}; //!< segments
    double beta{0.7};            //!< threshold after a loss, as part of the window
};

/// CUBIC with a window that never is the limit outside recovery and slow start.
class Unlimited : public Cubic
{
  public:
    explicit Unlimited(const UnlimitedParameters& parameters);

    /// Names, ranges and sources of UnlimitedParameters.
    static const CongestionParameterTable<UnlimitedParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;

  private:
    const uint32_t m_window; //!< segments
};

} // namespace tunnelcc

#endif // TUNNELCC_UNLIMITED_H
