/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment.h"

#include "event/event-loop.h"
#include "recorder.h"
#include "world.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

namespace tunnelcc
{

namespace
{

/// Leaves ns-3's simulator as it was found, whatever happens in between.
class SimulatorScope
{
  public:
    explicit SimulatorScope(uint64_t seed)
    {
        ns3::Simulator::Destroy();
        EventLoop::Install();
        ns3::RngSeedManager::SetSeed(1);
        ns3::RngSeedManager::SetRun(seed);
    }

    ~SimulatorScope()
    {
        ns3::Simulator::Destroy();
    }

    SimulatorScope(const SimulatorScope&) = delete;
    SimulatorScope& operator=(const SimulatorScope&) = delete;
};

} // namespace

ExperimentResult
RunExperiment(const ExperimentSpec& spec, const ProgressCallback& progress, Capture* capture)
{
    SimulatorScope scope(spec.seed);
    World world(spec, capture);
    world.Start();
    Recorder recorder(spec, world, progress);
    ns3::Simulator::Run();
    if (capture)
    {
        capture->Finish();
    }
    return recorder.TakeResult();
}

} // namespace tunnelcc
