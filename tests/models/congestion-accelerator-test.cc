/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the senders that hide losses rather than yield to them: unlimited.
 */
#include "congestion/unlimited.h"
#include "fake-transport.h"
#include "simulation-test-case.h"

#include "ns3/test.h"

namespace
{

using namespace tunnelcc;

constexpr int64_t RTT = 100 * MS;

// Unlimited ------------------------------------------------------------------------------------

class UnlimitedTest : public SimulationTestCase
{
  public:
    UnlimitedTest()
        : SimulationTestCase("Unlimited has no window but in recovery and after a time-out")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t WINDOW = 10'000'000;
        Unlimited unlimited{UnlimitedParameters{}};
        FakeTransport transport(unlimited, RTT);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, WINDOW, "from the start");
        NS_TEST_EXPECT_MSG_EQ(transport.state.pacingRate, 0, "not paced");
        transport.Lose();
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, 7'000'000, "0.7 of it after a loss");
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, WINDOW, "and all of it once it may grow");
        transport.EnterRecovery();
        transport.state.cwnd = 20;
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 20, "the transport owns it in recovery");
        transport.LeaveRecovery();

        transport.TimeOut();
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "slow start after a time-out");
        transport.LeaveRecovery();
        transport.state.ssthresh = 30;
        transport.AckSegments(20);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 22, "that goes on");
        transport.AckSegments(20);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, WINDOW, "until it reaches the threshold");
    }
};

class AcceleratorTestSuite : public ns3::TestSuite
{
  public:
    AcceleratorTestSuite()
        : ns3::TestSuite("tunnelcc-congestion-accelerator", Type::UNIT)
    {
        AddTestCase(new UnlimitedTest, Duration::QUICK);
    }
};

AcceleratorTestSuite g_acceleratorTestSuite;

} // namespace
