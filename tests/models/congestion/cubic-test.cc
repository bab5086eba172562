/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks CUBIC (RFC 9438).
 */
#include "congestion/congestion-parameters.h"
#include "congestion/cubic.h"
#include "congestion/jiffies.h"
#include "support/fake-transport.h"
#include "support/parameter-ranges.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-cubic");

/// CUBIC without HyStart, which has tests of its own.
CubicParameters
WithoutHyStart()
{
    CubicParameters parameters;
    parameters.hystart = 0;
    return parameters;
}

TEST_CASE(SimulationTestCase,
          CubicCurveTest,
          "CUBIC follows W(t) of RFC 9438 through plateau and probing")
{
    constexpr double C = 0.4;
    constexpr double MAX = 1000;
    constexpr double RTT = 0.1;
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    NS_TEST_ASSERT_MSG_EQ(transport.state.cwnd, 700, "beta is 0.7");
    NS_TEST_ASSERT_MSG_EQ(cubic.GetLastMax(), 1000, "W_max");

    const int64_t start = transport.now;
    const double k = std::cbrt(MAX * 0.3 / C);
    const auto curve = [&](double t) { return C * (t - k) * (t - k) * (t - k) + MAX; };
    // The window is whole segments and reacts once per ACK: it must lie between the curve one
    // round trip ago and one ahead.
    for (int round = 0; round < 200; ++round)
    {
        transport.AckWindow();
        const double t = static_cast<double>(transport.now - start) / SECOND;
        NS_TEST_ASSERT_MSG_GT_OR_EQ(transport.state.cwnd, curve(t - RTT) - 1, "at " << t);
        NS_TEST_ASSERT_MSG_LT_OR_EQ(transport.state.cwnd, curve(t + RTT) + 1, "at " << t);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(cubic.GetK(), k, 1e-9, "K");
    NS_TEST_EXPECT_MSG_GT(transport.state.cwnd, 1.3 * MAX, "far into probing");
}

TEST_CASE(SimulationTestCase,
          CubicFlatTest,
          "The flattest curve that a user can ask for has its plateau where RFC 9438 has it")
{
    const auto parameters =
        ParseParameters("cubic", Cubic::GetParameterTable(), {{"c", 1e-6}, {"hystart", false}});
    Cubic cubic(parameters);
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    transport.AckSegments(1);
    // Section 4.2, equation 2: from 700 segments back to 1000.
    NS_TEST_EXPECT_MSG_EQ_TOL(cubic.GetK(), std::cbrt(300 / 1e-6), 1e-6, "K, 669 s");
}

TEST_CASE(SimulationTestCase,
          CubicLossTest,
          "CUBIC converges fast, forgets after a time-out, and caps growth")
{
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    transport.Lose();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 490, "0.7 of 700");
    NS_TEST_EXPECT_MSG_EQ(cubic.GetLastMax(), 595, "W_max is 700 (1 + beta)/2");

    CubicParameters slow = WithoutHyStart();
    slow.fastConvergence = 0;
    Cubic unyielding(slow);
    FakeTransport other(unyielding, 100 * MS, 1000);
    other.Lose();
    other.Lose();
    NS_TEST_EXPECT_MSG_EQ(unyielding.GetLastMax(), 700, "W_max without fast convergence");

    other.TimeOut();
    NS_TEST_EXPECT_MSG_EQ(other.state.ssthresh, 343, "0.7 of 490");
    NS_TEST_EXPECT_MSG_EQ(unyielding.GetLastMax(), 0, "a time-out forgets the maximum");

    // Far below the curve: at most half a window per round trip.
    FakeTransport capped(cubic, SECOND, 1000);
    capped.Lose();
    capped.state.cwnd = 20;
    capped.state.ssthresh = 20;
    capped.AckSegments(20);
    NS_TEST_EXPECT_MSG_EQ(capped.state.cwnd, 30, "growth by half in one round trip");
}

class CubicRenoFriendlyTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // One segment of tolerance: the window follows the Reno-friendly one by a step.
        constexpr double ALPHA = 3 * 0.3 / 1.7;
        NS_TEST_EXPECT_MSG_EQ_TOL(Grow(1, 0), 40 * ALPHA, 1.2, "alpha segments a round");
        NS_TEST_EXPECT_MSG_LT(Grow(0, 0), 10, "the cubic curve alone is still below its plateau");
        // The window before the loss, 9 segments up, is reached after 9/alpha = 17 rounds.
        NS_TEST_EXPECT_MSG_EQ_TOL(Grow(1, 1), 9 + (40 - 9 / ALPHA), 2, "alpha is 1 above it");
    }

    /// Segments gained in 40 round trips of 40 ms from a window of 20.
    double Grow(double isFriendly, double isAlphaOne)
    {
        CubicParameters parameters = WithoutHyStart();
        parameters.renoFriendly = isFriendly;
        parameters.renoFriendlyAlphaOne = isAlphaOne;
        Cubic cubic(parameters);
        FakeTransport transport(cubic, 40 * MS, 29);
        transport.Lose();
        const uint32_t before = transport.state.cwnd;
        for (int round = 0; round < 40; ++round)
        {
            transport.AckWindow();
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd - before;
    }
};

ADD_CASE(CubicRenoFriendlyTest, "On short paths CUBIC grows as the Reno-friendly window does");

class CubicClockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // The step of a window that stands still is renewed after more than seven jiffies. From the
        // third round trip to the sixth, 30 ms, eight begin or seven.
        NS_TEST_EXPECT_MSG_EQ(GrowFor50Ms(3 * MS), 13, "from 23 to 53 ms: eight");
        NS_TEST_EXPECT_MSG_EQ(GrowFor50Ms(0), 10, "from 20 to 50 ms: seven");

        // Linux's beta_scale: W_est grows by one for more than 9 * 15/8 segments, not 9 * 17/9.
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 10 * MS, 9);
        transport.state.ssthresh = 9;
        transport.AckSegments(1);
        transport.TimePasses(40 * MS);
        transport.AckSegments(16);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 10, "17 segments for one more");
    }

    /// The window 50 ms after a loss at 13 segments, 10 ms a round trip, that began at `time`.
    uint32_t GrowFor50Ms(int64_t time)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 10 * MS, 13);
        transport.Lose();
        transport.TimePasses(time);
        transport.AckSegments(transport.state.cwnd - 1);
        for (int round = 0; round < 5; ++round)
        {
            transport.TimePasses(10 * MS);
            transport.AckSegments(transport.state.cwnd);
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicClockTest, "CUBIC counts time in jiffies, and Reno's slope in eighths");

class CubicIdleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const uint32_t busy = RunWithPause(0);
        NS_TEST_EXPECT_MSG_EQ_TOL(RunWithPause(20 * SECOND), busy, 1, "the curve waits");
    }

    uint32_t RunWithPause(int64_t pause)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.Lose();
        for (int round = 0; round < 20; ++round)
        {
            transport.AckWindow();
        }
        transport.TimePasses(pause);
        cubic.OnTransmitStart(transport.state, transport.now, pause);
        for (int round = 0; round < 20; ++round)
        {
            transport.AckWindow();
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicIdleTest, "Idle time does not advance CUBIC's curve");

class CubicMinRttTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const int64_t same = 100 * MS;
        const int64_t less = 10 * MS;
        NS_TEST_EXPECT_MSG_EQ(Run(SECOND, less), Run(SECOND, same), "the first second");
        NS_TEST_EXPECT_MSG_LT(Run(3 * SECOND, less),
                              Run(3 * SECOND, same),
                              "then the target is the curve a shorter RTT ahead");
        // Linux cubictcp_acked(): `< HZ`, in jiffies.
        NS_TEST_EXPECT_MSG_EQ(RunWithOne(HZ - 1, less), RunWithOne(HZ - 1, same), "not yet");
        NS_TEST_EXPECT_MSG_LT(RunWithOne(HZ, less), RunWithOne(HZ, same), "now");
    }

    /// The window 3 s after a loss, when the RTT was `rtt` once, so many jiffies after it.
    uint32_t RunWithOne(int64_t jiffies, int64_t rtt)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.Lose();
        transport.AckSegments(1);
        transport.TimePasses(jiffies * JIFFY);
        transport.SetRtt(rtt);
        transport.AckSegments(1);
        transport.SetRtt(100 * MS);
        while (transport.now < 3 * SECOND)
        {
            transport.AckSegments(1);
            transport.TimePasses(MS / 10);
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }

    /// The window so long after a loss, when the RTT has gone from 100 ms to `rtt`.
    uint32_t Run(int64_t time, int64_t rtt)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.Lose();
        transport.AckSegments(1); // starts the epoch
        transport.SetRtt(rtt);
        while (transport.now < time)
        {
            transport.AckSegments(1);
            transport.TimePasses(MS / 10);
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicMinRttTest, "CUBIC takes no RTT samples in the first second after a loss");

TEST_CASE(SimulationTestCase,
          CubicSearchTest,
          "With no known maximum CUBIC grows by at least 5 % per round trip")
{
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.state.ssthresh = 1000;
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 1050, 1, "5 % of 1000");
}

/// CUBIC in whole numbers, in the order of Linux bictcp_update(), without slow start's end.
class PlainCubic
{
  public:
    struct Constants
    {
        double c;
        int percent; //!< beta
        bool isFast;
        bool isFriendly;
        bool isAlphaOne;
    };

    PlainCubic(const Constants& constants, uint32_t cwnd)
        : cwnd(cwnd),
          m_is(constants)
    {
    }

    void Ack(int64_t now, uint32_t acked, int64_t rtt, bool mayGrow)
    {
        const int64_t jiffy = now / JIFFY;
        const bool isYoung = m_hasEpoch && jiffy - m_epoch < HZ; // cubictcp_acked()
        m_minRtt = rtt >= 0 && !isYoung ? std::min(m_minRtt, rtt) : m_minRtt;
        if (!mayGrow)
        {
            return;
        }
        if (cwnd < ssthresh)
        {
            const uint32_t grown = std::min(acked, ssthresh - cwnd);
            cwnd += grown;
            acked -= grown;
        }
        if (acked == 0)
        {
            return;
        }
        Update(jiffy, acked);
        if (m_counted >= m_step) // tcp_cong_avoid_ai()
        {
            m_counted = 0;
            ++cwnd;
        }
        m_counted += acked;
        cwnd += m_counted / m_step;
        m_counted %= m_step;
    }

    /// \returns the threshold
    uint32_t Reduce()
    {
        m_hasEpoch = false;
        m_prior = cwnd;
        const bool isConverging = m_is.isFast && cwnd < m_max;
        m_max = isConverging ? uint64_t{cwnd} * (100 + m_is.percent) / 200 : cwnd;
        m_counted = 0;
        ssthresh = std::max<uint64_t>(uint64_t{cwnd} * m_is.percent / 100, 2);
        return ssthresh;
    }

    void TimeOut()
    {
        Reduce();
        cwnd = 1;
        m_max = 0;
        m_minRtt = NEVER;
        m_lastCwnd = 0;
        m_lastTime = 0;
    }

    void Resume(int64_t now, int64_t idle)
    {
        if (m_hasEpoch)
        {
            m_epoch = std::min(m_epoch + now / JIFFY - (now - idle) / JIFFY, now / JIFFY);
        }
    }

    uint32_t cwnd;
    uint32_t ssthresh{INFINITE_SSTHRESH};

  private:
    void Update(int64_t jiffy, uint32_t acked)
    {
        m_acked += acked;
        if (cwnd == m_lastCwnd && jiffy - m_lastTime <= HZ / 32)
        {
            return;
        }
        if (!m_hasEpoch || jiffy != m_lastTime)
        {
            m_lastCwnd = cwnd;
            m_lastTime = jiffy;
            if (!m_hasEpoch)
            {
                m_hasEpoch = true;
                m_epoch = jiffy;
                m_acked = acked;
                m_reno = cwnd;
                m_origin = std::max(m_max, cwnd);
                m_k = std::cbrt((m_origin - cwnd) / m_is.c); // RFC 9438, section 4.2, equation 2
            }
            const int64_t ahead = m_minRtt == NEVER ? 0 : (m_minRtt + JIFFY - 1) / JIFFY;
            const double seconds = static_cast<double>(jiffy - m_epoch + ahead) / HZ;
            const double rise = m_is.c * (seconds - m_k) * (seconds - m_k) * (seconds - m_k);
            const int64_t target = m_origin + static_cast<int64_t>(std::min(rise, 1e9));
            const int64_t more = target - cwnd;
            m_step = more > 0 ? cwnd / more : 100 * cwnd;
            m_step = m_max == 0 ? std::min(m_step, 20U) : m_step;
        }
        FollowReno();
        m_step = std::max(m_step, 2U);
    }

    void FollowReno()
    {
        if (!m_is.isFriendly)
        {
            return;
        }
        // Linux beta_scale, in eighths: 8 (1 + beta) / 3 / (1 - beta)
        const uint32_t scale = 8 * (100 + m_is.percent) / (3 * (100 - m_is.percent));
        const bool isAlphaOne = m_is.isAlphaOne && m_reno >= m_prior; // RFC 9438, section 4.3
        const uint32_t perStep = std::max(isAlphaOne ? cwnd : cwnd * scale / 8, 1U);
        while (m_acked > perStep)
        {
            m_acked -= perStep;
            ++m_reno;
        }
        if (m_reno > cwnd)
        {
            m_step = std::min(m_step, cwnd / (m_reno - cwnd));
        }
    }

    Constants m_is;
    bool m_hasEpoch{false};
    int64_t m_epoch{0};
    int64_t m_lastTime{0};
    int64_t m_minRtt{NEVER};
    double m_k{0};
    uint32_t m_lastCwnd{0};
    uint32_t m_max{0};
    uint32_t m_prior{0};
    uint32_t m_origin{0};
    uint32_t m_reno{0};
    uint32_t m_acked{0};
    uint32_t m_step{0};
    uint32_t m_counted{0};
};

class CubicPlainTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    int64_t Pick(std::initializer_list<int64_t> values)
    {
        return *(values.begin() + m_random() % values.size());
    }

    void Run(const PlainCubic::Constants& constants, uint32_t cwnd)
    {
        CubicParameters parameters = WithoutHyStart();
        parameters.c = constants.c;
        parameters.beta = constants.percent / 100.;
        parameters.fastConvergence = constants.isFast;
        parameters.renoFriendly = constants.isFriendly;
        parameters.renoFriendlyAlphaOne = constants.isAlphaOne;
        Cubic cubic(parameters);
        PlainCubic plain(constants, cwnd);
        SenderState state;
        state.cwnd = cwnd;
        int64_t now = Pick({0, 10 * MS, SECOND});
        int64_t rtt = Pick({-1, 0, 4 * MS, 10 * MS, 100 * MS});
        cubic.Init(state, now);
        for (int i = 0; i < 400 && !IsStatusFailure(); ++i)
        {
            now += Pick({0, 0, MS, JIFFY, JIFFY, 7 * JIFFY, 30 * MS, 250 * JIFFY});
            AckEvent event;
            event.now = now;
            event.rtt = rtt;
            event.ackedSacked = Pick({0, 1, 1, 2, 3, state.cwnd});
            const bool mayGrow = m_random() % 8 > 0;
            state.isCwndLimited = m_random() % 8 > 0;
            cubic.OnDelivered(state, event);
            cubic.OnAck(state, event, mayGrow);
            plain.Ack(now, event.ackedSacked, rtt, mayGrow && state.isCwndLimited);
            switch (m_random() % 64)
            {
            case 0:
                state.ssthresh = state.cwnd = cubic.GetSsThresh(state, now);
                cubic.OnCaState(state, m_random() % 2 ? CaState::CWR : CaState::RECOVERY, now);
                plain.cwnd = plain.Reduce();
                break;
            case 1:
                state.ssthresh = cubic.GetSsThresh(state, now);
                state.cwnd = 1;
                cubic.OnCaState(state, CaState::LOSS, now);
                plain.TimeOut();
                break;
            case 2: {
                now += Pick({MS, JIFFY, SECOND});
                const int64_t idle = Pick({MS, JIFFY, SECOND});
                cubic.OnTransmitStart(state, now, idle);
                plain.Resume(now, idle);
                break;
            }
            case 3: // a reduction of the window that is the congestion control's
                state.cwnd = plain.cwnd = Pick({1, 2, 3, state.cwnd, state.cwnd + 3});
                break;
            case 4:
                rtt = Pick({-1, 0, 3 * MS, 4 * MS, 4 * MS + 1, 100 * MS});
                break;
            default:
                cubic.OnCaState(state, CaState::DISORDER, now); // changes nothing
            }
            NS_TEST_ASSERT_MSG_EQ(state.cwnd, plain.cwnd, "after " << i << " of C " << constants.c);
            NS_TEST_ASSERT_MSG_EQ(state.ssthresh, plain.ssthresh, "after " << i);
            NS_TEST_ASSERT_MSG_EQ(state.pacingRate, 0, "not paced");
        }
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Cubic(CubicParameters{}).WantsDeliveries(), true, "for RTTs");
        for (int i = 0; i < 1'000 && !IsStatusFailure(); ++i)
        {
            const double c = i % 5 == 0 ? 1e6 : i % 5 == 1 ? 1e-6 : i % 5 == 2 ? 40 : 0.4;
            const auto percent = static_cast<int>(Pick({1, 50, 70, 70, 99}));
            const PlainCubic::Constants constants{c,
                                                  percent,
                                                  m_random() % 4 > 0,
                                                  m_random() % 4 > 0,
                                                  m_random() % 2 > 0};
            Run(constants, static_cast<uint32_t>(Pick({1, 2, 10, 40, 1'000})));
        }
    }

    std::mt19937 m_random{9};
};

ADD_CASE(CubicPlainTest,
         "CUBIC equals one in the order of Linux bictcp_update(), over random ACKs");

TEST_CASE(SimulationTestCase,
          CubicRangesTest,
          "CUBIC takes values of its parameters in these ranges")
{
    const std::vector<ParameterRange> expected{
        {"c", 1e-6, 1e6},
        {"beta", 0.01, 0.99},           // above 0 and below 1, or there is no reduction
        {"css_growth_divisor", 2, 1e6}, // RFC 9406, section 4.3
        {"css_rounds", 1, 1e6},
        {"hystart_low_window", 0, 1e9},
        {"hystart_ack_spacing", 0, 1e3},
        {"hystart_min_delay_rise", 0, 1e3},
        {"hystart_max_delay_rise", 0, 1e3},
        {"hystart_min_samples", 1, 1e6},
    };
    auto ranges = RangesOf(Cubic::GetParameterTable());
    ranges.resize(expected.size()); // before those of pacing, which others have, too
    for (size_t i = 0; i < expected.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_EQ((ranges[i] == expected[i]), true, expected[i].name);
    }
}

TEST_CASE(SimulationTestCase,
          CubicHyStartOnceTest,
          "HyStart ends a slow start once, and again after a time-out")
{
    // Linux tcp_cubic.c ca->found, which bictcp_reset() clears.
    Cubic cubic(CubicParameters{});
    FakeTransport transport(cubic, 100 * MS, 64);
    const auto isEnded = [&] {
        transport.state.ssthresh = INFINITE_SSTHRESH;
        for (int64_t rtt : {100 * MS, 200 * MS})
        {
            transport.SetRtt(rtt);
            transport.AckWindow();
            transport.AckWindow();
        }
        return transport.state.ssthresh != INFINITE_SSTHRESH;
    };
    NS_TEST_EXPECT_MSG_EQ(isEnded(), true, "the first");
    NS_TEST_EXPECT_MSG_EQ(isEnded(), false, "a threshold that was taken back");
    transport.TimeOut();
    transport.LeaveRecovery();
    transport.state.cwnd = 64;
    NS_TEST_EXPECT_MSG_EQ(isEnded(), true, "after a time-out");
}

} // namespace
