/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the receiver: against a brute-force set of segments, over duplicates and segments out of
 * order; how its buffer grows, and the windows that it tells.
 */
#include "support/segment-runs.h"
#include "support/simulation-test-case.h"
#include "support/tcp-specs.h"
#include "transport/receive-window.h"
#include "transport/receiver.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-receiver");

/// A segment arrives.
void
Deliver(Receiver& receiver, uint32_t number, uint16_t length)
{
    Packet packet{};
    packet.segment = number;
    packet.length = length;
    receiver.OnData(packet);
}

/// How buffers grow, against what a trace of Linux 6.18's tcp_rcvbuf_grow() shows: RTT 50 ms, MSS
/// 4096 (the change log of upstream commit aa251c84636c, "After").
class ReceiveWindowTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

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

ADD_CASE(ReceiveWindowTest,
         "Receive buffers grow as Linux 6.18 traced it, and as before 6.16"
         " -> 57316406 bytes after nine round trips; 229376 after one (Linux "
         "tcp_rcvbuf_grow())");

TEST_CASE(ns3::TestCase,
          ReceiveSpaceTest,
          "Data that waits in the receive buffer, in order or not, takes its space"
          " -> the window and its limit are at most what is free, none below a "
          "sixteenth (Linux tcp_grow_window(), __tcp_select_window())")
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
    TcpSpec spec = MakeTcpSpec();
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

TEST_CASE(ns3::TestCase,
          ReceiveRoundTest,
          "A hole is filled, and all behind it is read at once -> the round ends with"
          " the first segment; the others count in the next one (Linux "
          "tcp_recvmsg(), tcp_rcv_space_adjust())")
{
    constexpr int64_t RTT = 100'000'000;
    constexpr uint16_t FULL = 1'448;
    TcpSpec spec = MakeTcpSpec();
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

class WindowUnitTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    /// Window told after one segment of `length` bytes that nobody reads.
    static uint32_t Window(uint64_t room, uint32_t scale, uint16_t length)
    {
        TcpSpec spec = MakeTcpSpec();
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

ADD_CASE(WindowUnitTest,
         "Windows are told in units of their scale, within 16 bits"
         " -> 1047128 bytes unscaled, 1047552 by 1024, 131070 by two (RFC 7323, "
         "2.3; Linux __tcp_select_window())");

class ReceiverTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static uint16_t Length(uint64_t number)
    {
        return 1 + number * 7'919 % 1'448;
    }

    void DoRun() override
    {
        TcpSpec spec = MakeTcpSpec();
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

ADD_CASE(ReceiverTest,
         "The receiver equals a brute-force set of segments"
         " -> the ACKs of the set, for 20000 segments (RFC 2018, 4; RFC 2883, 4)");

} // namespace
