/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the SACK scoreboard against a brute-force one, over random losses, retransmissions,
 * time-outs, and ACKs that are lost and overtake each other.
 */
#include "support/segment-runs.h"
#include "support/simulation-test-case.h"
#include "transport/scoreboard.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-scoreboard");

/// What a sender knows of its segments, kept in the plainest way.
class PlainScoreboard
{
  public:
    struct State
    {
        bool isSacked{false};
        bool isLost{false};
        bool isRetransmitted{false}; //!< a retransmission is in flight
    };

    void Append()
    {
        m_segments[nxt] = {};
        flight.push_back(nxt++);
    }

    void Retransmit(uint64_t number)
    {
        State& state = m_segments[number];
        state.isRetransmitted = state.isLost;
        std::erase(flight, number);
        flight.push_back(number);
    }

    void MarkLost(uint64_t number)
    {
        m_segments[number].isLost = true;
        m_segments[number].isRetransmitted = false;
        std::erase(flight, number);
    }

    /// \returns the segments newly delivered
    std::vector<uint64_t> Sack(uint64_t begin, uint64_t end)
    {
        std::vector<uint64_t> delivered;
        for (uint64_t number = std::max(begin, una); number < end; ++number)
        {
            if (!m_segments[number].isSacked)
            {
                delivered.push_back(number);
                m_segments[number] = {true, false, false};
                std::erase(flight, number);
            }
        }
        return delivered;
    }

    std::vector<uint64_t> AcknowledgeTo(uint64_t ack)
    {
        std::vector<uint64_t> delivered;
        for (; una < ack; ++una)
        {
            if (!m_segments[una].isSacked)
            {
                delivered.push_back(una);
                std::erase(flight, una);
            }
            m_segments.erase(una);
        }
        return delivered;
    }

    uint32_t Count(bool State::* flag) const
    {
        return std::count_if(m_segments.begin(), m_segments.end(), [flag](const auto& entry) {
            return entry.second.*flag;
        });
    }

    std::set<uint64_t> Sacked() const
    {
        std::set<uint64_t> sacked;
        for (const auto& [number, state] : m_segments)
        {
            if (state.isSacked)
            {
                sacked.insert(number);
            }
        }
        return sacked;
    }

    bool WaitsForRetransmission(uint64_t number) const
    {
        const State& state = m_segments.at(number);
        return state.isLost && !state.isRetransmitted;
    }

    bool IsFirstTransmission(uint64_t number) const
    {
        const State& state = m_segments.at(number);
        return !state.isSacked && !state.isLost;
    }

    uint64_t una{0};
    uint64_t nxt{0};
    std::vector<uint64_t> flight; //!< in order of transmission

  private:
    std::map<uint64_t, State> m_segments;
};

class ScoreboardTest : public ns3::TestCase
{
  public:
    ScoreboardTest(const std::string& name, uint32_t window, double loss, int steps)
        : ns3::TestCase("The scoreboard equals a brute-force one: " + name +
                        " -> the same after each of " + std::to_string(steps) +
                        " steps (RFC 2018, 5)"),
          m_window(window),
          m_loss(loss),
          m_steps(steps)
    {
    }

  private:
    /// An ACK under way.
    struct Ack
    {
        uint64_t cumulative;
        std::vector<Block> blocks;
    };

    void DoRun() override
    {
        for (int step = 0; step < m_steps && !IsStatusFailure(); ++step)
        {
            switch (m_random() % 8)
            {
            case 0:
            case 1:
            case 2:
                Send();
                break;
            case 3:
            case 4:
            case 5:
                Acknowledge();
                break;
            case 6:
                MarkSomeLost();
                break;
            default:
                if (m_random() % 40 == 0)
                {
                    TimeOut();
                }
            }
            CheckCounts();
            if (step % 16 == 0)
            {
                CheckLists();
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_board.Una(),
                              static_cast<uint64_t>(m_steps) / 20,
                              "the window moved on");
        NS_TEST_EXPECT_MSG_GT(m_staleAcks, m_steps / 100, "ACKs were reordered");
    }

    bool IsLost()
    {
        return std::uniform_real_distribution<double>(0, 1)(m_random) < m_loss;
    }

    /// A transmission leaves; unless lost, it arrives at once and an ACK goes on its way.
    void Transmit(uint64_t number)
    {
        if (IsLost())
        {
            return;
        }
        if (number >= m_cumulative)
        {
            m_arrived.insert(number);
        }
        while (m_arrived.erase(m_cumulative))
        {
            ++m_cumulative;
        }
        std::vector<Block> blocks = GetRuns(m_arrived);
        std::shuffle(blocks.begin(), blocks.end(), m_random);
        blocks.resize(std::min<size_t>(blocks.size(), 3));
        m_acks.push_back({m_cumulative, blocks});
    }

    void Send()
    {
        for (uint64_t burst = m_random() % 4; burst > 0; --burst)
        {
            const auto lost = m_board.NextLost();
            if (lost)
            {
                NS_TEST_ASSERT_MSG_EQ(m_plain.WaitsForRetransmission(*lost), true, *lost);
                m_board.Retransmit(*lost);
                m_plain.Retransmit(*lost);
                Transmit(*lost);
                continue;
            }
            NS_TEST_ASSERT_MSG_EQ(m_board.LostOut(), m_board.RetransmittedOut(), "all were found");
            if (m_board.PacketsOut() < m_window)
            {
                m_board.Append({.length = 1'448});
                m_plain.Append();
                Transmit(m_board.Nxt() - 1);
            }
            else if (m_plain.IsFirstTransmission(m_board.Nxt() - 1))
            {
                m_board.Retransmit(m_board.Nxt() - 1); // a tail loss probe
                m_plain.Retransmit(m_board.Nxt() - 1);
                Transmit(m_board.Nxt() - 1);
            }
        }
    }

    void Acknowledge()
    {
        for (uint64_t count = m_random() % 4; count > 0 && !m_acks.empty(); --count)
        {
            ReceiveAck();
        }
    }

    /// One of the oldest ACKs arrives, so that some overtake others; or it is lost.
    void ReceiveAck()
    {
        const auto position = m_acks.begin() + m_random() % std::min<size_t>(m_acks.size(), 8);
        const Ack ack = *position;
        m_acks.erase(position);
        if (IsLost() || ack.cumulative < m_board.Una())
        {
            m_staleAcks += ack.cumulative < m_board.Una();
            return;
        }
        std::vector<uint64_t> delivered;
        auto note = [&](const SegmentRun& run) {
            for (uint64_t number = run.first; number <= run.last; ++number)
            {
                delivered.push_back(number);
            }
        };
        const Scoreboard::Removed removed = m_board.AcknowledgeTo(ack.cumulative, note);
        NS_TEST_EXPECT_MSG_EQ(removed.bytes, 1'448 * (ack.cumulative - m_plain.una), "removed");
        NS_TEST_EXPECT_MSG_EQ((delivered == m_plain.AcknowledgeTo(ack.cumulative)), true, "ACK");
        for (const auto& [begin, end] : ack.blocks)
        {
            delivered.clear();
            m_board.Sack(begin, end, note);
            NS_TEST_EXPECT_MSG_EQ((delivered == m_plain.Sack(begin, end)), true, "SACK");
        }
    }

    void MarkSomeLost()
    {
        for (uint64_t count = m_random() % 3; count > 0 && m_board.InFlight() > 0; --count)
        {
            const uint64_t oldest = m_board.Oldest();
            m_board.MarkLost(oldest);
            m_plain.MarkLost(oldest);
        }
    }

    void TimeOut()
    {
        while (m_board.InFlight() > 0)
        {
            const uint64_t oldest = m_board.Oldest();
            m_board.MarkLost(oldest);
            m_plain.MarkLost(oldest);
        }
    }

    void CheckCounts()
    {
        using State = PlainScoreboard::State;
        NS_TEST_ASSERT_MSG_EQ(m_board.Una(), m_plain.una, "SND.UNA");
        NS_TEST_ASSERT_MSG_EQ(m_board.Nxt(), m_plain.nxt, "SND.NXT");
        NS_TEST_ASSERT_MSG_EQ(m_board.SackedOut(), m_plain.Count(&State::isSacked), "sacked");
        NS_TEST_ASSERT_MSG_EQ(m_board.LostOut(), m_plain.Count(&State::isLost), "lost");
        NS_TEST_ASSERT_MSG_EQ(m_board.RetransmittedOut(),
                              m_plain.Count(&State::isRetransmitted),
                              "retransmitted");
        NS_TEST_ASSERT_MSG_EQ(m_board.InFlight(), m_plain.flight.size(), "in flight");
        NS_TEST_ASSERT_MSG_EQ(m_board.BytesOut(), 1'448 * (m_plain.nxt - m_plain.una), "bytes");
    }

    void CheckLists()
    {
        std::vector<uint64_t> flight;
        if (m_board.InFlight() > 0)
        {
            std::optional<uint64_t> number = m_board.Oldest();
            while (number && flight.size() <= m_plain.flight.size())
            {
                flight.push_back(*number);
                number = m_board.NextSent(*number);
            }
        }
        NS_TEST_ASSERT_MSG_EQ((flight == m_plain.flight), true, "order of transmission");
        for (const auto& [begin, end] : GetRuns(m_plain.Sacked()))
        {
            NS_TEST_ASSERT_MSG_EQ(m_board.Expand(m_board.At(begin).nextOrRunEnd), end, "run");
            NS_TEST_ASSERT_MSG_EQ(m_board.Expand(m_board.At(end - 1).previousOrRunBegin),
                                  begin,
                                  "run");
        }
    }

    uint32_t m_window;
    double m_loss;
    int m_steps;
    std::mt19937 m_random{8};
    Scoreboard m_board;
    PlainScoreboard m_plain;
    std::set<uint64_t> m_arrived; //!< at the receiver, out of order
    uint64_t m_cumulative{0};
    std::deque<Ack> m_acks;
    int m_staleAcks{0};
};

TEST_CASE(ns3::TestCase,
          LostFirstTest,
          "Lost retransmissions go first, then the losses in order"
          " -> segments 0, 0, 2 (unlike Linux tcp_xmit_retransmit_queue())")
{
    Scoreboard board;
    for (int i = 0; i < 5; ++i)
    {
        board.Append({.length = 1'448});
    }
    board.MarkLost(0);
    board.MarkLost(1);
    NS_TEST_EXPECT_MSG_EQ(*board.NextLost(), 0, "the first");
    board.Retransmit(0);
    board.MarkLost(2);
    board.MarkLost(0);
    NS_TEST_EXPECT_MSG_EQ(*board.NextLost(), 0, "its retransmission was lost");
    board.Retransmit(0);
    board.Sack(1, 2, [](const SegmentRun&) {});
    NS_TEST_EXPECT_MSG_EQ(*board.NextLost(), 2, "1 has arrived after all");
    board.Retransmit(2);
    NS_TEST_EXPECT_MSG_EQ(board.NextLost().has_value(), false, "no more");
    NS_TEST_EXPECT_MSG_EQ(board.InFlight(), 4, "3 and 4, 0 and 2 again");
}

ADD_CASES
{
    AddCase(new ScoreboardTest("few losses", 50, 0.02, 100'000));
    AddCase(new ScoreboardTest("many losses", 50, 0.3, 100'000));
    AddCase(new ScoreboardTest("a large window", 1'000, 0.05, 30'000));
}

} // namespace
