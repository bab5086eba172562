/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the loss-based congestion controls against their documents: NewReno (RFC 5681), CUBIC
 * (RFC 9438) and HyStart, and the registry of algorithms and parameters.
 */
#include "congestion/congestion-registry.h"
#include "congestion/cubic.h"
#include "congestion/reno.h"
#include "congestion/slow-start.h"
#include "fake-transport.h"
#include "simulation-test-case.h"

#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

/// The message of the std::invalid_argument that making an algorithm throws; empty: none.
std::string
GetRefusal(const std::string& name, const CongestionParameters& parameters)
{
    try
    {
        MakeCongestionControl(name, parameters, 1);
    }
    catch (const std::invalid_argument& error)
    {
        return error.what();
    }
    return {};
}

bool
Contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

class RegistryTest : public SimulationTestCase
{
  public:
    RegistryTest()
        : SimulationTestCase("Every algorithm can be listed, described, set and made")
    {
    }

  private:
    void DoRun() override
    {
        const auto algorithms = ListCongestionControls();
        NS_TEST_ASSERT_MSG_EQ(algorithms.size(), 12, "algorithms");
        for (const auto& algorithm : algorithms)
        {
            NS_TEST_EXPECT_MSG_EQ(HasCongestionControl(algorithm.name), true, algorithm.name);
            const auto parameters = GetCongestionParameters(algorithm.name);
            NS_TEST_EXPECT_MSG_GT(parameters.size(), 0, algorithm.name + " has parameters");
            for (const auto& info : parameters)
            {
                CheckParameter(algorithm.name, info);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(HasCongestionControl("bbrr"), false, "no such algorithm");
        CheckMessages();
    }

    /// The message of the exception that making an algorithm with one value throws, in which the
    /// others without default have their least; empty: none.
    static std::string GetRefusalOf(const std::string& algorithm,
                                    const std::string& parameter,
                                    double value)
    {
        CongestionParameters values{{parameter, value}};
        for (const auto& info : GetCongestionParameters(algorithm))
        {
            if (std::isnan(info.defaultValue) && info.name != parameter)
            {
                values.emplace(info.name, info.minimum);
            }
        }
        return GetRefusal(algorithm, values);
    }

    void CheckParameter(const std::string& algorithm, const CongestionParameterInfo& info)
    {
        const std::string name = algorithm + "." + info.name;
        NS_TEST_EXPECT_MSG_EQ(info.source.empty(), false, name + " has a source");
        NS_TEST_EXPECT_MSG_EQ(info.doc.empty(), false, name + " is described");
        if (std::isnan(info.defaultValue))
        {
            const std::string missing = GetRefusal(algorithm, {});
            NS_TEST_EXPECT_MSG_EQ(Contains(missing, "'" + info.name + "' is missing"),
                                  true,
                                  missing);
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, info.defaultValue),
                                  "",
                                  name + " accepts its default");
        }
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, info.minimum), "", name);
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, info.maximum), "", name);
        const std::string refusal = GetRefusalOf(algorithm, info.name, info.maximum * 2 + 1);
        NS_TEST_EXPECT_MSG_EQ(Contains(refusal, info.name), true, name + " names itself");
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, std::nan("")).empty(),
                              false,
                              name + " is a number");
    }

    void CheckMessages()
    {
        const std::string unknown = GetRefusal("bbrr", {});
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "bbrr"), true, unknown);
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "cubic"), true, unknown);
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "ns3::TcpVegas"), true, unknown);
        const std::string parameter = GetRefusal("cubic", {{"betta", 0.7}});
        NS_TEST_EXPECT_MSG_EQ(Contains(parameter, "betta"), true, parameter);
        NS_TEST_EXPECT_MSG_EQ(Contains(parameter, "fast_convergence"), true, parameter);
        const std::string fraction = GetRefusal("bbr", {{"bandwidth_window", 2.5}});
        NS_TEST_EXPECT_MSG_EQ(Contains(fraction, "whole"), true, fraction);
    }
};

class RenoTest : public SimulationTestCase
{
  public:
    RenoTest()
        : SimulationTestCase("Reno doubles, then adds one segment per round trip, and halves")
    {
    }

  private:
    void DoRun() override
    {
        Reno reno{RenoParameters{}};
        FakeTransport transport(reno, 100 * MS);
        for (uint32_t expected = 20; expected <= 320; expected *= 2)
        {
            transport.AckWindow();
            NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, expected, "slow start doubles");
        }
        NS_TEST_EXPECT_MSG_EQ(transport.state.pacingRate, 0, "Reno is not paced");

        transport.Lose();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 160, "a loss halves");
        for (uint32_t expected = 161; expected <= 170; ++expected)
        {
            transport.AckWindow();
            NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, expected, "one segment per round trip");
        }

        transport.SetCwndLimited(false);
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 170, "no growth unless the window limits");
        transport.SetCwndLimited(true);
        transport.EnterRecovery();
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 170, "the transport owns it in recovery");
    }
};

class RenoTimeOutTest : public SimulationTestCase
{
  public:
    RenoTimeOutTest()
        : SimulationTestCase("After a time-out Reno slow-starts to half its window")
    {
    }

  private:
    void DoRun() override
    {
        Reno reno{RenoParameters{}};
        FakeTransport transport(reno, 100 * MS, 100);
        transport.TimeOut();
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, 50, "half of the window");
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "slow start from one segment");
        transport.state.cwnd = 40;
        transport.AckSegments(30);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 50, "a stretch ACK stops at the threshold");
        transport.AckSegments(30);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 51, "and its rest counts for the next step");

        FakeTransport small(reno, 100 * MS, 3);
        small.Lose();
        NS_TEST_EXPECT_MSG_EQ(small.state.ssthresh, 2, "never below two segments");
    }
};

class WindowPacingTest : public SimulationTestCase
{
  public:
    WindowPacingTest()
        : SimulationTestCase("Pacing of window-based algorithms follows the window when asked for")
    {
    }

  private:
    void DoRun() override
    {
        RenoParameters parameters;
        parameters.pacing = 1;
        Reno reno(parameters);
        FakeTransport transport(reno, 100 * MS, 100);
        const double rate = 100. * transport.state.mss / 0.1;
        NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.pacingRate, 2 * rate, 1, "slow start: 200 %");
        transport.Lose();
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.pacingRate, 0.6 * rate, 1, "later: 120 %");
    }
};

/// CUBIC without HyStart, which has tests of its own.
CubicParameters
WithoutHyStart()
{
    CubicParameters parameters;
    parameters.hystart = 0;
    return parameters;
}

class CubicCurveTest : public SimulationTestCase
{
  public:
    CubicCurveTest()
        : SimulationTestCase("CUBIC follows W(t) of RFC 9438 through plateau and probing")
    {
    }

  private:
    void DoRun() override
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
};

class CubicLossTest : public SimulationTestCase
{
  public:
    CubicLossTest()
        : SimulationTestCase("CUBIC converges fast, forgets after a time-out, and caps growth")
    {
    }

  private:
    void DoRun() override
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
};

class CubicRenoFriendlyTest : public SimulationTestCase
{
  public:
    CubicRenoFriendlyTest()
        : SimulationTestCase("On short paths CUBIC grows as the Reno-friendly window does")
    {
    }

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

class CubicClockTest : public SimulationTestCase
{
  public:
    CubicClockTest()
        : SimulationTestCase("CUBIC counts time in jiffies, and Reno's slope in eighths")
    {
    }

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

class CubicIdleTest : public SimulationTestCase
{
  public:
    CubicIdleTest()
        : SimulationTestCase("Idle time does not advance CUBIC's curve")
    {
    }

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

class CubicMinRttTest : public SimulationTestCase
{
  public:
    CubicMinRttTest()
        : SimulationTestCase("CUBIC takes no RTT samples in the first second after a loss")
    {
    }

  private:
    void DoRun() override
    {
        const int64_t same = 100 * MS;
        const int64_t less = 10 * MS;
        NS_TEST_EXPECT_MSG_EQ(Run(SECOND, less), Run(SECOND, same), "the first second");
        NS_TEST_EXPECT_MSG_LT(Run(3 * SECOND, less),
                              Run(3 * SECOND, same),
                              "then the target is the curve a shorter RTT ahead");
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

class CubicSearchTest : public SimulationTestCase
{
  public:
    CubicSearchTest()
        : SimulationTestCase("With no known maximum CUBIC grows by at least 5 % per round trip")
    {
    }

  private:
    void DoRun() override
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.state.ssthresh = 1000;
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 1050, 1, "5 % of 1000");
    }
};

class HyStartDelayTest : public SimulationTestCase
{
  public:
    HyStartDelayTest()
        : SimulationTestCase("HyStart leaves slow start when the RTT of a round rises by an eighth")
    {
    }

  private:
    static constexpr int64_t RTT = 100 * MS;

    void DoRun() override
    {
        // RTT/8, but not below 4 ms nor above 16 ms.
        CheckThreshold(100 * MS, 12'500'000);
        CheckThreshold(16 * MS, 4 * MS);
        CheckThreshold(400 * MS, 16 * MS);
        NS_TEST_EXPECT_MSG_EQ(CountSamples(), 9, "after eight samples of the round");
        // The window grows from 128 to 139 segments in the round that is judged.
        NS_TEST_EXPECT_MSG_EQ(IsLeft(RTT, RTT, 64, 130), true, "once the window is large enough");
        NS_TEST_EXPECT_MSG_EQ(IsLeft(RTT, RTT, 64, 140), false, "not while it is too small");
        NS_TEST_EXPECT_MSG_EQ(CubicParameters{}.hystartLowWindow, 16, "by default, 16 segments");
    }

    void CheckThreshold(int64_t rtt, int64_t threshold)
    {
        NS_TEST_EXPECT_MSG_EQ(IsLeft(rtt, threshold, 64), false, rtt << " + " << threshold);
        NS_TEST_EXPECT_MSG_EQ(IsLeft(rtt, threshold + 1, 64), true, rtt << " + " << threshold);
    }

    static CubicParameters DelayOnly()
    {
        CubicParameters parameters;
        parameters.hystartAckTrain = 0;
        return parameters;
    }

    /// Whether slow start ends in a round whose RTTs are raised, acknowledged in eleven ACKs.
    bool IsLeft(int64_t rtt, int64_t rise, uint32_t cwnd, double lowWindow = 16)
    {
        CubicParameters parameters = DelayOnly();
        parameters.hystartLowWindow = lowWindow;
        Cubic cubic(parameters);
        FakeTransport transport(cubic, rtt, cwnd);
        transport.AckSegments(1);
        transport.AckSegments(cwnd - 1);
        transport.SetRtt(rtt + rise);
        transport.TimePasses(rtt);
        for (int i = 0; i < 11; ++i)
        {
            transport.AckSegments(1);
        }
        ns3::Simulator::Destroy();
        return transport.state.ssthresh != INFINITE_SSTHRESH;
    }

    /// Samples that a round needs before its RTT is judged.
    int CountSamples()
    {
        Cubic cubic(DelayOnly());
        FakeTransport transport(cubic, 100 * MS, 64);
        transport.AckWindow();
        transport.SetRtt(200 * MS);
        // The ACK beyond the old round's end starts the new one and is its first sample.
        int samples = 0;
        while (transport.state.ssthresh == INFINITE_SSTHRESH && samples < 1000)
        {
            transport.AckSegments(1);
            ++samples;
        }
        ns3::Simulator::Destroy();
        return samples;
    }
};

class HyStartTrainTest : public SimulationTestCase
{
  public:
    HyStartTrainTest()
        : SimulationTestCase("HyStart leaves slow start when an ACK train fills half the RTT")
    {
    }

  private:
    void DoRun() override
    {
        const double half = GetTrainLength(MS, 0);
        NS_TEST_EXPECT_MSG_EQ_TOL(half, 50.5, 2, "half of 100 ms plus the hosts' millisecond");
        const double whole = GetTrainLength(MS, 1);
        NS_TEST_EXPECT_MSG_EQ_TOL(whole, 101, 2, "the whole of it for a paced sender");
        NS_TEST_EXPECT_MSG_LT(GetTrainLength(3 * MS, 0), 0, "3 ms apart is no train");
    }

    /// Milliseconds of evenly spaced ACKs of one round until slow start ends; −1: it does not.
    double GetTrainLength(int64_t spacing, double isPaced)
    {
        CubicParameters parameters;
        parameters.hystartDelay = 0;
        parameters.pacing = isPaced;
        Cubic cubic(parameters);
        FakeTransport transport(cubic, 100 * MS, 1000);
        const int64_t start = transport.now;
        double length = -1;
        for (int i = 0; i < 200 && length < 0; ++i)
        {
            transport.TimePasses(spacing);
            transport.AckSegments(1);
            if (transport.state.ssthresh != INFINITE_SSTHRESH)
            {
                length = static_cast<double>(transport.now - start) / MS;
            }
        }
        ns3::Simulator::Destroy();
        return length;
    }
};

class CongestionTestSuite : public ns3::TestSuite
{
  public:
    CongestionTestSuite()
        : ns3::TestSuite("tunnelcc-congestion", Type::UNIT)
    {
        AddTestCase(new RegistryTest, Duration::QUICK);
        AddTestCase(new RenoTest, Duration::QUICK);
        AddTestCase(new RenoTimeOutTest, Duration::QUICK);
        AddTestCase(new WindowPacingTest, Duration::QUICK);
        AddTestCase(new CubicCurveTest, Duration::QUICK);
        AddTestCase(new CubicLossTest, Duration::QUICK);
        AddTestCase(new CubicRenoFriendlyTest, Duration::QUICK);
        AddTestCase(new CubicClockTest, Duration::QUICK);
        AddTestCase(new CubicIdleTest, Duration::QUICK);
        AddTestCase(new CubicMinRttTest, Duration::QUICK);
        AddTestCase(new CubicSearchTest, Duration::QUICK);
        AddTestCase(new HyStartDelayTest, Duration::QUICK);
        AddTestCase(new HyStartTrainTest, Duration::QUICK);
    }
};

CongestionTestSuite g_congestionTestSuite;

} // namespace
