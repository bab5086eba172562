/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks Prague against its draft: what marks, round trips and losses do to the window.
 */
#include "congestion/prague.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <cmath>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-prague");

constexpr int64_t SHORT_RTT = 40 * MS;

/// A sender out of slow start, at a window.
class Sender
{
  public:
    explicit Sender(double window, int64_t rtt = SHORT_RTT)
        : prague(PragueParameters{}),
          transport(prague, rtt, static_cast<uint32_t>(window))
    {
        transport.state.ssthresh = transport.state.cwnd;
    }

    /// A round trip in which one of `every` segments is marked; 0: none.
    void AckWindow(uint32_t every)
    {
        const uint32_t segments = transport.state.cwnd;
        for (uint32_t i = 0; i < segments; ++i)
        {
            transport.TimePasses(transport.state.srtt / segments);
            const bool isMarked = every > 0 && ++m_count % every == 0;
            if (isMarked && transport.state.caState == CaState::OPEN)
            {
                transport.Become(CaState::CWR);
            }
            transport.AckSegments(1, isMarked);
        }
        if (transport.state.caState == CaState::CWR)
        {
            transport.Become(CaState::OPEN);
        }
    }

    Prague prague;
    FakeTransport transport;

  private:
    uint32_t m_count{0}; //!< segments, to mark one of so many
};

TEST_CASE(SimulationTestCase,
          IncreaseTest,
          "No marks -> a segment more each round trip, or each 25 ms")
{
    Sender far(100);
    const double before = far.prague.GetWindow();
    for (int i = 0; i < 20; ++i)
    {
        far.AckWindow(0);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(far.prague.GetWindow() - before, 20, 1, "40 ms");

    Sender near(100, 5 * MS);
    for (int i = 0; i < 5; ++i)
    {
        near.AckWindow(0); // until the target RTT counts
    }
    const double start = near.prague.GetWindow();
    for (int i = 0; i < 100; ++i)
    {
        near.AckWindow(0);
    }
    // 100 round trips are 20 times the target, in each of which the rate grows by a segment per
    // target RTT: a fifth of a segment of window.
    NS_TEST_EXPECT_MSG_EQ_TOL(near.prague.GetWindow() - start, 20.0 / 5, 0.3, "5 ms");
}

TEST_CASE(SimulationTestCase,
          MarksTest,
          "Marks -> alpha becomes their share, the window falls by half of it")
{
    Sender sender(200);
    sender.AckWindow(10);
    NS_TEST_EXPECT_MSG_LT(sender.prague.GetWindow(), 102, "the first mark halves the window");
    for (int i = 0; i < 100; ++i)
    {
        sender.AckWindow(10);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.prague.GetAlpha(), 0.1, 0.02, "alpha");
    // A tenth marked: growth of 0.9 a round trip balances half of alpha at a window of 18.
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.prague.GetWindow(), 2 * 0.9 / 0.1, 3, "window");
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.transport.state.cwnd,
                              std::ceil(sender.prague.GetWindow()),
                              1,
                              "the connection's window follows");
}

TEST_CASE(SimulationTestCase,
          LossTest,
          "A loss -> half of the window, no growth until it is repaired")
{
    Sender sender(100);
    sender.transport.EnterRecovery();
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.prague.GetWindow(), 50, 1e-9, "half");
    sender.transport.AckSegments(10);
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.prague.GetWindow(), 50, 1e-9, "no growth");
    NS_TEST_EXPECT_MSG_EQ(sender.prague.GetUndoCwnd(sender.transport.state, 100), 100, "undo");
    NS_TEST_EXPECT_MSG_EQ_TOL(sender.prague.GetWindow(), 100, 1e-9, "as before");
}

TEST_CASE(SimulationTestCase,
          SlowStartTest,
          "Slow start -> twice the window each round trip, until the first mark")
{
    Prague prague(PragueParameters{});
    FakeTransport transport(prague, SHORT_RTT);
    transport.AckWindow();
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 40, "doubled twice");
    transport.AckSegments(1, true);
    NS_TEST_EXPECT_MSG_EQ(transport.state.InSlowStart(), false, "ended");
    NS_TEST_EXPECT_MSG_EQ_TOL(prague.GetWindow(), 20, 0.1, "half");
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 39, "a segment for each ACK");
}

} // namespace
