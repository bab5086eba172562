/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * When a receiver acknowledges, and what its ACKs echo of marks: the policies alone. Segments are
 * full and unread, nothing was sent, and the RTT is 100 ms.
 */
#include "support/simulation-test-case.h"
#include "support/tcp-specs.h"
#include "transport/ack-policy.h"
#include "transport/ecn-echo.h"

#include <sstream>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-ack-policy");

constexpr uint32_t FULL = 1'448; //!< payload of a full segment, bytes

/// A policy, and the ACKs that it brings about.
class Acker final : public AckOutput
{
  public:
    explicit Acker(const TcpSpec& spec = MakeTcpSpec())
        : policy(TestLoop(), spec, m_rtt, *this)
    {
        m_rtt.Sample(100 * MS, 0, 0);
    }

    void SendAck(int64_t now) override
    {
        m_acks << (m_acks.tellp() > 0 ? " " : "") << static_cast<double>(now) / MS;
        policy.OnAckSent();
    }

    /// A segment in order arrives.
    void Take(int64_t now, uint32_t length = FULL, bool isRead = false, bool isPushed = false)
    {
        policy.OnInOrder(now);
        policy.OnSegment(length, isPushed);
        Decide(now, {AckUrgency::DELAYED, false, isRead, false, 0, 100 * MS, isPushed});
    }

    /// A segment arrives that leaves a hole before it, at segment `next`.
    void TakeBehindHole(int64_t now, uint64_t next)
    {
        policy.OnSegment(FULL, false);
        Decide(now, {AckUrgency::COMPRESSED, false, false, false, next, 100 * MS});
    }

    /// When ACKs were sent since the last call, ms, space between.
    std::string Acks()
    {
        std::string acks = m_acks.str();
        m_acks.str("");
        return acks;
    }

  private:
    void Decide(int64_t now, const AckPolicy::Arrival& arrival)
    {
        if (policy.Decide(now, arrival))
        {
            SendAck(now);
        }
    }

    RttEstimator m_rtt{200 * MS};
    std::ostringstream m_acks;

  public:
    AckPolicy policy; //!< after what it uses
};

TEST_CASE(SimulationTestCase,
          QuickAckTest,
          "Segments arrive -> an ACK for each of the first 16, then for two, or after "
          "40 ms (RFC 5681, 4.2; Linux tcp_incr_quickack())")
{
    Acker receiver;
    for (int64_t i = 1; i <= 19; ++i)
    {
        RunUntil(i * MS);
        receiver.Take(i * MS);
    }
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(),
                          "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 59",
                          "the 19th waits for another one");
    receiver.Take(SECOND);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "1000", "after more than a time-out, quickly again");
}

TEST_CASE(SimulationTestCase,
          PingPongTest,
          "Where data is answered, ACKs wait for the answer"
          " -> 40 ms, until none came (Linux inet_csk_in_pingpong_mode())")
{
    Acker receiver;
    RunUntil(MS);
    receiver.Take(MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "1", "quickly at first");
    receiver.policy.OnDataSent(2 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.policy.IsInPingPong(), true, "an answer");
    RunUntil(3 * MS);
    receiver.Take(3 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "", "waits for the next");
    RunUntil(50 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "43", "none came");
    receiver.Take(50 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "50", "quickly again");
}

TEST_CASE(SimulationTestCase,
          CompressionTest,
          "Duplicate ACKs are due -> three at once, later ones together after 1.1 ms"
          " (Linux __tcp_ack_snd_check(), tcp_comp_sack_delay_ns)")
{
    Acker receiver;
    for (int64_t time : {10'000, 11'000, 12'000, 13'000, 13'500})
    {
        RunUntil(time * US);
        receiver.TakeBehindHole(time * US, 5);
    }
    NS_TEST_EXPECT_MSG_EQ(receiver.policy.IsCompressing(), true, "two wait");
    RunUntil(20 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "10 11 12 14.1", "as one");
    receiver.TakeBehindHole(20 * MS, 6);
    NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "20", "another hole: at once again");
}

class ReadTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Whether a segment that is read at once is acknowledged at once, after the quick ACKs.
    static bool IsAcked(bool acksPushed, uint32_t length, bool isPushed)
    {
        Ns3Simulator::Install();
        TcpSpec spec = MakeTcpSpec();
        spec.pushedAcks = acksPushed;
        Acker receiver(spec);
        for (int i = 0; i < 16; ++i)
        {
            receiver.Take(MS);
        }
        receiver.Acks();
        receiver.Take(MS, length, true, isPushed);
        return !receiver.Acks().empty();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(IsAcked(true, FULL, false), false, "a full segment: more may follow");
        NS_TEST_EXPECT_MSG_EQ(IsAcked(true, 100, false), true, "a small one");
        NS_TEST_EXPECT_MSG_EQ(IsAcked(true, FULL, true), true, "PSH");
        NS_TEST_EXPECT_MSG_EQ(IsAcked(false, FULL, true), false, "before Linux 6.6");
    }
};

ADD_CASE(ReadTest,
         "All is read, and the sender may be waiting -> an ACK at once"
         " (Linux tcp_cleanup_rbuf())");

class MergeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int64_t TIME = 20 * US;

    /// So many segments come, a microsecond apart.
    static void Take(Acker& receiver, int64_t now, int count, bool isLastPushed = false)
    {
        for (int i = 0; i < count; ++i)
        {
            RunUntil(now + i * US);
            receiver.Acker::Take(now + i * US, FULL, false, isLastPushed && i == count - 1);
        }
    }

    void DoRun() override
    {
        TcpSpec spec = MakeTcpSpec();
        spec.gro = TIME;
        Acker receiver(spec);
        Take(receiver, MS, 3);
        Take(receiver, 2 * MS, 30);
        RunUntil(3 * MS);
        NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "1.02 2.02 2.04", "quick ACKs: for each time");
        receiver.policy.EndQuickAcks();
        Take(receiver, 3 * MS, 1);
        RunUntil(4 * MS);
        NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "", "one waits for a second");
        Take(receiver, 4 * MS, 1);
        RunUntil(5 * MS);
        NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "4.02", "which came");
        Take(receiver, 5 * MS, 2, true);
        NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "5.001", "PSH: at once");
        receiver.TakeBehindHole(6 * MS, 5);
        NS_TEST_EXPECT_MSG_EQ(receiver.Acks(), "6", "a hole: at once");

        spec.gro = MS;
        Acker patient(spec);
        patient.policy.EndQuickAcks();
        Take(patient, 10 * MS, 50);
        NS_TEST_EXPECT_MSG_EQ(patient.Acks(), "10.044", "45 full segments are 64 KiB");
        RunUntil(12 * MS);
        NS_TEST_EXPECT_MSG_EQ(patient.Acks(), "11.045", "the other five");
    }
};

ADD_CASE(MergeTest,
         "Segments come within 20 us -> GRO makes one of them, of up to 64 KiB,"
         " and ACKs are for that (Linux dev_gro_receive())");

class EcnEchoTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static constexpr EcnMarks PLAIN{true, false, false};
    static constexpr EcnMarks MARKED{true, true, false};
    static constexpr EcnMarks REDUCED{true, false, true};
    static constexpr EcnMarks REPEATED{false, false, false};

    void DoRun() override
    {
        EcnEcho echo;
        NS_TEST_EXPECT_MSG_EQ(echo.OnSegment(PLAIN).isQuickAckDue, false, "nothing to tell");
        NS_TEST_EXPECT_MSG_EQ(echo.OnSegment(MARKED).isQuickAckDue, true, "a mark");
        NS_TEST_EXPECT_MSG_EQ(echo.OnSegment(PLAIN).isQuickAckDue, false, "known");
        NS_TEST_EXPECT_MSG_EQ(echo.IsEchoing(), true, "still");
        NS_TEST_EXPECT_MSG_EQ(echo.OnSegment(REDUCED).isAckDue, true, "the sender has reacted");
        NS_TEST_EXPECT_MSG_EQ(echo.IsEchoing(), false, "no longer");
        NS_TEST_EXPECT_MSG_EQ(echo.OnSegment(REPEATED).isQuickAckDue,
                              true,
                              "what cannot be marked is a retransmission");

        EcnEcho mirror;
        mirror.MirrorMarks();
        NS_TEST_EXPECT_MSG_EQ(mirror.NeedsAckBefore(PLAIN), false, "as before");
        NS_TEST_EXPECT_MSG_EQ(mirror.NeedsAckBefore(MARKED), true, "a change");
        NS_TEST_EXPECT_MSG_EQ(mirror.OnSegment(MARKED).isAckDue, true, "is told at once");
        NS_TEST_EXPECT_MSG_EQ(mirror.IsEchoing(), true, "of this segment");
        NS_TEST_EXPECT_MSG_EQ(mirror.OnSegment(PLAIN).isAckDue, true, "a change again");
        NS_TEST_EXPECT_MSG_EQ(mirror.IsEchoing(), false, "of this one");
    }
};

ADD_CASE(EcnEchoTest,
         "A segment is marked -> echoed until CWR, or for DCTCP by its own ACK alone"
         " (RFC 3168, 6.1.3; RFC 8257, 3.2)");

} // namespace
