/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the senders that hide losses rather than yield to them: Brutal, unlimited, QVegas and
 * zeta-like.
 */
#include "congestion/brutal.h"
#include "congestion/qvegas.h"
#include "congestion/unlimited.h"
#include "congestion/zeta-like.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <utility>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-accelerator");

void
AckRound(FakeTransport& transport)
{
    const uint64_t end = transport.state.sndNxt;
    while (transport.state.sndUna <= end)
    {
        transport.TimePasses(MS);
        transport.AckSegments(1);
    }
}

// Unlimited ------------------------------------------------------------------------------------

TEST_CASE(SimulationTestCase,
          UnlimitedTest,
          "Unlimited has no window but in recovery and after a time-out")
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

// Brutal ---------------------------------------------------------------------------------------

class BrutalTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr double RATE = 1'000'000; // bytes/s

    static BrutalParameters Parameters()
    {
        BrutalParameters parameters;
        parameters.rate = RATE;
        return parameters;
    }

    static void Ack(Brutal& brutal, SenderState& state, int64_t now, uint32_t acked, uint32_t lost)
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
        CheckExact();
    }

    /// As Hysteria 2 computes it.
    void CheckExact()
    {
        BrutalParameters parameters = Parameters();
        parameters.exact = 1;
        Brutal brutal(parameters);
        SenderState state;
        state.srtt = 7'500 * US;
        brutal.Init(state, 0);
        NS_TEST_EXPECT_MSG_EQ(state.pacingRate, RATE, "paced from the start");
        // 2 · 1 MB/s · 7.5 ms / 1448 bytes; the kernel's would have 7 ms.
        NS_TEST_EXPECT_MSG_EQ(state.cwnd, 10, "of the exact RTT");
        Ack(brutal, state, SECOND, 855, 145);
        NS_TEST_EXPECT_MSG_EQ_TOL(brutal.GetAckRate(SECOND), 85.5, 1e-9, "not whole percent");
        NS_TEST_EXPECT_MSG_EQ_TOL(state.pacingRate, RATE / 0.855, 1e-3, "divided by it");
        Ack(brutal, state, SECOND, 0, 500);
        NS_TEST_EXPECT_MSG_EQ(brutal.GetAckRate(SECOND), 80, "at least");
        state.srtt = MS;
        Ack(brutal, state, SECOND, 1, 0);
        NS_TEST_EXPECT_MSG_EQ(state.cwnd, 1, "one segment at least");
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
            SenderState state;
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
        SenderState state;
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

ADD_CASE(BrutalTest, "Brutal divides its rate by the share of arrivals of five seconds");

// QVegas ---------------------------------------------------------------------------------------

class QVegasTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        QVegas qvegas(VegasParameters{});
        FakeTransport transport(qvegas, RTT, 80);
        transport.state.ssthresh = 5;
        AckRound(transport);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 11, "Vegas's window is ten at first");
        for (int i = 0; i < 100; ++i)
        {
            AckRound(transport);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 111, 4, "one more a round trip");
        transport.SetRtt(RTT * 11 / 10);
        AckRound(transport); // which began before
        const uint32_t before = qvegas.GetVegasWindow();
        AckRound(transport);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, before - 1, "eleven wait: one less");

        const uint32_t own = qvegas.GetVegasWindow();
        transport.EnterRecovery();
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, own / 2, "a loss halves for Reno");
        transport.state.cwnd = transport.state.ssthresh;
        transport.LeaveRecovery();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, own, "but Vegas's window comes back");
        transport.TimeOut();
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "slow start after a time-out");
        transport.Become(CaState::DISORDER);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "not before all is in order");
        transport.Become(CaState::OPEN);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, own, "again");
        NS_TEST_EXPECT_MSG_EQ(qvegas.GetUndoCwnd(transport.state, 7), own, "or by an undo");
        CheckSlowStart();
    }

    void CheckSlowStart()
    {
        QVegas qvegas(VegasParameters{});
        FakeTransport transport(qvegas, RTT);
        uint32_t most = 0;
        for (int i = 0; i < 1000; ++i)
        {
            transport.TimePasses(MS);
            transport.AckSegments(1);
            most = std::max(most, transport.state.cwnd);
        }
        NS_TEST_EXPECT_MSG_EQ(transport.state.InSlowStart(), true, "nothing waits");
        NS_TEST_EXPECT_MSG_GT(most, 40, "the window grows during a round trip");
        NS_TEST_EXPECT_MSG_GT(qvegas.GetVegasWindow(), 12, "Vegas's by one");
        NS_TEST_EXPECT_MSG_LT(qvegas.GetVegasWindow(), 40, "and no more");
    }
};

ADD_CASE(QVegasTest, "QVegas goes by Vegas's rule and puts its window back after losses");

class QVegasQueueTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const auto [least, most] = FindRange(0);
        // The least RTT holds a BDP of 101; see VegasQueueTest.
        NS_TEST_EXPECT_MSG_GT(least, 101, "not below alpha");
        NS_TEST_EXPECT_MSG_LT(most, 101 + 4 + 2, "not above beta");
        const auto [leastLossy, mostLossy] = FindRange(2000);
        NS_TEST_EXPECT_MSG_GT(leastLossy, 101, "with losses");
        NS_TEST_EXPECT_MSG_LT(mostLossy, 101 + 4 + 2, "with losses");
    }

    /// Least and greatest of Vegas's window once it has settled, with a loss every so many
    /// segments.
    static std::pair<uint32_t, uint32_t> FindRange(uint64_t lossEvery)
    {
        ns3::Simulator::Destroy();
        QVegas qvegas(VegasParameters{});
        FakePipe pipe(qvegas, 1000, RTT);
        pipe.Run(60 * SECOND);
        pipe.SetLossEvery(lossEvery);
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        pipe.Run(20 * SECOND, [&] {
            least = std::min(least, qvegas.GetVegasWindow());
            most = std::max(most, qvegas.GetVegasWindow());
        });
        return {least, most};
    }
};

ADD_CASE(QVegasQueueTest, "QVegas keeps alpha to beta segments in the queue, with losses too");

// Zeta-like ------------------------------------------------------------------------------------

class ZetaLikeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // More than RTT / 8 in the queue is a sign; so is a first loss, but not one of many.
        CheckBackOff(RTT, true, 1);
        CheckBackOff(RTT + 12 * MS, true, 1);
        CheckBackOff(RTT + 13 * MS, true, 0.875);
        CheckBackOff(RTT, false, 0.875);
        CheckBackOff(RTT + 13 * MS, false, 0.5);
        CheckKeptThreshold();
        CheckStart();
    }

    /// \param wasLossy of the segments before, one in six was lost
    void CheckBackOff(int64_t rtt, bool wasLossy, double beta)
    {
        ZetaLike zeta(ZetaLikeParameters{});
        FakeTransport transport(zeta, RTT);
        for (uint32_t i = 0; i < 5000; ++i)
        {
            transport.state.lost += wasLossy ? 1 : 0;
            transport.AckSegments(5);
        }
        transport.state.cwnd = 800;
        transport.state.srtt = rtt;
        ++transport.state.lost;
        const uint32_t threshold = zeta.GetSsThresh(transport.state, transport.now);
        NS_TEST_EXPECT_MSG_EQ(threshold, 800 * beta, rtt << " ns, lossy " << wasLossy);
    }

    void CheckKeptThreshold()
    {
        ZetaLikeParameters parameters;
        parameters.lossRise = 1000;
        ZetaLike zeta(parameters);
        FakeTransport transport(zeta, RTT);
        transport.Lose();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 44, "no sign: the window stays");
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, INFINITE_SSTHRESH, "slow start goes on");
    }

    void CheckStart()
    {
        ZetaLike zeta(ZetaLikeParameters{});
        FakeTransport transport(zeta, RTT);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 44, "first window");
        transport.state.cwnd = 1'000'000;
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.pacingRate, 125e6, "paced at 1 Gbit/s at most");
    }
};

ADD_CASE(ZetaLikeTest, "Zeta-like backs off by the number of signs of congestion");

} // namespace
