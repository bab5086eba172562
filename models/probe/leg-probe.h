/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_PROBE_H
#define TUNNELCC_LEG_PROBE_H

#include "experiment-result.h"
#include "transport/endpoint.h"

namespace tunnelcc
{

/// Samples one connection, in the direction of its data.
class LegProbe
{
  public:
    virtual ~LegProbe() = default;

    /// The warm-up is over.
    virtual void StartMeasuring(int64_t now) = 0;

    /// Append one value to each series. \param interval time since the last sample, s
    virtual void Sample(double interval) = 0;

    /// The run is over: fill in the counts.
    virtual void Finish(int64_t now) = 0;
};

/// How long each limit held from one time to another. \param start,end times up to the two
LimitTimes TimesBetween(const SendLimits::Times& start, const SendLimits::Times& end);

/// Samples a TCP connection.
class TcpLegProbe final : public LegProbe
{
  public:
    /**
     * \param sender end that sends the data
     * \param receiver the other end
     * \param probesCongestion sample the state of the congestion control, too
     * \param result where series and counts go; must outlive the probe
     */
    TcpLegProbe(const TcpEndpoint& sender,
                const TcpEndpoint& receiver,
                bool probesCongestion,
                LegResult& result);

    void StartMeasuring(int64_t now) override;
    void Sample(double interval) override;
    void Finish(int64_t now) override;

  private:
    const TcpEndpoint& m_sender;
    const TcpEndpoint& m_receiver;
    LegResult& m_result;
    SenderCounters m_atStart;
    SendLimits::Times m_limitsAtStart{};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_LEG_PROBE_H
