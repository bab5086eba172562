/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the SACK scoreboard and the receiver against brute-force ones, over random losses,
 * retransmissions, time-outs, duplicates, and ACKs that are lost and overtake each other.
 */
#include "simulation-test-case.h"
#include "transport/receiver.h"
#include "transport/scoreboard.h"
#include "transport/send-buffer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace
{

using namespace tunnelcc;

using Block = std::pair<uint64_t, uint64_t>; //!< segments [first, second)

/// Maximal runs of consecutive numbers in a set.
std::vector<Block>
GetRuns(const std::set<uint64_t>& numbers)
{
    std::vector<Block> runs;
    for (const uint64_t number : numbers)
    {
        if (!runs.empty() && runs.back().second == number)
        {
            ++runs.back().second;
        }
        else
        {
            runs.emplace_back(number, number + 1);
        }
    }
    return runs;
}

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

class LostFirstTest : public ns3::TestCase
{
  public:
    LostFirstTest()
        : ns3::TestCase("Lost retransmissions go first, then the losses in order"
                        " -> segments 0, 0, 2 (unlike Linux tcp_xmit_retransmit_queue())")
    {
    }

  private:
    void DoRun() override
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
};

/// How buffers grow, against what a trace of Linux 6.18's tcp_rcvbuf_grow() shows: RTT 50 ms, MSS
/// 4096 (the change log of upstream commit aa251c84636c, "After").
class ReceiveWindowTest : public ns3::TestCase
{
  public:
    ReceiveWindowTest()
        : ns3::TestCase("Receive buffers grow as Linux 6.18 traced it, and as before 6.16"
                        " -> 57316406 bytes after nine round trips; 229376 after one (Linux "
                        "tcp_rcvbuf_grow())")
    {
    }

  private:
    static constexpr int64_t RTT = 50'000'000;
    static constexpr uint64_t MAXIMUM = 57'316'406;

    static ReceiveWindow Make(ReceiveGrowth growth)
    {
        return ReceiveWindow(65'535, 112'128, MAXIMUM, 4'096, 0, growth);
    }

    void DoRun() override
    {
        struct Round
        {
            uint64_t copied;
            uint64_t unread;
            uint64_t clamp; //!< window_clamp in the next line of the trace
        };

        ReceiveWindow window = Make(ReceiveGrowth::OUT_OF_ORDER);
        uint64_t total = 0;
        int64_t now = RTT;
        for (const Round& round : {Round{49'152, 0, 137'623},
                                   Round{86'016, 0, 430'079},
                                   Round{139'264, 0, 623'371},
                                   Round{307'200, 0, 2'096'187},
                                   Round{618'496, 0, 3'743'961},
                                   Round{1'261'568, 0, 7'769'921},
                                   Round{2'478'080, 24'576, 14'179'339},
                                   Round{4'915'200, 114'688, 27'969'593},
                                   Round{9'830'400, 114'688, 57'316'406}})
        {
            total += round.copied;
            window.OnRead(now, total, round.unread, 0, RTT);
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(window.Room()),
                                      static_cast<double>(round.clamp),
                                      4,
                                      "after a round trip of " << round.copied);
            now += RTT;
        }

        ReceiveWindow cushioned = Make(ReceiveGrowth::CUSHION);
        cushioned.OnRead(RTT, 49'152, 20'000, 100'000, RTT);
        // 2 · 49152 + 16 · 4096, and twice its growth by a fifth
        NS_TEST_EXPECT_MSG_EQ(cushioned.Room(), 229'376, "with a cushion, whatever is unread");
        cushioned.OnOutOfOrder(400'000);
        NS_TEST_EXPECT_MSG_EQ(cushioned.Room(), 229'376, "nothing for data out of order");

        ReceiveWindow reordered = Make(ReceiveGrowth::OUT_OF_ORDER);
        reordered.OnOutOfOrder(400'000);
        NS_TEST_EXPECT_MSG_EQ(reordered.Room(), 2 * 40'960 + 400'000, "room for the span");
        reordered.OnRead(RTT, 40'960, 0, 400'000, RTT);
        NS_TEST_EXPECT_MSG_EQ(reordered.Room(), 2 * 40'960 + 400'000, "no more was read");
    }
};

/// A segment arrives.
void
Deliver(Receiver& receiver, uint32_t number, uint16_t length)
{
    Packet packet{};
    packet.segment = number;
    packet.length = length;
    receiver.OnData(packet);
}

class ReceiveSpaceTest : public ns3::TestCase
{
  public:
    ReceiveSpaceTest()
        : ns3::TestCase("Data that waits in the receive buffer, in order or not, takes its space"
                        " -> the window and its limit are at most what is free, none below a "
                        "sixteenth (Linux tcp_grow_window(), __tcp_select_window())")
    {
    }

  private:
    void DoRun() override
    {
        ReceiveWindow window(65'535, 112'128, 1 << 30, 4'096, 0, ReceiveGrowth::CUSHION);
        NS_TEST_EXPECT_MSG_EQ(window.OnSegment(40'000), true, "there is room");
        NS_TEST_EXPECT_MSG_EQ(window.Limit(), 72'128, "what is free, though two segments are more");
        NS_TEST_EXPECT_MSG_EQ(window.OnSegment(40'000), false, "no more is free");
        NS_TEST_EXPECT_MSG_EQ(window.Advertise(0, 40'000), 72'128, "the limit");
        NS_TEST_EXPECT_MSG_EQ(window.IsCrowded(40'000), false, "more than half is free");
        NS_TEST_EXPECT_MSG_EQ(window.Advertise(0, 80'000), 72'128, "never taken back");
        NS_TEST_EXPECT_MSG_EQ(window.IsCrowded(80'000), true, "less than half is free");
        NS_TEST_EXPECT_MSG_EQ(window.Advertise(60'000, 80'000), 32'128, "what is free");
        NS_TEST_EXPECT_MSG_EQ(window.Advertise(92'128, 106'000), 0, "less than a sixteenth");
        NS_TEST_EXPECT_MSG_EQ(window.NeedsUpdate(92'128, 106'000), false, "as little as before");
        NS_TEST_EXPECT_MSG_EQ(window.NeedsUpdate(92'128, 104'000), true, "from none to 8128");

        // Two segments behind a hole: they are not read, and the reader has read all the others.
        TcpSpec spec;
        spec.receiveWindow = 1 << 20;
        Receiver receiver(spec);
        for (uint32_t number : {0, 2, 3})
        {
            Deliver(receiver, number, 1'448);
        }
        receiver.Read(0, 1'448, 0);
        Acknowledgement ack;
        receiver.Describe(ack);
        NS_TEST_EXPECT_MSG_EQ(ack.window, (1 << 20) - 1'448, "told before: not taken back");
        Deliver(receiver, 1, 1'448);
        receiver.Describe(ack);
        NS_TEST_EXPECT_MSG_EQ(ack.window, (1 << 20) - 3 * 1'448, "none of the three is read");
    }
};

class ReceiveRoundTest : public ns3::TestCase
{
  public:
    ReceiveRoundTest()
        : ns3::TestCase("A hole is filled, and all behind it is read at once -> the round ends with"
                        " the first segment; the others count in the next one (Linux "
                        "tcp_recvmsg(), tcp_rcv_space_adjust())")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t RTT = 100'000'000;
        constexpr uint16_t FULL = 1'448;
        TcpSpec spec;
        spec.receiveWindow = 1 << 30;
        spec.initialReceiveWindow = 65'535;
        spec.initialReceiveRoom = 65'535;
        spec.receiveGrowth = ReceiveGrowth::CUSHION;
        Receiver receiver(spec);
        receiver.OnEstablished(0);
        auto deliver = [&](uint32_t first, uint32_t last) {
            for (uint32_t number = first; number <= last; ++number)
            {
                Deliver(receiver, number, FULL);
            }
        };
        deliver(0, 9);
        receiver.Read(RTT / 2, 10 * FULL, RTT);
        deliver(11, 40);
        deliver(10, 10);
        receiver.Read(RTT, 31 * FULL, RTT);
        // 11 segments were read then: twice that, 16 more, and twice the growth by a tenth
        const double first = (2 * 11 + 16) * FULL * (1 + 2 * 0.1);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(receiver.Room()), first, 1.0, "of the first");
        deliver(41, 41);
        receiver.Read(2 * RTT, FULL, RTT);
        // 31 in the next round trip
        const double second = (2 * 31 + 16) * FULL * (1 + 2 * 20.0 / 11);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(receiver.Room()), second, 1.0, "of the rest");
    }
};

class WindowUnitTest : public ns3::TestCase
{
  public:
    WindowUnitTest()
        : ns3::TestCase("Windows are told in units of their scale, within 16 bits"
                        " -> 1047128 bytes unscaled, 1047552 by 1024, 131070 by two (RFC 7323, "
                        "2.3; Linux __tcp_select_window())")
    {
    }

  private:
    /// Window told after one segment of `length` bytes that nobody reads.
    static uint32_t Window(uint64_t room, uint32_t scale, uint16_t length)
    {
        TcpSpec spec;
        spec.receiveWindow = room;
        spec.windowScale = scale;
        Receiver receiver(spec);
        Deliver(receiver, 0, length);
        Acknowledgement ack;
        receiver.Describe(ack);
        return ack.window;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Window(1 << 20, 0, 1'448), (1 << 20) - 1'448, "bytes");
        NS_TEST_EXPECT_MSG_EQ(Window(1 << 20, 10, 1'448), (1 << 20) - 1'024, "rounded up");
        NS_TEST_EXPECT_MSG_EQ(Window(1 << 20, 10, 1'024), (1 << 20) - 1'024, "a whole unit");
        NS_TEST_EXPECT_MSG_EQ(Window(1'448, 10, 1'448), 0, "a full buffer");
        NS_TEST_EXPECT_MSG_EQ(Window(1'400, 10, 1'448), 0, "filled up to the unit");
        NS_TEST_EXPECT_MSG_EQ(Window(1 << 20, 1, 1'448), 131'070, "16 bits of two bytes");
    }
};

class ReceiverTest : public ns3::TestCase
{
  public:
    ReceiverTest()
        : ns3::TestCase("The receiver equals a brute-force set of segments"
                        " -> the ACKs of the set, for 20000 segments (RFC 2018, 4; RFC 2883, 4)")
    {
    }

  private:
    static uint16_t Length(uint64_t number)
    {
        return 1 + number * 7'919 % 1'448;
    }

    void DoRun() override
    {
        TcpSpec spec;
        spec.receiveWindow = 1 << 20;
        Receiver receiver(spec);
        for (uint64_t i = 0; i < FIN; ++i)
        {
            m_offsets.push_back(m_offsets.back() + Length(i));
        }
        while (m_next <= FIN && !IsStatusFailure())
        {
            // Mostly the next ones, now and then far ahead or behind.
            const uint64_t ahead = m_random() % (m_random() % 20 ? 4 : 400);
            const uint64_t behind = m_random() % 10 ? 0 : m_random() % 20;
            const uint64_t number =
                std::min(FIN, m_next + ahead - std::min<uint64_t>(behind, m_next));
            Deliver(receiver, number);
            if (m_random() % 2)
            {
                receiver.Read(0, m_random() % (receiver.Readable() + 1), 0);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(receiver.IsFinished(), true, "FIN");
        NS_TEST_EXPECT_MSG_EQ(receiver.Received(), m_offsets.back(), "every byte");
        NS_TEST_EXPECT_MSG_GT(m_duplicates, 1'000, "duplicates");
    }

    void Deliver(Receiver& receiver, uint64_t number)
    {
        Packet packet{};
        packet.segment = static_cast<uint32_t>(number);
        packet.length = number == FIN ? 0 : Length(number);
        packet.isFin = number == FIN;
        const bool isDuplicate = number < m_next || m_arrived.count(number);
        const bool isInOrder = number == m_next && m_arrived.empty();
        const AckUrgency urgency = receiver.OnData(packet);
        m_duplicates += isDuplicate;
        if (!isDuplicate)
        {
            m_arrived.insert(number);
            while (m_arrived.erase(m_next))
            {
                ++m_next;
            }
        }
        const bool isUrgent = isDuplicate || !isInOrder || number == FIN;
        const bool leavesHole = !isDuplicate && !m_arrived.empty();
        const AckUrgency expected = leavesHole ? AckUrgency::COMPRESSED
                                    : isUrgent ? AckUrgency::NOW
                                               : AckUrgency::DELAYED;
        NS_TEST_EXPECT_MSG_EQ((urgency == expected), true, "urgency");
        NS_TEST_EXPECT_MSG_EQ(receiver.Received(),
                              m_offsets[std::min(m_next, FIN)],
                              "bytes in order, once");
        NS_TEST_EXPECT_MSG_EQ(receiver.Duplicates(), m_duplicates, "duplicates");
        NS_TEST_EXPECT_MSG_EQ(receiver.IsFinished(), (m_next > FIN), "FIN");
        if (isUrgent || m_random() % 2)
        {
            CheckAck(receiver, number, isDuplicate);
        }
    }

    void CheckAck(Receiver& receiver, uint64_t number, bool isDuplicate)
    {
        Acknowledgement ack;
        receiver.Describe(ack);
        const SackBlocks* blocks = ack.blocks;
        NS_TEST_EXPECT_MSG_EQ(ack.number, m_next, "cumulative");
        const uint64_t edge = receiver.Received() + ack.window;
        NS_TEST_EXPECT_MSG_GT_OR_EQ(edge, m_edge, "the window's edge never moves left");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(edge, receiver.TotalRead() + (1 << 20), "the buffer's size");
        m_edge = edge;
        NS_TEST_EXPECT_MSG_EQ(ack.isDuplicate, isDuplicate, "D-SACK");
        uint32_t first = 0;
        if (isDuplicate)
        {
            NS_TEST_EXPECT_MSG_EQ(blocks->begin[0], number, "which segment came twice");
            NS_TEST_EXPECT_MSG_EQ(blocks->end[0], number + 1, "which segment came twice");
            first = 1;
        }
        const std::vector<Block> runs = GetRuns(m_arrived);
        std::set<Block> reported;
        for (uint32_t i = first; i < ack.sackBlocks; ++i)
        {
            const Block block{blocks->begin[i], blocks->end[i]};
            NS_TEST_EXPECT_MSG_EQ(std::count(runs.begin(), runs.end(), block), 1, "a whole run");
            NS_TEST_EXPECT_MSG_EQ(reported.insert(block).second, true, "reported once");
        }
        NS_TEST_EXPECT_MSG_LT_OR_EQ(ack.sackBlocks, 3, "room beside timestamps");
        if (!isDuplicate && number > m_next)
        {
            const bool isLatest = blocks->begin[0] <= number && number < blocks->end[0];
            NS_TEST_EXPECT_MSG_EQ(isLatest, true, "the latest run comes first (RFC 2018)");
        }
    }

    static constexpr uint64_t FIN = 20'000; //!< the segment with FIN
    std::mt19937 m_random{9};
    std::set<uint64_t> m_arrived; //!< out of order
    uint64_t m_next{0};
    uint64_t m_edge{0};
    uint64_t m_duplicates{0};
    std::vector<uint64_t> m_offsets{0}; //!< stream offset of each segment
};

/// Write `bytes` in buffers of `size`. \returns how many the queue took
uint64_t
WriteAll(SendBuffer& buffer, uint64_t bytes, uint64_t size)
{
    uint64_t written = 0;
    uint64_t taken = 0;
    do
    {
        taken = buffer.Write(bytes - written, size);
        written += taken;
    } while (taken > 0 && written < bytes);
    return written;
}

class SendBufferTest : public ns3::TestCase
{
  public:
    SendBufferTest()
        : ns3::TestCase(
              "A blocked writer wakes once the buffer is two thirds full"
              " -> with 2000 of 3000 bytes, not with 2001 (Linux sk_stream_write_space())")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t SIZE = 500;
        SendBuffer buffer(1'500, 3'000);
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 1'500, "the buffer is small at first");
        NS_TEST_EXPECT_MSG_EQ(buffer.WantsToExpand(), true, "and may grow");
        buffer.OnSent(1'500);
        buffer.OnAcked(1'500);
        buffer.Expand(10'000);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), true, "there is room");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "fits");
        buffer.OnSent(2'000);
        buffer.OnAcked(1'000);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), false, "nobody waits");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 5'000, SIZE), 2'000, "all that fits");
        NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 3'000, "full");
        buffer.OnAcked(999);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), false, "2001 bytes queued");
        buffer.OnSent(2'000);
        buffer.OnAcked(1);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), true, "2000 bytes queued");
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), false, "once");
        NS_TEST_EXPECT_MSG_EQ(buffer.Unsent(), 0, "all is sent");
        NS_TEST_EXPECT_MSG_EQ(buffer.SentOffset(), 5'500, "bytes sent so far");
    }
};

class LastBufferTest : public ns3::TestCase
{
  public:
    LastBufferTest()
        : ns3::TestCase("Part of the last buffer was sent -> it takes more, however much is queued;"
                        " a new one waits for room (Linux tcp_sendmsg())")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t SIZE = 500;
        SendBuffer buffer(1'000, 1'000);
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 900, SIZE), 900, "two buffers, one not full");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 300, SIZE), 100, "it is filled");
        NS_TEST_EXPECT_MSG_EQ(buffer.IsWriterBlocked(), true, "1000 bytes are the limit");
        buffer.OnSent(700);
        NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 200, "as much as of it was sent");
        NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 1'200, "beyond the limit");
        NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 0, "the buffer is full again");
        buffer.OnSent(500);
        NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 0, "nothing is left of it");
        buffer.OnAcked(201);
        NS_TEST_EXPECT_MSG_EQ(buffer.Write(900, SIZE), 500, "below the limit, a whole one");
        NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 1'499, "which may exceed it");
    }
};

class PollTest : public ns3::TestCase
{
  public:
    PollTest()
        : ns3::TestCase("A program polls before it writes -> it may with 2000 of 3000 bytes queued,"
                        " not with 2001 (Linux sk_stream_is_writeable())")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t SIZE = 500;
        SendBuffer buffer(3'000, 3'000);
        NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "empty");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "two thirds");
        NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "still writable");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 1, SIZE), 1, "one more");
        NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), false, "2001 bytes queued");
        NS_TEST_EXPECT_MSG_EQ(buffer.IsWriterBlocked(), true, "it waits");
        buffer.OnSent(2'000);
        buffer.OnAcked(1);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), true, "2000 bytes queued");
        NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "as it was told");
    }
};

class SleepingWriterTest : public ns3::TestCase
{
  public:
    SleepingWriterTest()
        : ns3::TestCase("A write blocks with 3000 of 3000 bytes queued -> data that arrive wake it"
                        " with any room (Linux sk_stream_wait_memory())")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t SIZE = 500;
        SendBuffer buffer(3'000, 3'000);
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "room is left");
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesSleepingWriter(), false, "nobody sleeps");
        NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 1'000, "full");
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesSleepingWriter(), false, "no room");
        buffer.OnSent(3'000);
        buffer.OnAcked(1);
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesWriter(), false, "less than a third is free");
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesSleepingWriter(), true, "but a byte");
        NS_TEST_EXPECT_MSG_EQ(buffer.WakesSleepingWriter(), false, "it is awake");
    }
};

class TransportScoreboardTestSuite : public ns3::TestSuite
{
  public:
    TransportScoreboardTestSuite()
        : ns3::TestSuite("tunnelcc-transport-scoreboard", Type::UNIT)
    {
        AddTestCase(new ScoreboardTest("few losses", 50, 0.02, 100'000), Duration::QUICK);
        AddTestCase(new ScoreboardTest("many losses", 50, 0.3, 100'000), Duration::QUICK);
        AddTestCase(new ScoreboardTest("a large window", 1'000, 0.05, 30'000), Duration::QUICK);
        AddTestCase(new LostFirstTest, Duration::QUICK);
        AddTestCase(new ReceiveWindowTest, Duration::QUICK);
        AddTestCase(new ReceiveSpaceTest, Duration::QUICK);
        AddTestCase(new ReceiveRoundTest, Duration::QUICK);
        AddTestCase(new WindowUnitTest, Duration::QUICK);
        AddTestCase(new ReceiverTest, Duration::QUICK);
        AddTestCase(new SendBufferTest, Duration::QUICK);
        AddTestCase(new LastBufferTest, Duration::QUICK);
        AddTestCase(new PollTest, Duration::QUICK);
        AddTestCase(new SleepingWriterTest, Duration::QUICK);
    }
};

TransportScoreboardTestSuite g_transportScoreboardTestSuite;

} // namespace
