/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks where an experiment's direction of data becomes one of ends: paths, and names of legs.
 */
#include "experiment/hop-path.h"
#include "experiment/leg.h"
#include "simulation-test-case.h"

#include <vector>

namespace
{

using namespace tunnelcc;

class PerEndTest : public ns3::TestCase
{
  public:
    PerEndTest()
        : ns3::TestCase("What there is per end is made in the order asked for, and found by end")
    {
    }

  private:
    void DoRun() override
    {
        for (const End first : ENDS)
        {
            std::vector<End> order;
            const auto made = MakePerEnd(first, [&](End end) {
                order.push_back(end);
                return end;
            });
            NS_TEST_EXPECT_MSG_EQ((order == std::vector{first, Other(first)}), true, "order");
            for (const End end : ENDS)
            {
                NS_TEST_EXPECT_MSG_EQ((made[end] == end), true, "each in its place");
            }
        }
    }
};

class HopPathTest : public SimulationTestCase
{
  public:
    HopPathTest()
        : SimulationTestCase("Data take the forward direction, whichever end sends them")
    {
    }

  private:
    void DoRun() override
    {
        PathSpec spec;
        spec.forward.rate = 1e6;
        spec.reverse.rate = 2e6;
        for (const End sender : ENDS)
        {
            HopPath path(spec, 1, 0, sender);
            const End receiver = Other(sender);
            NS_TEST_EXPECT_MSG_EQ(path.From(sender).GetBottleneck(), &path.Forward(), "data");
            NS_TEST_EXPECT_MSG_EQ(path.From(receiver).GetBottleneck(), &path.Reverse(), "ACKs");
            NS_TEST_EXPECT_MSG_EQ(path.Delay(sender, 101), 50, "half of the RTT");
            NS_TEST_EXPECT_MSG_EQ(path.Delay(receiver, 101), 51, "and the rest");
        }
    }
};

class LegNameTest : public ns3::TestCase
{
  public:
    LegNameTest()
        : ns3::TestCase("A leg is called after its role, and a carrier after its hop, too")
    {
    }

  private:
    static std::string NameOf(LegRole role, std::optional<uint32_t> hop)
    {
        return Leg{role, hop, "cubic", End::CLIENT, {}}.Name();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::APP, 0), "app", "across the path");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::APP, std::nullopt), "app", "on a loopback");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::TARGET, std::nullopt), "target", "the last");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::CARRIER, 0), "carrier", "the first hop");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::CARRIER, 2), "carrier3", "the third");
    }
};

class ExperimentEndsTestSuite : public ns3::TestSuite
{
  public:
    ExperimentEndsTestSuite()
        : ns3::TestSuite("tunnelcc-experiment-ends", Type::UNIT)
    {
        AddTestCase(new PerEndTest, Duration::QUICK);
        AddTestCase(new HopPathTest, Duration::QUICK);
        AddTestCase(new LegNameTest, Duration::QUICK);
    }
};

ExperimentEndsTestSuite g_experimentEndsTestSuite;

} // namespace
