/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-experiment.h"

#include "ns3-simulator.h"

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
        Ns3Simulator::Install();
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
RunNs3Experiment(const ExperimentSpec& spec, const ProgressCallback& progress, Capture* capture)
{
    SimulatorScope scope(spec.seed);
    Experiment experiment(Ns3Simulator::Loop(), spec, progress, capture, {});
    Ns3Simulator::Loop().Run();
    return experiment.Finish();
}

} // namespace tunnelcc
