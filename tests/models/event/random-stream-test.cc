/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what streams of random numbers depend on.
 */
#include "event/random-stream.h"
#include "support/simulation-test-case.h"

#include <cstdint>

namespace
{

using namespace tunnelcc;

class RandomStreamTest : public SimulationTestCase
{
  public:
    RandomStreamTest()
        : SimulationTestCase("Random streams depend on seed, component and flow, and nothing else")
    {
    }

  private:
    void DoRun() override
    {
        auto draw = [](uint64_t seed, RandomComponent component, uint32_t flow) {
            ns3::RngStream stream = MakeRandomStream(seed, component, flow);
            stream.RandU01();
            return stream.RandU01();
        };
        using enum RandomComponent;
        const double value = draw(1, APP_CONGESTION, 0);
        NS_TEST_EXPECT_MSG_EQ(draw(1, APP_CONGESTION, 0), value, "again");
        NS_TEST_EXPECT_MSG_NE(draw(2, APP_CONGESTION, 0), value, "another seed");
        NS_TEST_EXPECT_MSG_NE(draw(1, CARRIER_CONGESTION, 0), value, "another component");
        NS_TEST_EXPECT_MSG_NE(draw(1, APP_CONGESTION, 1), value, "another flow");
    }
};

class EventRandomStreamTestSuite : public ns3::TestSuite
{
  public:
    EventRandomStreamTestSuite()
        : ns3::TestSuite("tunnelcc-event-random-stream", Type::UNIT)
    {
        AddTestCase(new RandomStreamTest, Duration::QUICK);
    }
};

EventRandomStreamTestSuite g_eventRandomStreamTestSuite;

} // namespace
