/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FAKE_TRANSPORT_H
#define TUNNELCC_FAKE_TRANSPORT_H

#include "congestion/congestion-control.h"
#include "support/simulation-test-case.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstdint>
#include <deque>

/**
 * \file
 * Two stand-ins for a TCP sender that drive a congestion control without a transport: one by verbs
 * (segments are acknowledged, segments are lost, time passes), and one over a pipe of fixed rate
 * and delay. Both move ns3::Simulator along, which the operations of ns-3 take the time from.
 */

namespace tunnelcc
{

/// Rate (segments/s) and delay of the path in most cases: a segment takes a millisecond of the
/// link.
constexpr double RATE = 1000;
constexpr int64_t RTT = 100 * MS;

/// Let ns3::Simulator::Now() become `now`.
inline void
MoveSimulatorTo(int64_t now)
{
    const int64_t wait = now - ns3::Simulator::Now().GetNanoSeconds();
    if (wait > 0)
    {
        ns3::Simulator::Stop(ns3::NanoSeconds(wait));
        ns3::Simulator::Run();
    }
}

/// A sender whose window is always full, told what happens to it.
class FakeTransport
{
  public:
    FakeTransport(CongestionControl& control, int64_t rtt, uint32_t cwnd = 10)
        : m_control(control),
          m_rtt(rtt)
    {
        state.cwnd = cwnd;
        state.srtt = rtt;
        state.minRtt = rtt;
        state.lastRtt = rtt;
        state.isCwndLimited = true;
        MoveSimulatorTo(now);
        m_control.Init(state, now);
        FillWindow();
    }

    /// The application or the receiver holds the sender back, or no longer does.
    void SetCwndLimited(bool isLimited)
    {
        state.isCwndLimited = isLimited;
    }

    void SetRtt(int64_t rtt)
    {
        m_rtt = rtt;
    }

    void TimePasses(int64_t time)
    {
        now += time;
        MoveSimulatorTo(now);
    }

    /// One ACK for so many segments. \param hasEcnEcho it tells of a mark
    void AckSegments(uint32_t segments, bool hasEcnEcho = false)
    {
        AckEvent event;
        event.now = now;
        event.hasEcnEcho = hasEcnEcho;
        event.ackedSacked = segments;
        event.cumAcked = segments;
        event.priorInFlight = state.inFlight;
        event.rtt = m_rtt;
        event.rate.interval = m_rtt;
        event.rate.delivered = state.inFlight;
        event.rate.priorDelivered = state.delivered + segments - state.inFlight;
        state.delivered += segments;
        state.deliveredTime = now;
        state.sndUna += segments;
        state.inFlight -= std::min(state.inFlight, segments);
        state.lastRtt = m_rtt;
        m_control.OnDelivered(state, event);
        m_control.OnAck(state, event, state.caState != CaState::RECOVERY);
        FillWindow();
    }

    /// A round trip in which the window is acknowledged segment by segment, evenly spaced.
    void AckWindow()
    {
        const uint32_t segments = state.cwnd;
        for (uint32_t i = 0; i < segments; ++i)
        {
            TimePasses(m_rtt / segments);
            AckSegments(1);
        }
    }

    /// A loss, and the recovery from it: the window ends up at the threshold (RFC 9937).
    void Lose()
    {
        EnterRecovery();
        state.cwnd = state.ssthresh;
        LeaveRecovery();
    }

    void EnterRecovery()
    {
        state.ssthresh = m_control.GetSsThresh(state, now);
        Become(CaState::RECOVERY);
    }

    void LeaveRecovery()
    {
        Become(CaState::OPEN);
        FillWindow();
    }

    /// The retransmission timer fires: everything is lost, the window one segment.
    void TimeOut()
    {
        state.lostOut = state.inFlight;
        state.lost += state.inFlight;
        state.inFlight = 0;
        state.ssthresh = m_control.GetSsThresh(state, now);
        state.cwnd = 1;
        Become(CaState::LOSS);
        state.lostOut = 0;
        FillWindow();
    }

    void Become(CaState next)
    {
        m_control.OnCaState(state, next, now);
        state.caState = next;
    }

    SenderState state;
    int64_t now{0}; //!< ns

  private:
    void FillWindow()
    {
        state.inFlight = state.cwnd;
        state.sndNxt = state.sndUna + state.cwnd;
        state.segmentsSent = state.sndNxt;
        state.maxPacketsOut = state.cwnd;
    }

    CongestionControl& m_control;
    int64_t m_rtt; //!< ns
};

/// A sender over one link of fixed rate with a queue, and a constant delay after it. What is lost
/// is noticed when its ACK would have come, and is not sent again: only the counts matter here.
class FakePipe
{
  public:
    /**
     * \param control what is under test
     * \param rate of the link, segments/s
     * \param rtt without queueing or transmission, ns
     */
    FakePipe(CongestionControl& control, double rate, int64_t rtt)
        : m_control(control),
          m_serviceTime(static_cast<int64_t>(1e9 / rate)),
          m_rtt(rtt)
    {
        state.srtt = rtt;
        state.minRtt = rtt;
        state.lastRtt = rtt;
        MoveSimulatorTo(now);
        m_control.Init(state, now);
    }

    /// Change the rate of the link, segments/s.
    void SetRate(double rate)
    {
        m_serviceTime = static_cast<int64_t>(1e9 / rate);
    }

    /// Room of the queue, segments; without it the queue is endless.
    void SetBuffer(uint32_t segments)
    {
        m_buffer = segments;
    }

    /// Lose every so many-th segment after the link; 0: none.
    void SetLossEvery(uint64_t segments)
    {
        m_lossEvery = segments;
    }

    /// Run for `time` ns and call `visit` after every ACK.
    template <typename F>
    void Run(int64_t time, F visit)
    {
        const int64_t end = now + time;
        while (true)
        {
            const int64_t sendTime =
                state.inFlight < state.cwnd ? std::max(now, state.nextSendTime) : NEVER;
            const int64_t ackTime = m_inPipe.empty() ? NEVER : m_inPipe.front().ackTime;
            const int64_t next = std::min(sendTime, ackTime);
            if (next > end)
            {
                now = end;
                return;
            }
            now = next;
            if (ackTime <= sendTime)
            {
                if (m_inPipe.front().isLost)
                {
                    NoticeLoss();
                }
                else
                {
                    Acknowledge();
                    visit();
                }
            }
            else
            {
                Send();
            }
        }
    }

    void Run(int64_t time)
    {
        Run(time, [] {});
    }

    /// Segments in the queue and on the link.
    uint32_t GetQueue() const
    {
        return static_cast<uint32_t>(std::max<int64_t>(m_linkFree - now, 0) / m_serviceTime);
    }

    SenderState state;
    int64_t now{0}; //!< ns

  private:
    struct Segment
    {
        int64_t ackTime;
        int64_t sentTime;
        int64_t firstSentTime;
        uint64_t delivered;
        int64_t deliveredTime;
        bool isAppLimited;
        uint64_t number;
        uint64_t lost;
        uint32_t inFlight;
        bool isLost;
    };

    void Send()
    {
        if (state.inFlight == 0)
        {
            m_firstSentTime = now;
            state.deliveredTime = now;
        }
        const bool isDropped = GetQueue() > m_buffer;
        if (!isDropped)
        {
            m_linkFree = std::max(m_linkFree, now) + m_serviceTime;
        }
        ++state.inFlight;
        ++state.sndNxt;
        ++state.segmentsSent;
        m_inPipe.push_back({m_linkFree + m_rtt,
                            now,
                            m_firstSentTime,
                            state.delivered,
                            state.deliveredTime,
                            state.appLimitedUntil > state.delivered,
                            state.sndNxt,
                            state.lost,
                            state.inFlight,
                            isDropped || (m_lossEvery > 0 && state.sndNxt % m_lossEvery == 0)});
        state.maxPacketsOut = std::max(state.maxPacketsOut, state.inFlight);
        if (state.pacingRate > 0)
        {
            state.nextSendTime = now + static_cast<int64_t>(state.mss * 1e9 / state.pacingRate);
        }
    }

    void NoticeLoss()
    {
        const Segment segment = m_inPipe.front();
        m_inPipe.pop_front();
        --state.inFlight;
        ++state.lost;
        ++m_newlyLost;
        MoveSimulatorTo(now);
        m_control.OnSegmentLost(
            state,
            {segment.number, segment.inFlight, segment.lost, segment.isAppLimited},
            now);
        if (state.caState != CaState::RECOVERY)
        {
            state.ssthresh = m_control.GetSsThresh(state, now);
            Become(CaState::RECOVERY);
        }
        m_recoveryEnd = state.sndNxt;
    }

    void Become(CaState next)
    {
        m_control.OnCaState(state, next, now);
        state.caState = next;
    }

    void Acknowledge()
    {
        const Segment segment = m_inPipe.front();
        m_inPipe.pop_front();
        AckEvent event;
        event.now = now;
        event.ackedSacked = 1;
        event.cumAcked = 1;
        event.priorInFlight = state.inFlight;
        event.rtt = now - segment.sentTime;
        state.isCwndLimited = state.inFlight >= state.cwnd;
        ++state.delivered;
        ++state.sndUna;
        --state.inFlight;
        const int64_t sendElapsed = segment.sentTime - segment.firstSentTime;
        const int64_t ackElapsed = now - segment.deliveredTime;
        event.rate.interval = std::max(sendElapsed, ackElapsed);
        event.rate.delivered = static_cast<uint32_t>(state.delivered - segment.delivered);
        event.rate.priorDelivered = segment.delivered;
        event.rate.isAppLimited = segment.isAppLimited;
        event.rate.txInFlight = segment.inFlight;
        event.rate.priorLost = segment.lost;
        event.newlyLost = m_newlyLost;
        m_newlyLost = 0;
        m_firstSentTime = segment.sentTime;
        state.deliveredTime = now;
        if (state.appLimitedUntil > 0 && state.delivered > state.appLimitedUntil)
        {
            state.appLimitedUntil = 0;
        }
        state.lastRtt = event.rtt;
        state.minRtt = std::min(state.minRtt, event.rtt);
        state.srtt += (event.rtt - state.srtt) / 8;
        MoveSimulatorTo(now);
        if (state.caState == CaState::RECOVERY && segment.number > m_recoveryEnd)
        {
            Become(CaState::OPEN);
        }
        m_control.OnDelivered(state, event);
        m_control.OnAck(state, event, state.caState != CaState::RECOVERY);
    }

    CongestionControl& m_control;
    uint32_t m_buffer{UINT32_MAX}; //!< segments
    uint64_t m_lossEvery{0};
    uint32_t m_newlyLost{0};   //!< since the last ACK
    uint64_t m_recoveryEnd{0}; //!< segment whose delivery ends recovery
    int64_t m_serviceTime;     //!< ns per segment
    int64_t m_rtt;             //!< ns
    int64_t m_linkFree{0};     //!< when the link has sent all that it was given, ns
    int64_t m_firstSentTime{0};
    std::deque<Segment> m_inPipe;
};

} // namespace tunnelcc

#endif // TUNNELCC_FAKE_TRANSPORT_H
