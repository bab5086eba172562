/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what streams of random numbers depend on.
 */
#include "event/random-stream.h"
#include "support/simulation-test-case.h"

#include "ns3/rng-stream.h"

#include <cstdint>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-event-random-stream");

TEST_CASE(SimulationTestCase,
          RandomStreamTest,
          "Random streams depend on seed, component and flow, and nothing else")
{
    auto draw = [](uint64_t seed, RandomComponent component, uint32_t flow) {
        RandomStream stream = MakeRandomStream(seed, component, flow);
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

TEST_CASE(SimulationTestCase, Ns3RandomStreamTest, "Random numbers are those of ns-3's generator")
{
    struct
    {
        uint32_t seed;
        uint64_t stream;
        uint64_t substream;
    } const cases[] = {{1, 0, 0},
                       {1, StreamNumber(RandomComponent::FORWARD_LOSS), 7},
                       {12345, uint64_t{1} << 63, UINT64_MAX},
                       {4294944442, UINT64_MAX, 1}};

    for (const auto& [seed, stream, substream] : cases)
    {
        RandomStream ours(seed, stream, substream);
        ns3::RngStream theirs(seed, stream, substream);
        for (int i = 0; i < 10'000; ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(ours.RandU01(), theirs.RandU01(), "number " << i);
        }
    }
}

} // namespace
