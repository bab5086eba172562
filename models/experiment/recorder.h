/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECORDER_H
#define TUNNELCC_RECORDER_H

#include "event/timer.h"
#include "probe/experiment-result.h"
#include "probe/host-probe.h"
#include "probe/leg-probe.h"
#include "probe/link-probe.h"
#include "probe/packet-tunnel-probe.h"
#include "spec/experiment-spec.h"
#include "world.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// Called with the simulated time so far, s. \returns false to stop the run
using ProgressCallback = std::function<bool(double)>;

/// Samples a world at fixed times, ends the run, and fills in the result.
class Recorder
{
  public:
    /**
     * \param loop that the world runs on
     * \param spec the experiment
     * \param world what to watch
     * \param progress called a few times a second of wall time; may be empty
     */
    Recorder(EventLoop& loop,
             const ExperimentSpec& spec,
             World& world,
             const ProgressCallback& progress);

    /// The result; complete once the experiment's duration is over.
    ExperimentResult TakeResult()
    {
        return std::move(m_result);
    }

  private:
    void AddNetwork();
    void AddTunnels();
    void AddLegs();
    void AddLeg(const Leg& leg, End sender);
    void CatchUp(int64_t now);
    void OnWarmupEnd(int64_t now);
    void OnSample(int64_t now);
    /// End the run now if the goodput is known as well as the experiment wants it.
    void EndIfKnown(int64_t now);
    void OnProgress(int64_t now);
    void OnEnd(int64_t now);
    void FinishFlow(int64_t now, size_t index);
    /// Application bytes that a flow's receiver has read.
    uint64_t BytesRead(size_t index) const;
    /// Where the series of a flow of datagrams goes.
    std::vector<double>& DelaySeriesOf(size_t index);
    /// Times until `now` of each stream of a flow on a shared carrier, from the client on.
    std::vector<SendLimits::Times> ChannelTimes(int64_t now, size_t index) const;

    EventLoop& m_loop;
    const ExperimentSpec& m_spec;
    World& m_world;
    const ProgressCallback& m_progress;
    ExperimentResult m_result;
    std::vector<LinkProbe> m_links; //!< both directions of each
    std::vector<HostProbe> m_hosts;
    std::vector<PacketTunnelProbe> m_tunnels; //!< both directions of each that carries packets
    std::vector<std::unique_ptr<LegProbe>> m_legs;
    /// Sockets before receivers, and what they dropped before measuring.
    std::vector<std::pair<const UdpSocket*, uint64_t>> m_sockets;
    std::vector<bool> m_crossesPath;     //!< of each leg, whether pathSegments counts it
    size_t m_firstTraffic{0};            //!< number of the first flow that is cross traffic
    size_t m_firstPing{0};               //!< … a ping
    std::vector<uint64_t> m_readAtStart; //!< application bytes read by each flow before measuring
    std::vector<uint64_t> m_lastRead;    //!< … before the latest sample
    std::vector<double> m_goodputs;      //!< of all flows, each sample after the warm-up, bit/s
    size_t m_nextLook{0};                //!< so many of these decide next whether the run ends
    std::vector<std::vector<SendLimits::Times>> m_channelsAtStart; //!< of each flow
    std::chrono::steady_clock::time_point m_lastProgress{std::chrono::steady_clock::now()};
    Timer<Recorder, &Recorder::OnWarmupEnd> m_warmupTimer;
    Timer<Recorder, &Recorder::OnSample> m_sampleTimer;
    Timer<Recorder, &Recorder::OnProgress> m_progressTimer;
    Timer<Recorder, &Recorder::OnEnd> m_endTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_RECORDER_H
