/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_PROBE_H
#define TUNNELCC_LEG_PROBE_H

#include "experiment-result.h"
#include "transport/send-limits.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

class DatagramSocket;
class KcpEndpoint;
class QuicConnection;
class QuicPath;
class RudpEndpoint;
class TcpEndpoint;

/// Samples one connection, in the direction of its data.
class LegProbe
{
  public:
    virtual ~LegProbe() = default;

    /// The warm-up is over: totals count from now on.
    virtual void StartMeasuring(int64_t now) = 0;

    /// Append one value to each series. \param interval time since the last sample, s
    virtual void Sample(double interval) = 0;

    /// The run is over: fill in the counts.
    virtual void Finish(int64_t now) = 0;
};

/// Time for which each limit held between two moments. \param start,end the times until then
LimitTimes TimesBetween(const SendLimits::Times& start, const SendLimits::Times& end);

/**
 * Make the probe of a connection.
 * \param sender end that sends the data
 * \param receiver the other end
 * \param result where series and counts go; must outlive the probe. If it has a place for the state
 * of the congestion control, that is sampled, too.
 */
std::unique_ptr<LegProbe> MakeLegProbe(const TcpEndpoint& sender,
                                       const TcpEndpoint& receiver,
                                       LegResult& result);

/// The same for a session of KCP.
std::unique_ptr<LegProbe> MakeLegProbe(const KcpEndpoint& sender,
                                       const KcpEndpoint& receiver,
                                       LegResult& result);

/// The same for a connection of RUDP.
std::unique_ptr<LegProbe> MakeLegProbe(const RudpEndpoint& sender,
                                       const RudpEndpoint& receiver,
                                       LegResult& result);

/// The same for a connection of QUIC.
std::unique_ptr<LegProbe> MakeLegProbe(const QuicConnection& sender,
                                       const QuicConnection& receiver,
                                       LegResult& result);

/// The same for one of its paths, if it has several.
std::unique_ptr<LegProbe> MakeLegProbe(const QuicPath& sender,
                                       const QuicPath& receiver,
                                       LegResult& result);

/// The same for a flow of datagrams, which has no window and resends nothing.
std::unique_ptr<LegProbe> MakeLegProbe(const DatagramSocket& sender,
                                       const DatagramSocket& receiver,
                                       LegResult& result);

} // namespace tunnelcc

#endif // TUNNELCC_LEG_PROBE_H
