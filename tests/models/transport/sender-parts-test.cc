/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The parts of a sender alone: the peer's window, the congestion window, the retransmission timer,
 * RTT samples, loss recovery, bursts. Segments are full, and the RTT is 100 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"
#include "transport/ack-summary.h"
#include "transport/congestion-window.h"
#include "transport/loss-recovery.h"
#include "transport/retransmission-timer.h"
#include "transport/send-window.h"
#include "transport/transmitter.h"

#include <memory>
#include <sstream>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-sender-parts");

constexpr uint32_t MSS = 1'448; //!< payload of a full segment, bytes

TEST_CASE(ns3::TestCase,
          SendWindowTest,
          "Windows or writes are small -> nothing silly, one small segment at a"
          " time (RFC 9293, 3.8.6.2.1; RFC 896, Minshall)")
{
    SendBuffer buffer(1 << 20, 1 << 20, 0);
    Scoreboard board;
    SendWindow window(MSS, false);
    buffer.Write(10 * MSS + 100, 1 << 20);
    window.OnWindow(0, 10'000);
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false), MSS, "a full one");
    buffer.OnSent(9'000, 0);
    NS_TEST_EXPECT_MSG_EQ(window.Room(buffer.SentOffset()), 1'000, "left");
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false), 0, "less than half of it");
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false, true), 1'000, "to probe");
    window.OnWindow(9'000, 20'000);
    buffer.OnSent(buffer.Unsent() - 100, 0);
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false), 100, "the first small one");
    window.OnSent(board.Nxt(), 100);
    board.Append({.length = 100});
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false), 0, "another one waits");
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, true), 100, "unless it is the last");
    board.AcknowledgeTo(1, [](const SegmentRun&) {});
    NS_TEST_EXPECT_MSG_EQ(window.NextLength(buffer, board, false), 100, "it was acknowledged");
}

/// A congestion window that a script sets, over a board that it fills.
struct Window
{
    explicit Window(const TcpSpec& spec = Exchange::Spec())
        : Window(spec, std::make_unique<ScriptedControl>())
    {
    }

    Window(const TcpSpec& spec, std::unique_ptr<ScriptedControl> scripted)
        : control(*scripted),
          window(spec, std::move(scripted), board, pacer)
    {
        window.State().minRtt = window.State().srtt = 100 * MS;
        window.Init(0);
    }

    Scoreboard board;
    Pacer pacer{0, 0, 1448};
    ScriptedControl& control;
    CongestionWindow window;
};

TEST_CASE(ns3::TestCase,
          IdleWindowTest,
          "Time-outs of silence pass -> the window halves for each, down to the"
          " initial one (RFC 2861; Linux tcp_cwnd_restart())")
{
    Window idle;
    SenderState& state = idle.window.State();
    idle.window.Set(0, 80);
    state.ssthresh = 20;
    NS_TEST_EXPECT_MSG_EQ(idle.window.RestartAfterIdle(0, 200 * MS, 200 * MS), false, "in use");
    NS_TEST_EXPECT_MSG_EQ(idle.window.RestartAfterIdle(0, 500 * MS, 200 * MS), true, "idle");
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 20, "twice");
    NS_TEST_EXPECT_MSG_EQ(state.ssthresh, 60, "three quarters of the window");
    idle.window.RestartAfterIdle(0, 100 * SECOND, 200 * MS);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 10, "the initial window");
}

class PartlyUsedWindowTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static uint32_t CwndAfter(int64_t time, bool isWriterBlocked)
    {
        Window unused;
        unused.window.Set(0, 100);
        unused.window.State().ssthresh = 50;
        for (int i = 0; i < 20; ++i)
        {
            unused.board.Append({.length = MSS});
        }
        const RttEstimator rtt(200 * MS); // without a sample, its time-out is a second
        unused.window.Validate(time / 2, false, rtt, isWriterBlocked);
        unused.window.Validate(time, false, rtt, isWriterBlocked);
        return unused.window.State().cwnd;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(999 * MS, false), 100, "not yet");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(SECOND, false), 60, "unused");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(SECOND, true), 100, "the send buffer limits");
    }
};

ADD_CASE(PartlyUsedWindowTest,
         "For a time-out 20 of a window of 100 are used -> 60, half way (RFC"
         " 2861, 3.1)");

class RetransmissionTimerTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    using Cause = RetransmissionTimer::Cause;

    void DoRun() override
    {
        RetransmissionTimer timer(4 * MS);
        timer.SetTimeout(0, 0, 300 * MS);
        timer.SetProbe(0, 250 * MS);
        NS_TEST_EXPECT_MSG_EQ(timer.Deadline(), 250 * MS, "the probe comes first");
        NS_TEST_EXPECT_MSG_EQ((timer.Due(250 * MS) == Cause::PROBE), true, "is due");
        NS_TEST_EXPECT_MSG_EQ(timer.Expiry(Cause::PROBE, 0), 256 * MS, "64 jiffies, in a bucket");
        timer.SetReordering(100 * MS, 125 * MS);
        NS_TEST_EXPECT_MSG_EQ((timer.Due(250 * MS) == Cause::REORDERING), true, "before both");
        NS_TEST_EXPECT_MSG_EQ(timer.Expiry(Cause::REORDERING, 131 * MS),
                              136 * MS,
                              "waits for the last segment");
        timer.CancelReordering();
        timer.CancelProbe();
        NS_TEST_EXPECT_MSG_EQ(timer.Deadline(), 300 * MS, "the time-out is left");
        timer.SetProbe(0, 350 * MS);
        NS_TEST_EXPECT_MSG_EQ(timer.Deadline(), 300 * MS, "a probe takes its place");
        NS_TEST_EXPECT_MSG_EQ((timer.Due(300 * MS) == Cause::PROBE), true, "RFC 8985, 7.2");
        timer.SetTimeout(500 * MS, 100 * MS, 300 * MS);
        timer.CancelProbe();
        NS_TEST_EXPECT_MSG_EQ(timer.Deadline(), 500 * MS + 1, "never in the past");
    }
};

ADD_CASE(RetransmissionTimerTest,
         "Reordering, probe and time-out are set -> one timer, in jiffies"
         " (Linux icsk_retransmit_timer)");

TEST_CASE(ns3::TestCase,
          RttSampleTest,
          "An ACK tells of several segments -> SRTT takes the oldest, the"
          " congestion control the latest (RFC 6298, 3; Linux tcp_ack_update_rtt())")
{
    AckSummary summary;
    NS_TEST_EXPECT_MSG_EQ(summary.GetRtt(100 * MS, 10).has_value(), false, "nothing delivered");
    summary.cumulative = 2;
    summary.oldestSent = 10 * MS;
    summary.latestSent = 20 * MS + 300;
    auto rtt = summary.GetRtt(100 * MS, 10);
    NS_TEST_EXPECT_MSG_EQ(rtt->smoothed, 90 * MS, "of the oldest");
    NS_TEST_EXPECT_MSG_EQ(rtt->latest, 79'999 * US, "of the latest, in whole microseconds");
    summary.ackedRetransmitted = true;
    rtt = summary.GetRtt(100 * MS, 30);
    NS_TEST_EXPECT_MSG_EQ(rtt->smoothed, 70 * MS, "of the echo");
    NS_TEST_EXPECT_MSG_EQ(summary.GetRtt(100 * MS, {}).has_value(), false, "Karn's rule");
    summary.oldestSacked = summary.latestSacked = 50 * MS;
    rtt = summary.GetRtt(100 * MS, 30);
    NS_TEST_EXPECT_MSG_EQ(rtt->smoothed, 50 * MS, "of the segment sacked");
}

/// Loss recovery over a board of which the script sends and acknowledges; window 10, threshold 5.
struct Recovery : Window
{
    void Send(int64_t now, uint32_t segments)
    {
        for (uint32_t i = 0; i < segments; ++i)
        {
            board.Append({.sentTime = now, .length = MSS});
            recovery.OnTransmit();
        }
    }

    void Retransmit(int64_t now, bool isProbe = false)
    {
        uint64_t number = isProbe ? board.Nxt() - 1 : *recovery.NextLost();
        board.Retransmit(number);
        board.At(number).sentTime = now;
        recovery.OnTransmit();
        if (isProbe)
        {
            recovery.OnProbe(true);
        }
        else
        {
            recovery.OnRetransmit(now);
        }
    }

    /// An ACK of all before `next` and of [begin, end), which echoes the clock of `echo` ns.
    void Ack(int64_t now, uint64_t next, int64_t echo, uint64_t begin = 0, uint64_t end = 0)
    {
        AckSummary summary;
        const uint64_t una = board.Una();
        const uint64_t fack = board.Fack();
        auto onDelivered = [&](const SegmentRun& run) {
            summary.delivered += run.Count();
            recovery.OnDelivered(now, run, fack, false);
            summary.deliveredOriginal |= !run.segment.Has(Segment::EVER_RETRANSMITTED) &&
                                         recovery.IsBeforeReduction(run.first);
        };
        board.Sack(begin, end, onDelivered);
        summary.sacked = summary.delivered;
        summary.ackedRetransmitted = board.AcknowledgeTo(next, onDelivered).wasRetransmitted;
        summary.cumulative = static_cast<uint32_t>(board.Una() - una);
        Acknowledgement ack;
        ack.tsEcr = TimestampClock(echo);
        recovery.EndProbe(now, false);
        recovery.Update(now, summary, ack, true);
    }

    bool Is(CaState state) const
    {
        return window.State().caState == state;
    }

    LossRecovery recovery{Exchange::Spec(), board, window};
};

TEST_CASE(ns3::TestCase,
          FastRecoveryTest,
          "SACKs tell of later segments -> recovery until all is acknowledged,"
          " undone by an echo of before (RFC 8985, 6.2; RFC 3522)")
{
    for (const bool isNeedless : {false, true})
    {
        Recovery script;
        script.Send(0, 10);
        script.Ack(100 * MS, 0, 0, 1, 3);
        NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::DISORDER), true, "two SACKs");
        NS_TEST_EXPECT_MSG_EQ(script.recovery.ReorderingDeadline(),
                              125 * MS,
                              "it may have been overtaken: a quarter of the RTT");
        script.Ack(101 * MS, 0, 0, 3, 5);
        NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::RECOVERY), true, "four are enough");
        NS_TEST_EXPECT_MSG_EQ(script.window.State().ssthresh, 5, "as the algorithm wants");
        NS_TEST_EXPECT_MSG_EQ(script.recovery.NextLost().value(), 0, "is to be sent again");
        script.Retransmit(101 * MS);
        script.Ack(201 * MS, 10, isNeedless ? 0 : 101 * MS);
        NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::OPEN), true, "all is acknowledged");
        NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd,
                              (isNeedless ? 10 : 5),
                              "the window of before, or the threshold");
        NS_TEST_EXPECT_MSG_EQ(script.recovery.Undos(), (isNeedless ? 1 : 0), "undone");
    }
}

TEST_CASE(ns3::TestCase,
          NeedlessTimeOutTest,
          "A time-out was needless -> new data goes first, an original's"
          " arrival undoes it (RFC 5682, 3.1)")
{
    Recovery script;
    script.Send(0, 10);
    script.recovery.OnTimeout(300 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::LOSS), true, "a time-out");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 1, "one segment");
    script.Retransmit(300 * MS);
    script.Ack(310 * MS, 1, 300 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.NextLost().has_value(), false, "new data first");
    script.Send(310 * MS, 2);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.EndDeferral(), false, "it was sent");
    script.Ack(320 * MS, 2, 300 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.Undos(), 1, "the second original has arrived");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 10, "the window of before");
}

TEST_CASE(ns3::TestCase,
          ProbeOutcomeTest,
          "A tail loss probe repaired a loss -> the window is reduced once (RFC"
          " 8985, 7.4.2)")
{
    Recovery script;
    script.Send(0, 10);
    script.Ack(100 * MS, 9, 0);
    script.Retransmit(300 * MS, true);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.IsProbing(), true, "its ACK is yet to come");
    script.Ack(400 * MS, 10, 300 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.IsProbing(), true, "of the original or the probe");
    script.Send(400 * MS, 1);
    script.Ack(500 * MS, 11, 400 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.recovery.IsProbing(), false, "no D-SACK came: it was lost");
    NS_TEST_EXPECT_MSG_EQ(script.control.reductions.size(), 1, "one reduction");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 5, "to the threshold");
}

TEST_CASE(ns3::TestCase,
          PriorThresholdTest,
          "A reduction is undone -> the threshold of before, and at least three quarters of the"
          " window (Linux tcp_init_undo(), tcp_current_ssthresh())")
{
    struct Row
    {
        uint32_t cwnd;
        uint32_t ssthresh;
        uint32_t expected;
    };

    // cwnd / 2 + cwnd / 4, each rounded down
    for (const Row& row : {Row{23, 5, 16}, Row{23, 15, 16}, Row{23, 17, 17}, Row{11, 2, 7}})
    {
        Recovery script;
        script.window.Set(0, row.cwnd);
        script.window.State().ssthresh = row.ssthresh;
        script.control.ssthresh = 2;
        script.Send(0, 10);
        script.Ack(101 * MS, 0, 0, 1, 5);
        script.Retransmit(101 * MS);
        script.Ack(201 * MS, 10, 0);
        NS_TEST_EXPECT_MSG_EQ(script.recovery.Undos(), 1, "an echo of before");
        NS_TEST_EXPECT_MSG_EQ(script.window.State().ssthresh, row.expected, "of " << row.cwnd);
        NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, row.cwnd, "the window of before");
    }
}

TEST_CASE(ns3::TestCase,
          TooLargeTest,
          "The path's MTU falls -> larger segments in flight are lost, and the window stays (Linux"
          " tcp_simple_retransmit())")
{
    Recovery script;
    script.window.Set(0, 23);
    script.window.State().ssthresh = 5;
    script.Send(0, 10);
    script.recovery.OnTooLarge(50 * MS, MSS);
    NS_TEST_EXPECT_MSG_EQ(script.board.LostOut(), 0, "none is larger than a full one");
    NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::OPEN), true, "nothing has changed");
    script.Ack(60 * MS, 0, 0, 5, 7);
    script.recovery.OnTooLarge(70 * MS, MSS - 1);
    NS_TEST_EXPECT_MSG_EQ(script.board.LostOut(), 8, "but for the two that have arrived");
    NS_TEST_EXPECT_MSG_EQ(script.window.Lost(), 8, "each is told");
    NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::LOSS), true, "as after a time-out");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 23, "the window stays");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().ssthresh, 16, "three quarters of it");
    NS_TEST_EXPECT_MSG_EQ(script.control.reductions.size(), 0, "no reduction");
    script.Retransmit(70 * MS);
    script.Ack(170 * MS, 2, 0); // also of segment 1, which was sent once
    NS_TEST_EXPECT_MSG_EQ(script.recovery.Undos(), 0, "there is nothing to undo");
    NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::LOSS), true, "until all is acknowledged");
    script.Ack(180 * MS, 10, 70 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Is(CaState::OPEN), true, "that was out then");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 23, "the window still stays");

    Recovery above;
    above.window.Set(0, 8);
    above.window.State().ssthresh = 7;
    above.Send(0, 4);
    above.recovery.OnTooLarge(70 * MS, MSS - 1);
    NS_TEST_EXPECT_MSG_EQ(above.window.State().ssthresh, 7, "it is more than 4 + 2");
}

TEST_CASE(ns3::TestCase,
          TimeoutWindowTest,
          "A time-out -> what was sent less than an RTT ago stays in flight, and the window has one"
          " segment more (Linux tcp_enter_loss())")
{
    Recovery script;
    script.Send(0, 1);
    script.Send(590 * MS, 2);
    script.recovery.OnTimeout(600 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.board.LostOut(), 1, "the first");
    NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, 3, "two in flight, and one");
    NS_TEST_EXPECT_MSG_EQ(script.recovery.HasTimedOut(), true, "the first has");
    NS_TEST_EXPECT_MSG_EQ(script.recovery.TakeCwr(), true, "the peer is told");
    NS_TEST_EXPECT_MSG_EQ(script.recovery.TakeCwr(), false, "once");
}

class TimeoutEpisodeTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        // Linux tcp_enter_loss(): a new episode, with a reduction, unless the latest is not over.
        Recovery again;
        again.Send(0, 10);
        again.recovery.OnTimeout(300 * MS);
        NS_TEST_EXPECT_MSG_EQ(again.control.reductions.size(), 1, "the first");
        again.Retransmit(300 * MS);
        again.recovery.OnTimeout(900 * MS);
        NS_TEST_EXPECT_MSG_EQ(again.control.reductions.size(), 1, "of the same segment");
        again.Retransmit(900 * MS);
        again.Ack(1'000 * MS, 1, 900 * MS);
        again.recovery.OnTimeout(1'600 * MS);
        NS_TEST_EXPECT_MSG_EQ(again.control.reductions.size(), 2, "of the next one");

        Recovery recovering;
        recovering.Send(0, 10);
        recovering.Ack(101 * MS, 0, 0, 1, 5);
        NS_TEST_EXPECT_MSG_EQ(recovering.control.reductions.size(), 1, "recovery");
        recovering.recovery.OnTimeout(500 * MS);
        NS_TEST_EXPECT_MSG_EQ(recovering.control.reductions.size(), 1, "the same loss");
        // No F-RTO: what comes of before may be of the recovery.
        recovering.Retransmit(500 * MS);
        recovering.Ack(600 * MS, 1, 500 * MS);
        NS_TEST_EXPECT_MSG_EQ(recovering.recovery.NextLost().has_value(), true, "lost ones first");
    }
};

ADD_CASE(TimeoutEpisodeTest,
         "Time-outs follow each other -> a reduction for each new loss (Linux tcp_enter_loss())");

class ReorderingTimeoutTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        for (const bool isEarly : {true, false})
        {
            Recovery script;
            script.control.ssthresh = 9;
            script.Send(0, 10);
            script.Ack(100 * MS, 0, 0, 1, 3);
            const bool isLost = script.recovery.OnReorderingTimeout((isEarly ? 120 : 125) * MS);
            NS_TEST_EXPECT_MSG_EQ(isLost, !isEarly, "a quarter of the RTT after the SACK");
            NS_TEST_EXPECT_MSG_EQ(script.Is(isEarly ? CaState::DISORDER : CaState::RECOVERY),
                                  true,
                                  "recovery begins with the loss");
            NS_TEST_EXPECT_MSG_EQ(script.recovery.ReorderingDeadline(), NEVER, "no second look");
            NS_TEST_EXPECT_MSG_EQ(script.control.reductions.size(), (isEarly ? 0 : 1), "reduced");
            // RFC 9937: 7 in flight of a threshold of 9, and one to send for the segment lost.
            NS_TEST_EXPECT_MSG_EQ(script.window.State().cwnd, (isEarly ? 10 : 8), "PRR");
        }
    }
};

ADD_CASE(ReorderingTimeoutTest,
         "The reordering window ends -> recovery, if a segment is lost by then (RFC 8985, 6.3;"
         " Linux tcp_rack_reo_timeout())");

class MayRaiseTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static bool MayGrow(uint32_t cumulative, uint32_t sacked, bool isReduced)
    {
        Recovery script;
        script.Send(0, 10);
        if (isReduced)
        {
            script.Ack(101 * MS, 0, 0, 1, 5);
        }
        AckSummary summary;
        summary.cumulative = cumulative;
        summary.sacked = sacked;
        summary.delivered = cumulative + sacked;
        return script.recovery.ReduceWindow(summary, 0);
    }

    /// Segments to send in recovery with two in flight of a threshold of eight.
    static uint32_t ToSend(uint32_t cumulative, uint32_t newlyLost)
    {
        Recovery script;
        script.control.ssthresh = 8;
        script.Send(0, 10);
        script.Ack(101 * MS, 0, 0, 1, 5);
        script.window.State().inFlight = 2;
        AckSummary summary;
        summary.cumulative = cumulative;
        summary.sacked = 1 - cumulative;
        summary.delivered = 1;
        script.recovery.ReduceWindow(summary, newlyLost);
        return script.window.State().cwnd - 2;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(MayGrow(1, 0, false), true, "new data is acknowledged");
        NS_TEST_EXPECT_MSG_EQ(MayGrow(0, 1, false), false, "a SACK alone");
        NS_TEST_EXPECT_MSG_EQ(MayGrow(0, 0, false), false, "nothing");
        NS_TEST_EXPECT_MSG_EQ(MayGrow(1, 0, true), false, "in recovery");

        // RFC 9937: one more than was delivered on an ACK of new data without a loss.
        NS_TEST_EXPECT_MSG_EQ(ToSend(1, 0), 2, "slow start");
        NS_TEST_EXPECT_MSG_EQ(ToSend(1, 1), 1, "with a loss");
        NS_TEST_EXPECT_MSG_EQ(ToSend(0, 0), 1, "without new data");
    }
};

ADD_CASE(MayRaiseTest,
         "ACKs make progress or not -> the window may grow or not (Linux tcp_may_raise_cwnd()),"
         " PRR slow-starts or not (RFC 9937)");

/// A transmitter over a board, and what it sends.
struct Transmission final : Recovery, SegmentOutput
{
    Transmission()
    {
        transmitter.PeerWindow().OnWindow(0, 1 << 20);
    }

    void SendSegments(int64_t, uint64_t first, uint32_t count, const Segment& last) override
    {
        for (uint64_t number = first; number < first + count - 1; ++number)
        {
            sent << number << " ";
        }
        sent << first + count - 1 << (last.Has(Segment::PUSHED) ? "P" : "")
             << (last.Has(Segment::FIN) ? "F" : "") << " ";
    }

    void SendWindowProbe(int64_t) override
    {
    }

    void ReturnReserve() override
    {
    }

    std::ostringstream sent; //!< numbers, with "P" for PSH and "F" for FIN
    SendBuffer buffer{1 << 20, 1 << 20, 0};
    RateSampler rate{window.State()};
    Transmitter transmitter{Exchange::Spec(),
                            {board, buffer, rate, window, recovery, pacer, *this}};
};

TEST_CASE(ns3::TestCase,
          TransmitterTest,
          "A burst may go -> lost segments, new ones with PSH at the end, FIN,"
          " at most cwnd (RFC 9293, 3.9.1; Linux tcp_write_xmit())")
{
    Transmission script;
    script.buffer.Write(3 * MSS, 1 << 20);
    Transmitter::Burst burst = script.transmitter.SendBurst(0, 2, false);
    NS_TEST_EXPECT_MSG_EQ(script.sent.str(), "0 1P 2P ", "bursts of two end with PSH");
    NS_TEST_EXPECT_MSG_EQ(burst.bytes, 3 * MSS, "payload");
    NS_TEST_EXPECT_MSG_EQ(script.transmitter.TakeHeadSent(), true, "the first one");
    script.board.MarkLost(1);
    script.buffer.Write(20 * MSS, 1 << 20);
    script.sent.str("");
    burst = script.transmitter.SendBurst(MS, 2, true);
    NS_TEST_EXPECT_MSG_EQ(script.sent.str(), "1P ", "paced: what was lost, alone");
    NS_TEST_EXPECT_MSG_EQ(burst.isWhole, true, "more may follow later");
    NS_TEST_EXPECT_MSG_EQ(script.transmitter.Retransmits(), 1, "counted");
    NS_TEST_EXPECT_MSG_EQ(script.transmitter.TakeHeadSent(), false, "not the first one");
    script.sent.str("");
    script.transmitter.SendBurst(MS, 1, false);
    NS_TEST_EXPECT_MSG_EQ(script.sent.str(), "3 4 5 6 7 8 9 ", "up to ten");
    script.window.Set(MS, 100);
    script.transmitter.Close();
    script.sent.str("");
    script.transmitter.SendBurst(MS, 1, false);
    NS_TEST_EXPECT_MSG_EQ(script.sent.str(),
                          "10 11 12 13 14 15 16 17 18 19 20 21 22P 23F ",
                          "the rest, and the end");
}

class HalfWindowTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    /// What leaves of a burst of ten segments with a window of `cwnd` segments.
    static std::string Sent(uint32_t cwnd, bool isPaced)
    {
        Transmission script;
        script.window.Set(0, cwnd);
        script.buffer.Write(20 * MSS, 1 << 20);
        const Transmitter::Burst burst = script.transmitter.SendBurst(0, 10, isPaced);
        return script.sent.str() + (burst.isWhole ? "more" : "");
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Sent(20, false),
                              "0 1 2 3 4 5 6 7 8 9P 10 11 12 13 14 15 16 17 18 19P ",
                              "ten are half of the window");
        NS_TEST_EXPECT_MSG_EQ(Sent(4, false), "0 1P 2 3P ", "two and two");
        NS_TEST_EXPECT_MSG_EQ(Sent(3, false), "0 1 2 ", "one segment is no burst");
        NS_TEST_EXPECT_MSG_EQ(Sent(4, true), "0 1P more", "the rest as pacing allows");
    }
};

ADD_CASE(HalfWindowTest,
         "A burst may be longer than half of cwnd -> it leaves in two, each with PSH"
         " at its end; paced, only the first leaves (Linux tcp_cwnd_test())");

class BurstTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        constexpr int64_t STEP = 512'000;
        NS_TEST_EXPECT_MSG_EQ(Bursts(STEP, 1'420'000), "17 19 21", "1.42 ms: a quarter of 64 KiB");
        NS_TEST_EXPECT_MSG_EQ(Bursts(STEP, 2'420'000), "8 10 12", "2.42 ms: a sixteenth");
        NS_TEST_EXPECT_MSG_EQ(Bursts(STEP, 3'420'000), "6 8 10", "3.42 ms: a kilobyte");
        NS_TEST_EXPECT_MSG_EQ(Bursts(STEP, 100'000), "45 45 45", "0.1 ms: never more than 64 KiB");
        NS_TEST_EXPECT_MSG_EQ(Bursts(STEP, NEVER), "6 8 10", "no RTT is known yet");
        NS_TEST_EXPECT_MSG_EQ(Bursts(0, 1'420'000), "6 8 10", "before 5.18, at any RTT");
    }

    /// Segments of bursts with the pacing gains 0.75, 1 and 1.25.
    static std::string Bursts(int64_t step, int64_t minRtt)
    {
        const Pacer pacer(1'000'000'000 / 1'024, step, MSS);
        const double rate = 0.99 * 100e6 / 8 * MSS / (MSS + 52);
        std::ostringstream bursts;
        bursts << pacer.BurstSegments(0.75 * rate, minRtt, 2) << ' '
               << pacer.BurstSegments(rate, minRtt, 2) << ' '
               << pacer.BurstSegments(1.25 * rate, minRtt, 2);
        return bursts.str();
    }
};

ADD_CASE(BurstTest,
         "BBR at a small RTT -> bursts as long as those of traces"
         " (Linux 6.18, tcp_tso_autosize())");

TEST_CASE(ns3::TestCase,
          SendLimitsTest,
          "Time counts for what limits; pacing within a round trip of another limit"
          " counts for that -> 51 ms of send buffer, 59 of pacing (Linux tcp_chrono_start())")
{
    constexpr int64_t RTT = 40 * MS;
    SendLimits limits;
    limits.Set(0, SendLimit::HANDSHAKE, RTT);
    limits.Set(30 * MS, SendLimit::SEND_BUFFER, RTT);
    limits.Set(40 * MS, SendLimit::APPLICATION, RTT); // for no time
    limits.Set(40 * MS, SendLimit::PACING, RTT);
    limits.Set(80 * MS, SendLimit::PACING, RTT);
    limits.Set(81 * MS, SendLimit::PACING, RTT);
    const SendLimits::Times times = limits.Until(140 * MS);
    auto time = [&](SendLimit limit) { return times[static_cast<size_t>(limit)]; };
    NS_TEST_EXPECT_MSG_EQ(time(SendLimit::HANDSHAKE), 30 * MS, "until it is over");
    NS_TEST_EXPECT_MSG_EQ(time(SendLimit::SEND_BUFFER), 51 * MS, "and a round trip more");
    NS_TEST_EXPECT_MSG_EQ(time(SendLimit::APPLICATION), 0, "no time");
    NS_TEST_EXPECT_MSG_EQ(time(SendLimit::PACING), 59 * MS, "from then on");
}

} // namespace
