/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ENDPOINT_PROBE_H
#define TUNNELCC_ENDPOINT_PROBE_H

#include "leg-probe.h"

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace tunnelcc
{

/// What the probes of all protocols have in common.
template <class Endpoint>
class EndpointProbe : public LegProbe
{
  public:
    EndpointProbe(const Endpoint& sender, const Endpoint& receiver, LegResult& result)
        : m_sender(sender),
          m_receiver(receiver),
          m_result(result)
    {
    }

    void StartMeasuring(int64_t now) override
    {
        m_limitsAtStart = m_sender.Limits().Until(now);
        m_atStart = m_sender.GetSender().Counters();
        m_readAtStart = m_receiver.GetReceiver().TotalRead();
    }

  protected:
    /// Sample the rates. \param interval as for Sample() \param wire IP bytes sent so far
    void SampleFlow(double interval, uint64_t wire)
    {
        const uint64_t read = m_receiver.GetReceiver().TotalRead();
        m_result.goodputSeries.push_back(static_cast<double>(read - m_lastRead) * 8 / interval);
        m_result.throughput.push_back(static_cast<double>(wire - m_lastWire) * 8 / interval);
        m_result.inFlight.push_back(static_cast<double>(m_sender.GetSender().BytesInFlight()));
        m_lastRead = read;
        m_lastWire = wire;
    }

    /// Sample the smoothed RTT, if the connection is not over: then it no longer changes.
    /// \param smoothed ns
    void SampleRtt(int64_t smoothed)
    {
        const bool isOver = m_sender.FinishedTime() >= 0;
        PushRtt(isOver ? 0 : Seconds(smoothed));
    }

    /// Append an RTT. \param rtt s; 0: not known yet
    void PushRtt(double rtt)
    {
        m_result.srtt.push_back(rtt > 0 ? rtt : std::numeric_limits<double>::quiet_NaN());
    }

    /// Fill in the bytes delivered, and how long each limit held.
    void FinishFlow(int64_t now)
    {
        m_result.limits = TimesBetween(m_limitsAtStart, m_sender.Limits().Until(now));
        m_result.payloadBytes = m_receiver.GetReceiver().TotalRead() - m_readAtStart;
        m_result.establishedAt = Moment(m_sender.EstablishedTime());
    }

    using Counters = std::decay_t<decltype(std::declval<Endpoint>().GetSender().Counters())>;

    const Endpoint& m_sender;
    const Endpoint& m_receiver;
    LegResult& m_result;
    Counters m_atStart; //!< the sender's counters when measuring began

  private:
    SendLimits::Times m_limitsAtStart{};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_ENDPOINT_PROBE_H
