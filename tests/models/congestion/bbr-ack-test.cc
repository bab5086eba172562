/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what BBRv1 makes of single ACKs, as Linux tcp_bbr.c does: recovery, time-outs, application
 * limits, bursts, ACK aggregation and policers.
 */
#include "congestion/ack-aggregation.h"
#include "congestion/bbr.h"
#include "congestion/congestion-parameters.h"
#include "congestion/windowed-max-filter.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

namespace
{

using namespace tunnelcc;
using Mode = Bbr::Mode;

TEST_SUITE("tunnelcc-congestion-bbr-ack");

TEST_CASE(SimulationTestCase,
          MaxFilterTest,
          "The windowed maximum agrees with a search of the window")
{
    constexpr uint32_t WINDOW = 10;
    constexpr int STEPS = 200000;
    std::mt19937_64 random(1);
    std::deque<std::pair<uint32_t, uint32_t>> samples; // time, value
    WindowedMaxFilter<uint32_t> filter;
    filter.Reset(0, 0);
    uint32_t time = 0;
    int exact = 0;
    for (int step = 0; step < STEPS; ++step)
    {
        time += random() % 4 == 0 ? random() % 3 : 0;
        const auto value = static_cast<uint32_t>(random() % 1000);
        samples.emplace_back(time, value);
        while (time - samples.front().first > WINDOW)
        {
            samples.pop_front();
        }
        filter.Update(value, time, WINDOW);
        uint32_t all = 0;
        uint32_t recent = 0;
        bool isMember = false;
        for (const auto& [when, what] : samples)
        {
            all = std::max(all, what);
            recent = time - when <= WINDOW / 4 ? std::max(recent, what) : recent;
            isMember = isMember || what == filter.Get();
        }
        exact += filter.Get() == all ? 1 : 0;
        NS_TEST_ASSERT_MSG_EQ(isMember, true, "a sample of the window, at step " << step);
        NS_TEST_ASSERT_MSG_GT_OR_EQ(filter.Get(), recent, "at step " << step);
    }
    NS_TEST_EXPECT_MSG_GT(exact, STEPS * 9 / 10, "nearly always the true maximum");
}

/// BBR under hand-made ACKs, 100 ms apart, each of which ends a round unless told otherwise.
class BbrDriver
{
  public:
    explicit BbrDriver(const BbrParameters& parameters = {})
        : bbr(parameters, 1)
    {
        state.srtt = RTT;
        state.minRtt = RTT;
        bbr.Init(state, now);
    }

    /// Find a pipe and come to rest in PROBE_BW, cruising.
    void ReachProbeBw(double bandwidth = RATE)
    {
        for (int i = 0; i < 12 || !IsIn(1); ++i)
        {
            AckRound(bandwidth);
        }
    }

    /// Whether PROBE_BW is in a phase of this gain.
    bool IsIn(double gain) const
    {
        return bbr.GetMode() == Mode::PROBE_BW && bbr.GetPacingGain() == gain;
    }

    /// A round trip of a flow that keeps in flight what its phase asks for.
    void AckRound(double bandwidth, uint32_t lost = 0, bool isAppLimited = false)
    {
        const double gain = bbr.GetMode() == Mode::DRAIN ? 1 : bbr.GetPacingGain();
        const auto bdp = static_cast<uint32_t>(bandwidth * RTT / SECOND);
        state.inFlight = static_cast<uint32_t>(gain * bdp) + (gain > 1 ? 200 : 0);
        Ack(bdp, bandwidth, lost, true, isAppLimited);
    }

    void Ack(uint32_t segments,
             double bandwidth,
             uint32_t lost = 0,
             bool isRound = true,
             bool isAppLimited = false)
    {
        now += RTT;
        AckEvent event;
        event.now = now;
        event.ackedSacked = segments;
        event.cumAcked = segments;
        event.newlyLost = lost;
        event.priorInFlight = state.inFlight;
        event.rtt = RTT;
        event.rate.delivered = 100;
        event.rate.interval = std::llround(100 * 1e9 / bandwidth);
        event.rate.priorDelivered = isRound ? state.delivered : 0;
        event.rate.isAppLimited = isAppLimited;
        state.delivered += segments;
        state.deliveredTime = now;
        state.lost += lost;
        bbr.OnAck(state, event, true);
    }

    /// As after a retransmission that answered too soon: there is no sample of the rate.
    void AckWithoutRate(uint32_t segments)
    {
        now += RTT;
        AckEvent event;
        event.now = now;
        event.ackedSacked = segments;
        event.cumAcked = segments;
        event.priorInFlight = state.inFlight;
        state.delivered += segments;
        state.deliveredTime = now;
        bbr.OnAck(state, event, true);
    }

    void Become(CaState next)
    {
        if (next >= CaState::RECOVERY)
        {
            state.ssthresh = bbr.GetSsThresh(state, now);
        }
        if (next == CaState::LOSS)
        {
            state.cwnd = 1;
        }
        bbr.OnCaState(state, next, now);
        state.caState = next;
    }

    Bbr bbr;
    SenderState state;
    int64_t now{0};
};

TEST_CASE(SimulationTestCase,
          RecoveryTest,
          "Recovery conserves packets for a round and restores the window at its end")
{
    BbrDriver driver;
    SenderState& state = driver.state;
    driver.ReachProbeBw();
    const uint32_t before = state.cwnd;
    NS_TEST_ASSERT_MSG_GT(before, 200, "about twice the BDP");

    state.inFlight = 90;
    driver.Become(CaState::RECOVERY);
    driver.Ack(2, RATE, 3, false);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 92, "what is in flight and what was delivered");
    state.inFlight = 89;
    driver.Ack(2, RATE, 0, false);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 92, "no growth in the first round");
    driver.Ack(2, RATE, 10, false);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 91, "losses come off, down to what is in flight");
    driver.Ack(2, RATE);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 93, "slow start in the next round");
    driver.Become(CaState::OPEN);
    driver.Ack(1, RATE);
    NS_TEST_EXPECT_MSG_EQ_TOL(state.cwnd, before, 2, "the window from before");

    driver.Become(CaState::LOSS);
    driver.Ack(1, RATE);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 4, "at least four segments after a time-out");
    driver.Become(CaState::OPEN);
    driver.Ack(1, RATE);
    NS_TEST_EXPECT_MSG_EQ_TOL(state.cwnd, before, 2, "restored after the time-out as well");
}

class FirstWindowsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// The window, 10 segments at first, after one ACK of a rate that needs no more than these.
    static uint32_t AckFirst(uint32_t segments)
    {
        BbrDriver driver;
        driver.Ack(segments, 10);
        return driver.state.cwnd;
    }

    void DoRun() override
    {
        // bbr_set_cwnd(): it grows while tp->delivered < TCP_INIT_CWND, which is 10.
        NS_TEST_EXPECT_MSG_EQ(AckFirst(9), 19, "before ten segments were delivered");
        NS_TEST_EXPECT_MSG_EQ(AckFirst(10), 10, "and no longer");
    }
};

ADD_CASE(FirstWindowsTest, "Until ten segments are delivered the window grows beyond its target");

class FullPipeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(CountRounds([](BbrDriver&) {}), 4, "one to grow and three flat");
        const auto timeOut = [](BbrDriver& driver) {
            driver.Become(CaState::LOSS);
            driver.Become(CaState::OPEN);
        };
        NS_TEST_EXPECT_MSG_EQ(CountRounds(timeOut), 6, "a time-out counts the growth anew");
        const auto undo = [](BbrDriver& driver) { driver.bbr.GetUndoCwnd(driver.state, 10); };
        NS_TEST_EXPECT_MSG_EQ(CountRounds(undo), 6, "as does an undone reduction");
        const auto limit = [](BbrDriver& driver) {
            for (int i = 0; i < 5; ++i)
            {
                driver.Ack(10, RATE / 2, 0, true, true);
            }
        };
        NS_TEST_EXPECT_MSG_EQ(CountRounds(limit), 4, "application-limited rounds don't count");
    }

    /// Rounds of constant bandwidth that end STARTUP, with something happening after the second.
    template <typename F>
    int CountRounds(F interrupt)
    {
        BbrDriver driver;
        driver.state.inFlight = 1000;
        int rounds = 0;
        while (driver.bbr.GetMode() == Mode::STARTUP && rounds < 100)
        {
            driver.Ack(10, RATE);
            if (++rounds == 2)
            {
                interrupt(driver);
            }
        }
        return rounds;
    }
};

ADD_CASE(FullPipeTest, "Time-outs, undo and application limits hold the end of STARTUP back");

TEST_CASE(SimulationTestCase,
          AppLimitedTest,
          "Application-limited samples count only upwards; idle restarts don't probe")
{
    BbrDriver driver;
    driver.ReachProbeBw();
    for (int i = 0; i < 50; ++i)
    {
        driver.AckRound(RATE / 4, 0, true);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(driver.bbr.GetBandwidth(), RATE, 1e-3, "low samples are ignored");
    driver.Ack(10, 2 * RATE, 0, true, true);
    NS_TEST_EXPECT_MSG_EQ_TOL(driver.bbr.GetBandwidth(), 2 * RATE, 1e-3, "high ones are not");

    while (!driver.IsIn(1.25))
    {
        driver.AckRound(2 * RATE);
    }
    SenderState& state = driver.state;
    const double atRate = 2 * RATE * 0.99 * state.mss;
    NS_TEST_EXPECT_MSG_EQ_TOL(state.pacingRate, 1.25 * atRate, 1, "a probe");
    driver.bbr.OnTransmitStart(state, driver.now, SECOND);
    NS_TEST_EXPECT_MSG_EQ_TOL(state.pacingRate, 1.25 * atRate, 1, "not application-limited");
    state.appLimitedUntil = state.delivered;
    driver.bbr.OnTransmitStart(state, driver.now, SECOND);
    NS_TEST_EXPECT_MSG_EQ_TOL(state.pacingRate, atRate, 1, "at the estimate");

    // A flow that restarts from idle is not sent into PROBE_RTT by the time it was idle.
    driver.now += 60 * SECOND;
    driver.bbr.OnTransmitStart(state, driver.now, 60 * SECOND);
    driver.Ack(10, 2 * RATE);
    NS_TEST_EXPECT_MSG_EQ(driver.bbr.GetPhase(), "PROBE_BW", "idle time renewed the RTT");
}

class BurstTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CheckWindow(100, 2, 1);     // below 1.2 Mbit/s a burst is one segment
        CheckWindow(1000, 2, 2);    // 11 Mbit/s: two, the least that is worth it
        CheckWindow(20000, 2, 19);  // 0.99 · 20000 / 1024
        CheckWindow(200000, 2, 45); // 64 KiB
    }

    void CheckWindow(double bandwidth, uint32_t gain, uint32_t burst)
    {
        BbrParameters parameters;
        parameters.extraAckedGain = 0;
        BbrDriver driver(parameters);
        SenderState& state = driver.state;
        driver.ReachProbeBw(bandwidth);
        const auto bdp = static_cast<uint32_t>(std::ceil(bandwidth * 0.1 * gain - 1e-6));
        const uint32_t expected = (bdp + 3 * burst + 1) / 2 * 2;
        NS_TEST_EXPECT_MSG_EQ(state.cwnd, expected, "at " << bandwidth << " segments/s");
        NS_TEST_EXPECT_MSG_EQ(driver.bbr.MinTsoSegments(state), std::min(burst, 2U), "least burst");
    }
};

ADD_CASE(BurstTest, "The window leaves room for three bursts of a millisecond");

class AckAggregationTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        AckAggregation aggregation;
        aggregation.Reset(0);
        // 1000 segments/s in clumps of 50 every 50 ms: each clump is 50 too early.
        int64_t now = 0;
        for (int i = 0; i < 20; ++i)
        {
            now += 50 * MS;
            aggregation.OnDelivered(now, 25, RATE, 1000);
            aggregation.OnDelivered(now, 25, RATE, 1000);
        }
        NS_TEST_EXPECT_MSG_EQ(aggregation.GetExtraAcked(), 50, "a clump");
        now += 50 * MS; // a silence ends the epoch that the last clump was early in
        for (int round = 1; round <= 10; ++round)
        {
            NS_TEST_EXPECT_MSG_EQ(aggregation.GetExtraAcked(), 50, "kept in round " << round);
            for (int i = 0; i < 100; ++i)
            {
                now += MS;
                aggregation.OnDelivered(now, 1, RATE, 1000);
            }
            aggregation.EndRound(5);
        }
        NS_TEST_EXPECT_MSG_EQ(aggregation.GetExtraAcked(), 1, "forgotten after ten rounds");
        now += MS;
        aggregation.OnDelivered(now, 70, RATE, 30);
        NS_TEST_EXPECT_MSG_EQ(aggregation.GetExtraAcked(), 30, "no more than the window");

        // The allowance in the window, beyond 2 BDP and 3 bursts of 2; at most 100 ms of bandwidth.
        BbrParameters none;
        none.extraAckedGain = 0;
        NS_TEST_EXPECT_MSG_EQ(GetWindow(none), 206, "no allowance");
        NS_TEST_EXPECT_MSG_EQ(GetWindow({}), 306, "a clump of 100 segments every round trip");
        BbrParameters half;
        half.extraAckedMax = 0.05;
        NS_TEST_EXPECT_MSG_EQ(GetWindow(half), 256, "at most 50 ms");

        // Linux bbr_update_ack_aggregation(): nothing is learnt where interval_us is not positive.
        BbrParameters more;
        more.extraAckedMax = 1;
        BbrDriver driver(more);
        driver.ReachProbeBw();
        const uint32_t before = driver.state.cwnd;
        driver.AckWithoutRate(250);
        driver.Ack(100, RATE);
        NS_TEST_EXPECT_MSG_EQ_TOL(driver.state.cwnd, before, 2, "250 without a sample of the rate");
    }

    uint32_t GetWindow(const BbrParameters& parameters)
    {
        BbrDriver driver(parameters);
        driver.ReachProbeBw();
        return driver.state.cwnd;
    }
};

ADD_CASE(AckAggregationTest, "Clumps of ACKs beyond the bandwidth are measured for ten rounds");

class PolicerTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        BbrDriver driver;
        int rounds = Detect(driver);
        NS_TEST_EXPECT_MSG_EQ(rounds, 7, "two intervals of four rounds, the first ACK counting");
        NS_TEST_EXPECT_MSG_EQ_TOL(driver.bbr.GetBandwidth(), 400, 1e-6, "40 segments per 100 ms");
        NS_TEST_EXPECT_MSG_EQ(driver.bbr.GetPacingGain(), 1, "no probing");
        rounds = 0;
        while (driver.bbr.IsPolicerDetected() && rounds < 100)
        {
            driver.Ack(40, RATE);
            NS_TEST_EXPECT_MSG_EQ_TOL(driver.state.pacingRate,
                                      (driver.bbr.IsPolicerDetected() ? 400 : RATE) * 0.99 *
                                          driver.bbr.GetPacingGain() * driver.state.mss,
                                      1,
                                      "paced at the policer's rate");
            ++rounds;
        }
        NS_TEST_EXPECT_MSG_EQ(rounds, 48, "then the path is probed again");

        // Linux bbr_set_state(): a time-out is the end of a round, also of one of these 48.
        BbrDriver interrupted;
        Detect(interrupted);
        interrupted.Become(CaState::LOSS);
        for (rounds = 0; interrupted.bbr.IsPolicerDetected() && rounds < 100; ++rounds)
        {
            interrupted.Ack(40, RATE);
        }
        NS_TEST_EXPECT_MSG_EQ(rounds, 47, "beside the time-out");

        // bbr_lt_intvl_min_rtts of 1: the first loss begins an interval, the next two end one each.
        BbrDriver quick(
            ParseParameters("bbr", Bbr::GetParameterTable(), {{"policer_min_rounds", int64_t{1}}}));
        quick.ReachProbeBw();
        for (int i = 0; i < 3; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(quick.bbr.IsPolicerDetected(), false, "after losses: " << i);
            quick.Ack(40, RATE, 10);
        }
        NS_TEST_EXPECT_MSG_EQ(quick.bbr.IsPolicerDetected(), true, "two intervals of a round");

        // Linux bbr_set_state(): a time-out is a loss, too, with which an interval begins.
        BbrDriver timedOut(
            ParseParameters("bbr", Bbr::GetParameterTable(), {{"policer_min_rounds", int64_t{1}}}));
        timedOut.ReachProbeBw();
        timedOut.Become(CaState::LOSS);
        timedOut.Ack(40, RATE, 10);
        NS_TEST_EXPECT_MSG_EQ(timedOut.bbr.IsPolicerDetected(), false, "one interval");
        timedOut.Ack(40, RATE, 10);
        NS_TEST_EXPECT_MSG_EQ(timedOut.bbr.IsPolicerDetected(), true, "the second");

        NS_TEST_EXPECT_MSG_EQ(IsDetected(7, 40, 1), false, "17.5 % loss is too little");
        NS_TEST_EXPECT_MSG_EQ(IsDetected(8, 40, 1), true, "20 % is not");
        NS_TEST_EXPECT_MSG_EQ(IsDetected(30, 80, 0), false, "detection can be turned off");
    }

    /// \returns rounds after the first loss, with which the measurement begins
    static int Detect(BbrDriver& driver)
    {
        driver.ReachProbeBw();
        driver.Ack(40, RATE, 10);
        int rounds = 0;
        while (!driver.bbr.IsPolicerDetected() && rounds < 100)
        {
            driver.Ack(40, RATE, 10);
            ++rounds;
        }
        return rounds;
    }

    bool IsDetected(uint32_t lost, uint32_t delivered, double isEnabled)
    {
        BbrParameters parameters;
        parameters.policerDetection = isEnabled;
        BbrDriver driver(parameters);
        driver.ReachProbeBw();
        for (int i = 0; i < 16; ++i)
        {
            driver.Ack(delivered, RATE, lost);
        }
        return driver.bbr.IsPolicerDetected();
    }
};

ADD_CASE(PolicerTest,
         "Two lossy intervals of one rate show a policer, whose rate serves 48 rounds");

TEST_CASE(SimulationTestCase,
          PolicerRoundsTest,
          "Intervals and the use of their rate last as long as in Linux bbr_lt_bw_sampling()")
{
    const BbrPolicer::Parameters parameters; // intervals from 4 rounds on, use for 48
    BbrPolicer policer(parameters);
    SenderState state;
    // 100 segments a round trip of 100 ms, of which 30 are lost.
    const auto round = [&](bool isLoss, bool isProbeBw = true) {
        state.delivered += 100;
        state.lost += 30;
        state.deliveredTime += 100 * MS;
        return policer.Update(state, {isLoss, false, true, isProbeBw}, 1);
    };
    NS_TEST_EXPECT_MSG_EQ(round(false), false, "nothing was lost");
    NS_TEST_EXPECT_MSG_EQ(policer.IsWatching(), false, "so it waits");
    policer.Update(state, {.isLoss = true, .isProbeBw = true}, 1); // in the middle of a round
    for (int interval = 0; interval < 2; ++interval)
    {
        NS_TEST_EXPECT_MSG_EQ(policer.IsDetected(), false, "after intervals: " << interval);
        for (int i = 0; i < 3; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(round(true), false, "in an interval");
            NS_TEST_EXPECT_MSG_EQ(policer.IsDetected(), false, "which is too short");
        }
        NS_TEST_EXPECT_MSG_EQ(round(true), false, "the end of an interval");
    }
    NS_TEST_EXPECT_MSG_EQ(policer.IsDetected(), true, "two of the same rate");
    NS_TEST_EXPECT_MSG_EQ_TOL(policer.GetRate(), 1'000, 1e-6, "segments/s");
    NS_TEST_EXPECT_MSG_EQ(round(true, false), false, "rounds outside of PROBE_BW do not count");
    for (int i = 1; i < 48; ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(round(true), false, "in use for rounds: " << i);
        NS_TEST_EXPECT_MSG_EQ(policer.IsDetected(), true, "in use for rounds: " << i);
    }
    NS_TEST_EXPECT_MSG_EQ(round(true), true, "after 48 rounds it is dropped");
    NS_TEST_EXPECT_MSG_EQ(policer.IsDetected(), false, "and looked for again");
}

} // namespace
