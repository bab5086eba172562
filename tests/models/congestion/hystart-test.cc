/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks HyStart, with which CUBIC leaves slow start.
 */
#include "congestion/congestion-parameters.h"
#include "congestion/cubic.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-hystart");

class HyStartDelayTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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

ADD_CASE(HyStartDelayTest, "HyStart leaves slow start when the RTT of a round rises by an eighth");

class HyStartTrainTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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

ADD_CASE(HyStartTrainTest, "HyStart leaves slow start when an ACK train fills half the RTT");

class ConservativeRoundsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Windows that are acknowledged until slow start ends. The RTT rises after the second.
    static int CountWindows(int64_t rounds)
    {
        Cubic cubic(ParseParameters("cubic",
                                    Cubic::GetParameterTable(),
                                    {{"hystart_plus_plus", true}, {"css_rounds", rounds}}));
        FakeTransport transport(cubic, 100 * MS, 64);
        int windows = 0;
        while (transport.state.ssthresh == INFINITE_SSTHRESH && windows < 100)
        {
            transport.SetRtt(windows < 2 ? 100 * MS : 200 * MS);
            transport.AckWindow();
            ++windows;
        }
        ns3::Simulator::Destroy();
        return windows;
    }

    void DoRun() override
    {
        // RFC 9406, section 4.2: the round in which the RTT rose counts. The next ends slow start.
        NS_TEST_EXPECT_MSG_EQ(CountWindows(1), 4, "one round");
        NS_TEST_EXPECT_MSG_EQ(CountWindows(5), 8, "CSS_ROUNDS of section 4.3");
    }
};

ADD_CASE(ConservativeRoundsTest, "HyStart++ grows slowly for as many rounds as it is told to");

} // namespace
