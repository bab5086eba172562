/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SIMULATION_TEST_CASE_H
#define TUNNELCC_SIMULATION_TEST_CASE_H

#include "event/event-loop.h"
#include "event/time-units.h"
#include "interop/ns3-simulator.h"
#include "support/test-case.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>

namespace tunnelcc
{

/// The event loop of the test cases.
inline EventLoop&
TestLoop()
{
    return Ns3Simulator::Loop();
}

/// A test case with an event loop of its own, at time zero.
class SimulationTestCase : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  protected:
    /// Run the events up to and including those of `time` ns.
    static void RunUntil(int64_t time)
    {
        ns3::Simulator::Stop(ns3::NanoSeconds(time) - ns3::Simulator::Now());
        ns3::Simulator::Run();
    }

    /// Call `function` at `time` ns, after what the models do then.
    template <class F>
    static ns3::EventId At(int64_t time, F function)
    {
        return ns3::Simulator::Schedule(ns3::NanoSeconds(time) - ns3::Simulator::Now(), function);
    }

  private:
    void DoSetup() override
    {
        Ns3Simulator::Install();
    }

    void DoTeardown() override
    {
        ns3::Simulator::Destroy();
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_SIMULATION_TEST_CASE_H
