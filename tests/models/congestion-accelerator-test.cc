/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the senders that hide losses rather than yield to them: unlimited and Brutal.
 */
#include "congestion/brutal.h"
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

// Brutal ---------------------------------------------------------------------------------------

class BrutalTest : public SimulationTestCase
{
  public:
    BrutalTest()
        : SimulationTestCase("Brutal divides its rate by the share of arrivals of five seconds")
    {
    }

  private:
    static constexpr double RATE = 1'000'000; // bytes/s

    static BrutalParameters Parameters()
    {
        BrutalParameters parameters;
        parameters.rate = RATE;
        return parameters;
    }

    static void Ack(Brutal& brutal, TcpState& state, int64_t now, uint32_t acked, uint32_t lost)
    {
        AckEvent event;
        event.now = now;
        event.ackedSacked = acked;
        event.newlyLost = lost;
        event.rate.interval = RTT;
        brutal.OnAck(state, event, false);
    }

    void DoRun() override
    {
        CheckShare();
        CheckMemory();
        CheckWindow();
    }

    void CheckShare()
    {
        struct Case
        {
            uint32_t acked;
            uint32_t lost;
            uint32_t percent;
        };

        // Whole percent; 50 samples at least; 80 % at least.
        for (const Case& it : {Case{1000, 0, 100},
                               {996, 4, 99},
                               {950, 50, 95},
                               {855, 145, 85},
                               {800, 200, 80},
                               {500, 500, 80},
                               {40, 9, 100},
                               {40, 10, 80}})
        {
            Brutal brutal(Parameters());
            TcpState state;
            state.srtt = RTT;
            brutal.Init(state, 0);
            Ack(brutal, state, SECOND, it.acked, it.lost);
            NS_TEST_EXPECT_MSG_EQ(brutal.GetAckRate(SECOND), it.percent, it.lost << " lost");
            NS_TEST_EXPECT_MSG_EQ(state.pacingRate,
                                  static_cast<double>(100'000'000 / it.percent),
                                  it.lost << " lost");
        }
    }

    void CheckMemory()
    {
        Brutal brutal(Parameters());
        TcpState state;
        state.srtt = RTT;
        brutal.Init(state, 0);
        NS_TEST_EXPECT_MSG_EQ(state.pacingRate, 0, "not paced before the first delivery");
        Ack(brutal, state, 10 * SECOND, 900, 100);
        Ack(brutal, state, 14 * SECOND, 900, 0);
        NS_TEST_EXPECT_MSG_EQ(brutal.GetAckRate(14 * SECOND), 94, "five seconds count");
        Ack(brutal, state, 15 * SECOND, 1, 0);
        NS_TEST_EXPECT_MSG_EQ(brutal.GetAckRate(15 * SECOND), 100, "those before do not");
        AckEvent event;
        event.now = 15 * SECOND;
        event.newlyLost = 500;
        brutal.OnAck(state, event, false);
        NS_TEST_EXPECT_MSG_EQ(brutal.GetAckRate(15 * SECOND), 100, "nor ACKs without a sample");
    }

    void CheckWindow()
    {
        Brutal brutal(Parameters());
        FakeTransport transport(brutal, RTT);
        transport.AckSegments(1);
        // 1000 bytes/ms · 100 ms / 1448 bytes = 69 segments
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 138, "twice the rate · RTT");
        transport.EnterRecovery();
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, INFINITE_SSTHRESH, "no threshold");
        transport.state.cwnd = 10;
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 138, "nor a window of recovery");
        NS_TEST_EXPECT_MSG_EQ(brutal.GetUndoCwnd(transport.state, 500), 138, "nothing to undo");
        transport.SetRtt(MS);
        transport.state.srtt = MS;
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 4, "at least four");
    }
};

class AcceleratorTestSuite : public ns3::TestSuite
{
  public:
    AcceleratorTestSuite()
        : ns3::TestSuite("tunnelcc-congestion-accelerator", Type::UNIT)
    {
        AddTestCase(new UnlimitedTest, Duration::QUICK);
        AddTestCase(new BrutalTest, Duration::QUICK);
    }
};

AcceleratorTestSuite g_acceleratorTestSuite;

} // namespace
