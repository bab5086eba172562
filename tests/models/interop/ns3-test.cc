/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the adapter for the congestion controls of ns-3: that it calls them as TcpSocketBase does,
 * sets their attributes, and that they behave behind it as their documents say.
 */
#include "congestion/congestion-registry.h"
#include "interop/ns3-adapter.h"
#include "interop/ns3-attributes.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include "ns3/tcp-linux-reno.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-interop-ns3");

class AllTypeIdsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const auto names = ListNs3CongestionOps();
        const std::set<std::string> present(names.begin(), names.end());
        for (const char* name : {"ns3::TcpBbr",
                                 "ns3::TcpCubic",
                                 "ns3::TcpVegas",
                                 "ns3::TcpLinuxReno",
                                 "ns3::TcpNewReno",
                                 "ns3::TcpWestwoodPlus"})
        {
            NS_TEST_EXPECT_MSG_EQ(present.count(name), 1, name);
        }
        NS_TEST_EXPECT_MSG_EQ(present.count("ns3::TcpCongestionOps"), 0, "an abstract class");
        for (const auto& name : names)
        {
            CheckGrowth(name);
        }
    }

    void CheckGrowth(const std::string& name)
    {
        auto control = MakeCongestionControl(name, {}, 1);
        FakeTransport transport(*control, RTT);
        for (int round = 0; round < 4; ++round)
        {
            transport.AckWindow();
        }
        const uint32_t grown = transport.state.cwnd;
        NS_TEST_EXPECT_MSG_GT(grown, 20, name << " grows from 10 segments");
        if (!control->HasCongControl())
        {
            NS_TEST_EXPECT_MSG_EQ(transport.state.pacingRate, 0, name << " is not paced");
            transport.Lose();
            NS_TEST_EXPECT_MSG_LT(transport.state.cwnd, grown, name << " shrinks on a loss");
        }
        transport.TimeOut();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 1, name << " keeps the window of a time-out");
        transport.AckSegments(1);
        NS_TEST_EXPECT_MSG_GT(transport.state.cwnd, 1, name << " slow-starts after it");
        NS_TEST_EXPECT_MSG_LT(transport.state.cwnd, 10, name << " slow-starts after it");
        ns3::Simulator::Destroy();
    }
};

ADD_CASE(AllTypeIdsTest, "Every congestion control of ns-3 is listed, made, grows and shrinks");

class DctcpTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Part of a window of 100 segments that is left after a reduction, with every so many-th
    /// segment marked for 60 windows before; 0: none.
    static double PartLeft(uint32_t markedEvery)
    {
        auto control = MakeCongestionControl("ns3::TcpDctcp", {}, 1);
        FakeTransport transport(*control, RTT, 100);
        transport.SetCwndLimited(false); // the window stays
        for (uint32_t i = 0; i < 6'000; ++i)
        {
            transport.TimePasses(RTT / 100);
            transport.AckSegments(1, markedEvery > 0 && i % markedEvery == 0);
        }
        const double before = transport.state.cwnd;
        transport.EnterRecovery();
        const double part = transport.state.ssthresh / before;
        ns3::Simulator::Destroy();
        return part;
    }

    void DoRun() override
    {
        // RFC 8257, section 3.3: alpha is the part of marked segments, with a weight of 1/16 a
        // window, from 1 on; the window loses half of alpha.
        NS_TEST_EXPECT_MSG_EQ_TOL(PartLeft(1), 0.5, 0.011, "all are marked");
        NS_TEST_EXPECT_MSG_EQ_TOL(PartLeft(2), 0.75, 0.02, "every second one");
        NS_TEST_EXPECT_MSG_EQ_TOL(PartLeft(10), 0.95, 0.02, "every tenth");
        NS_TEST_EXPECT_MSG_EQ_TOL(PartLeft(0), 1 - 0.5 * 0.021, 0.011, "none: (15/16)^60 is left");

        NS_TEST_EXPECT_MSG_EQ(NeedsEcn("ns3::TcpDctcp"), true, "DCTCP");
        NS_TEST_EXPECT_MSG_EQ(NeedsEcn("ns3::TcpLinuxReno"), false, "Reno");
    }
};

ADD_CASE(DctcpTest, "ns3::TcpDctcp asks for marks and reduces by half of their share");

class EnumerationTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        for (const auto& info : GetCongestionParameters("ns3::TcpWestwoodPlus"))
        {
            if (info.name == "FilterType")
            {
                m_isFound = true;
                NS_TEST_EXPECT_MSG_EQ(info.choices.size(), 2, "filters");
                NS_TEST_EXPECT_MSG_EQ(info.choices.front(), "None", "in alphabetical order");
                NS_TEST_EXPECT_MSG_EQ((info.defaultValue == ParameterValue("Tustin")),
                                      true,
                                      "its default");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(m_isFound, true, "listed");
        MakeCongestionControl("ns3::TcpWestwoodPlus", {{"FilterType", "None"}}, 1);
        bool isRefused = false;
        try
        {
            MakeCongestionControl("ns3::TcpWestwoodPlus", {{"FilterType", "Kalman"}}, 1);
        }
        catch (const std::invalid_argument&)
        {
            isRefused = true;
        }
        NS_TEST_EXPECT_MSG_EQ(isRefused, true, "there are two");
    }

    bool m_isFound{false};
};

ADD_CASE(EnumerationTest, "Attributes that are one of several are set by name");

/// ns3::TcpLinuxReno called by hand, in bytes.
class HandDrivenReno
{
  public:
    HandDrivenReno()
        : m_ops(ns3::CreateObject<ns3::TcpLinuxReno>()),
          m_tcb(ns3::CreateObject<ns3::TcpSocketState>())
    {
        m_tcb->m_segmentSize = 1448;
        m_tcb->m_initialCWnd = 10;
        m_tcb->m_cWnd = 14480;
        m_tcb->m_ssThresh = UINT32_MAX;
        m_tcb->m_initialSsThresh = UINT32_MAX;
        m_tcb->m_isCwndLimited = true;
        m_ops->Init(m_tcb);
    }

    void Ack(uint32_t segments)
    {
        m_ops->PktsAcked(m_tcb, segments, ns3::NanoSeconds(RTT));
        m_ops->IncreaseWindow(m_tcb, segments);
    }

    void Lose()
    {
        m_tcb->m_ssThresh = m_ops->GetSsThresh(m_tcb, m_tcb->m_cWnd);
        m_ops->CongestionStateSet(m_tcb, ns3::TcpSocketState::CA_RECOVERY);
        m_tcb->m_cWnd = m_tcb->m_ssThresh.Get();
        m_ops->CongestionStateSet(m_tcb, ns3::TcpSocketState::CA_OPEN);
    }

    uint32_t GetSegments() const
    {
        return m_tcb->m_cWnd / 1448;
    }

    uint32_t GetBytes() const
    {
        return m_tcb->m_cWnd;
    }

  private:
    ns3::Ptr<ns3::TcpLinuxReno> m_ops;
    ns3::Ptr<ns3::TcpSocketState> m_tcb;
};

TEST_CASE(SimulationTestCase,
          IdenticalRenoTest,
          "TcpLinuxReno behind the adapter is TcpLinuxReno, to the byte")
{
    HandDrivenReno reno;
    Ns3Adapter adapter("ns3::TcpLinuxReno", {}, 1);
    FakeTransport transport(adapter, RTT);
    uint32_t oddWindows = 0;
    for (int ack = 1; ack <= 20000; ++ack)
    {
        const uint32_t segments = 1 + ack % 3;
        transport.TimePasses(MS);
        transport.AckSegments(segments);
        reno.Ack(segments);
        if (ack % 977 == 0)
        {
            transport.Lose();
            reno.Lose();
        }
        oddWindows += reno.GetBytes() % 1448 != 0 ? 1 : 0;
        NS_TEST_ASSERT_MSG_EQ(transport.state.cwnd, reno.GetSegments(), "at ACK " << ack);
    }
    NS_TEST_EXPECT_MSG_GT(oddWindows, 1000, "windows of half segments were met");
}

TEST_CASE(SimulationTestCase,
          CubicOpsTest,
          "TcpCubic grows along its curve only while the window limits")
{
    Ns3Adapter adapter("ns3::TcpCubic", {}, 1);
    FakeTransport transport(adapter, RTT, 1000);
    transport.Lose();
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 700, 1, "beta is 0.7");
    transport.SetCwndLimited(false);
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 700, 1, "no growth unless it limits");
    transport.SetCwndLimited(true);
    for (int round = 0; round < 91; ++round)
    {
        transport.AckWindow();
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 1000, 10, "the plateau, after K = 9.1 s");
}

class IdleCubicOpsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Segments by which a window of 700 grows in the round trip after ten idle seconds.
    uint32_t GrowAfterIdle(const std::string& name)
    {
        auto control = MakeCongestionControl(name, {}, 1);
        FakeTransport transport(*control, RTT, 1000);
        transport.Lose();
        transport.AckWindow();
        const uint32_t before = transport.state.cwnd;
        transport.TimePasses(10 * SECOND);
        control->OnTransmitStart(transport.state, transport.now, 10 * SECOND);
        transport.AckWindow();
        ns3::Simulator::Destroy();
        return transport.state.cwnd - before;
    }

    void DoRun() override
    {
        // The plateau, 300 segments above, lies K = 9.1 s ahead.
        NS_TEST_EXPECT_MSG_LT(GrowAfterIdle("cubic"), 15, "as after the round trip before");
        NS_TEST_EXPECT_MSG_GT(GrowAfterIdle("ns3::TcpCubic"), 150, "towards the plateau at once");
    }
};

ADD_CASE(IdleCubicOpsTest, "TcpCubic's curve goes on while nothing is sent; ours waits");

TEST_CASE(SimulationTestCase,
          RestoredWindowTest,
          "The adapter tells TcpBbr that a time-out is over, which restores its window")
{
    for (const char* name : {"bbr", "ns3::TcpBbr"})
    {
        auto control = MakeCongestionControl(name, {}, 1);
        FakePipe pipe(*control, 1000, RTT);
        pipe.Run(5 * SECOND);
        const uint32_t before = pipe.state.cwnd;
        control->GetSsThresh(pipe.state, pipe.now);
        pipe.state.cwnd = 1;
        control->OnCaState(pipe.state, CaState::LOSS, pipe.now);
        pipe.state.caState = CaState::LOSS;
        NS_TEST_EXPECT_MSG_EQ(pipe.state.cwnd, 1, name);
        control->OnCaState(pipe.state, CaState::OPEN, pipe.now);
        pipe.state.caState = CaState::OPEN;
        pipe.Run(RTT / 10);
        NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.cwnd, before, 3, name);
        ns3::Simulator::Destroy();
    }
}

TEST_CASE(SimulationTestCase,
          LimitedGrowthTest,
          "No operation grows a window that is not the limit")
{
    for (const char* name : {"ns3::TcpNewReno", "ns3::TcpVegas", "ns3::TcpHighSpeed"})
    {
        auto control = MakeCongestionControl(name, {}, 1);
        FakeTransport transport(*control, RTT);
        transport.SetCwndLimited(false);
        transport.AckWindow();
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 10, name);
        ns3::Simulator::Destroy();
    }
}

class VegasOpsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CheckQueue({}, 2, 4);
        CheckQueue({{"Alpha", 10}, {"Beta", 12}}, 10, 12);
    }

    void CheckQueue(const CongestionParameters& parameters, double alpha, double beta)
    {
        auto control = MakeCongestionControl("ns3::TcpVegas", parameters, 1);
        FakePipe pipe(*control, 1000, RTT);
        // Slow start overshoots, and Vegas gives a segment back per round trip.
        pipe.Run(120 * SECOND);
        double queue = 0;
        uint32_t samples = 0;
        pipe.Run(5 * SECOND, [&] {
            // Beside the queue, one segment is on the link.
            queue += static_cast<double>(pipe.state.inFlight) - 101;
            ++samples;
        });
        queue /= samples;
        NS_TEST_EXPECT_MSG_GT(queue, alpha - 1, "at least Alpha, give or take a segment");
        NS_TEST_EXPECT_MSG_LT(queue, beta + 1, "at most Beta, give or take a segment");
        ns3::Simulator::Destroy();
    }
};

ADD_CASE(VegasOpsTest, "TcpVegas keeps Alpha to Beta segments in the queue");

class BbrOpsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Ns3Adapter adapter("ns3::TcpBbr", {}, 1);
        FakePipe pipe(adapter, 1000, RTT);
        NS_TEST_EXPECT_MSG_GT(pipe.state.pacingRate, 0, "paced from the start");
        uint32_t least = UINT32_MAX;
        pipe.Run(5 * SECOND);
        const uint64_t atFive = pipe.state.delivered;
        pipe.Run(20 * SECOND, [&] { least = std::min(least, pipe.state.cwnd); });
        const auto delivered = static_cast<double>(pipe.state.delivered - atFive);
        NS_TEST_EXPECT_MSG_GT(delivered / 20000, 0.93, "PROBE_RTT apart, the link is full");
        NS_TEST_EXPECT_MSG_EQ(least, 4, "the window of PROBE_RTT");
        ns3::Simulator::Destroy();

        std::set<uint64_t> different;
        for (int64_t stream = 0; stream < 12; ++stream)
        {
            const uint64_t probes = GetProbes(stream);
            NS_TEST_EXPECT_MSG_EQ(GetProbes(stream), probes, "the stream decides");
            different.insert(probes);
        }
        NS_TEST_EXPECT_MSG_GT(different.size(), 3, "phases differ by stream");
    }

    /// A fingerprint of when the third second's probes came.
    uint64_t GetProbes(int64_t stream)
    {
        Ns3Adapter adapter("ns3::TcpBbr", {}, stream);
        FakePipe pipe(adapter, 1000, RTT);
        uint64_t probed = 0;
        pipe.Run(2 * SECOND);
        pipe.Run(SECOND, [&] { probed += pipe.state.inFlight > 115 ? pipe.state.delivered : 0; });
        ns3::Simulator::Destroy();
        return probed;
    }
};

ADD_CASE(BbrOpsTest, "TcpBbr fills a pipe, probes its RTT, and each flow at a phase of its own");

class WrappedCounterTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// The mean of the pacing rate, segments/s, from one to three seconds after a link of 1000
    /// segments/s became half as fast; `delivered`: what the connection had delivered before.
    double PacedAfterSlowing(const char* name, uint64_t delivered)
    {
        auto control = MakeCongestionControl(name, {}, 1);
        FakePipe pipe(*control, 1000, RTT);
        pipe.state.delivered = delivered;
        pipe.Run(5 * SECOND);
        pipe.SetRate(500);
        pipe.Run(SECOND);
        double sum = 0;
        uint32_t count = 0;
        pipe.Run(2 * SECOND, [&] {
            sum += pipe.state.pacingRate / pipe.state.mss;
            ++count;
        });
        ns3::Simulator::Destroy();
        return sum / count;
    }

    void DoRun() override
    {
        // 4.9 s of 1000 segments and a tenth of a second of 500 before the counter wraps.
        const uint64_t nearWrap = (1ULL << 32) / SenderState().mss - 5000;
        NS_TEST_EXPECT_MSG_EQ_TOL(PacedAfterSlowing("ns3::TcpBbr", 0), 1000, 100, "remembered");
        NS_TEST_EXPECT_MSG_EQ_TOL(PacedAfterSlowing("ns3::TcpBbr", nearWrap), 500, 50, "forgotten");
        NS_TEST_EXPECT_MSG_EQ_TOL(PacedAfterSlowing("bbr", nearWrap), 1000, 100, "64 bits");
    }
};

ADD_CASE(WrappedCounterTest,
         "TcpBbr counts 32 bits: past 4 GiB it forgets the maximum of ten rounds at once");

class AttributeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const auto parameters = GetCongestionParameters("ns3::TcpVegas");
        const auto alpha = std::find_if(parameters.begin(), parameters.end(), [](const auto& info) {
            return info.name == "Alpha";
        });
        NS_TEST_ASSERT_MSG_EQ((alpha != parameters.end()), true, "Alpha of Vegas");
        NS_TEST_EXPECT_MSG_EQ((alpha->defaultValue == ParameterValue(int64_t{2})),
                              true,
                              "its default");
        NS_TEST_EXPECT_MSG_EQ(alpha->doc.empty(), false, "its description");

        CheckRefused("ns3::TcpVegas", {{"Alfa", 3}}, "Alpha");
        CheckRefused("ns3::TcpVegas", {{"Alpha", -3}}, "Alpha");
        CheckRefused("ns3::TcpVegas", {{"Alpha", 2.5}}, "whole");
        CheckRefused("ns3::TcpVegas", {{"Alpha", 1'000'000'000'000}}, "4.29497e+09"); // 32 bits
        CheckRefused("ns3::TcpHybla", {{"RRTT", 0.0}}, "0.01");
        CheckRefused("ns3::TcpVega", {}, "ns3::TcpVegas");
        CheckRefused("ns3::UdpClient", {}, "ns3::TcpVegas");
        CheckRefused("ns3::TcpCongestionOps", {}, "ns3::TcpVegas");
    }

    void CheckRefused(const std::string& name,
                      const CongestionParameters& parameters,
                      const std::string& part)
    {
        std::string message;
        try
        {
            MakeCongestionControl(name, parameters, 1);
        }
        catch (const std::invalid_argument& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ((message.find(part) != std::string::npos),
                              true,
                              name << ": '" << message << "' mentions " << part);
    }
};

ADD_CASE(AttributeTest, "Attributes are parameters, and wrong ones are refused by name");

} // namespace
