/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SENDER_SCRIPT_H
#define TUNNELCC_SENDER_SCRIPT_H

#include "support/simulation-test-case.h"
#include "transport/sender.h"

#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

/**
 * \file
 * A sender alone: the script acknowledges by hand and reads what was sent.
 */
namespace tunnelcc
{

/// A window that the script sets, in every state (as BBR, which PRR does not bind).
class FixedWindow final : public CongestionControl
{
  public:
    explicit FixedWindow(uint32_t cwnd)
        : m_cwnd(cwnd)
    {
    }

    bool HasCongControl() const override
    {
        return true;
    }

    void Init(SenderState& state, int64_t) override
    {
        state.cwnd = m_cwnd;
    }

    uint32_t GetSsThresh(SenderState& state, int64_t) override
    {
        ++reductions;
        return state.ssthresh;
    }

    void OnAck(SenderState& state, const AckEvent&, bool) override
    {
        state.cwnd = m_cwnd;
    }

    int reductions{0};

  private:
    uint32_t m_cwnd;
};

class SenderScript final : public SegmentOutput
{
  public:
    using Blocks = std::initializer_list<std::pair<uint32_t, uint32_t>>;

    /// Connected at the time of the first round trip.
    SenderScript(const TcpSpec& settings,
                 std::unique_ptr<CongestionControl> congestion,
                 int64_t rtt)
        : spec(settings),
          sender(TestLoop(), spec, std::move(congestion), *this),
          m_rtt(rtt)
    {
        RunUntil(rtt);
        sender.OnEstablished(rtt, rtt, WINDOW);
    }

    static void RunUntil(int64_t time)
    {
        ns3::Simulator::Stop(ns3::NanoSeconds(time) - ns3::Simulator::Now());
        ns3::Simulator::Run();
    }

    /// The application writes so many full segments.
    void Write(int64_t time, uint64_t segments)
    {
        RunUntil(time);
        sender.Write(time, segments * sender.State().mss);
    }

    /// An ACK of all before `next` arrives, with SACK blocks, and echoes a round trip ago.
    void Ack(int64_t time, uint32_t next, Blocks sacks = {})
    {
        RunUntil(time);
        SackBlocks blocks{};
        Acknowledgement ack;
        ack.number = next;
        ack.window = WINDOW;
        ack.tsEcr = TimestampClock(time - m_rtt);
        ack.blocks = &blocks;
        for (const auto& [begin, end] : sacks)
        {
            blocks.begin[ack.sackBlocks] = begin;
            blocks.end[ack.sackBlocks] = end;
            ++ack.sackBlocks;
        }
        sender.OnAck(time, ack);
    }

    void SendSegments(int64_t now, uint64_t first, uint32_t count, const Segment&) override
    {
        for (uint64_t number = first; number < first + count; ++number)
        {
            m_sent << (m_sent.tellp() > 0 ? " " : "") << number << "@"
                   << static_cast<double>(now) / MS;
        }
    }

    void SendWindowProbe(int64_t) override
    {
    }

    void ReturnReserve() override
    {
    }

    /// What was sent since the last call, as "number@ms", space between.
    std::string Sent()
    {
        std::string sent = m_sent.str();
        m_sent.str("");
        return sent;
    }

    const TcpSpec spec;
    Sender sender;

  private:
    static constexpr uint32_t WINDOW = 1 << 30;

    int64_t m_rtt;
    std::ostringstream m_sent;
};

} // namespace tunnelcc

#endif // TUNNELCC_SENDER_SCRIPT_H
