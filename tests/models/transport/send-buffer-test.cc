/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the send buffer alone: how much a write puts into it, and when a blocked writer wakes.
 */
#include "support/simulation-test-case.h"
#include "transport/send-buffer.h"

#include <cstdint>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-send-buffer");

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

TEST_CASE(ns3::TestCase,
          SendBufferTest,
          "A blocked writer wakes once the buffer is two thirds full"
          " -> with 2000 of 3000 bytes, not with 2001 (Linux sk_stream_write_space())")
{
    constexpr uint64_t SIZE = 500;
    SendBuffer buffer(1'500, 3'000, 0);
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 1'500, "the buffer is small at first");
    NS_TEST_EXPECT_MSG_EQ(buffer.WantsToExpand(), true, "and may grow");
    buffer.OnSent(1'500, 0);
    buffer.OnAcked(1'500, 0);
    buffer.Expand(10'000);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), true, "there is room");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "fits");
    buffer.OnSent(2'000, 0);
    buffer.OnAcked(1'000, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "nobody waits");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 5'000, SIZE), 2'000, "all that fits");
    NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 3'000, "full");
    buffer.OnAcked(999, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "2001 bytes queued");
    buffer.OnSent(2'000, 0);
    buffer.OnAcked(1, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), true, "2000 bytes queued");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "once");
    NS_TEST_EXPECT_MSG_EQ(buffer.Unsent(), 0, "all is sent");
    NS_TEST_EXPECT_MSG_EQ(buffer.SentOffset(), 5'500, "bytes sent so far");
}

TEST_CASE(ns3::TestCase,
          LastBufferTest,
          "Part of the last buffer was sent -> it takes more, however much is queued;"
          " a new one waits for room (Linux tcp_sendmsg())")
{
    constexpr uint64_t SIZE = 500;
    SendBuffer buffer(1'000, 1'000, 0);
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 900, SIZE), 900, "two buffers, one not full");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 300, SIZE), 100, "it is filled");
    NS_TEST_EXPECT_MSG_EQ(buffer.IsWriterBlocked(), true, "1000 bytes are the limit");
    buffer.OnSent(700, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 200, "as much as of it was sent");
    NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 1'200, "beyond the limit");
    NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 0, "the buffer is full again");
    buffer.OnSent(500, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.Write(200, SIZE), 0, "nothing is left of it");
    buffer.OnAcked(201, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.Write(900, SIZE), 500, "below the limit, a whole one");
    NS_TEST_EXPECT_MSG_EQ(buffer.Queued(), 1'499, "which may exceed it");
}

TEST_CASE(ns3::TestCase,
          PollTest,
          "A program polls before it writes -> it may with 2000 of 3000 bytes queued,"
          " not with 2001 (Linux sk_stream_is_writeable())")
{
    constexpr uint64_t SIZE = 500;
    SendBuffer buffer(3'000, 3'000, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "empty");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "two thirds");
    NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "still writable");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 1, SIZE), 1, "one more");
    NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), false, "2001 bytes queued");
    NS_TEST_EXPECT_MSG_EQ(buffer.IsWriterBlocked(), true, "it waits");
    buffer.OnSent(2'000, 0);
    buffer.OnAcked(1, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), true, "2000 bytes queued");
    NS_TEST_EXPECT_MSG_EQ(buffer.Poll(), true, "as it was told");
}

TEST_CASE(ns3::TestCase,
          SleepingWriterTest,
          "A write blocks with 3000 of 3000 bytes queued -> data that arrive wake it"
          " with any room (Linux sk_stream_wait_memory())")
{
    constexpr uint64_t SIZE = 500;
    SendBuffer buffer(3'000, 3'000, 0);
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 2'000, "room is left");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeSleepingWriter(), false, "nobody sleeps");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 2'000, SIZE), 1'000, "full");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeSleepingWriter(), false, "no room");
    buffer.OnSent(3'000, 0);
    buffer.OnAcked(1, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "less than a third is free");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeSleepingWriter(), true, "but a byte");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeSleepingWriter(), false, "it is awake");
}

TEST_CASE(ns3::TestCase,
          NotedPollTest,
          "A program asks only whether it can read -> nobody waits, but with less than a third free"
          " the buffer may grow until a third is (Linux tcp_poll(), SOCK_NOSPACE)")
{
    constexpr uint64_t SIZE = 500;
    SendBuffer buffer(3'000, 6'000, 0);
    WriteAll(buffer, 2'000, SIZE);
    buffer.NotePoll();
    NS_TEST_EXPECT_MSG_EQ(buffer.WantsToExpand(), false, "a third is free");
    WriteAll(buffer, 1, SIZE);
    buffer.NotePoll();
    NS_TEST_EXPECT_MSG_EQ(buffer.WantsToExpand(), true, "less is");
    NS_TEST_EXPECT_MSG_EQ(buffer.IsWriterBlocked(), false, "but nobody writes");
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "no room, nobody to wake");
    buffer.Expand(4'000);
    NS_TEST_EXPECT_MSG_EQ(buffer.WakeWriter(), false, "room, nobody to wake");
    NS_TEST_EXPECT_MSG_EQ(buffer.WantsToExpand(), false, "and no more is wanted");
}

TEST_CASE(ns3::TestCase,
          OverheadTest,
          "Each of the kernel's buffers has 832 bytes beside its payload"
          " -> bursts of two segments leave room for less than one large buffer (Linux"
          " sk_wmem_queued)")
{
    constexpr uint64_t SIZE = 40'000;
    constexpr uint32_t OVERHEAD = 832;
    SendBuffer buffer(100'000, 100'000, OVERHEAD);
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 90'000, SIZE), 90'000, "fits");
    NS_TEST_EXPECT_MSG_EQ(buffer.Memory(), 90'000 + 3 * OVERHEAD, "two full buffers, and one not");
    for (uint32_t burst = 1; burst <= 13; ++burst)
    {
        buffer.OnSent(3'000, 1);
        NS_TEST_EXPECT_MSG_EQ(buffer.Memory(),
                              90'000 + (3 + burst) * OVERHEAD,
                              "each burst leaves the rest to a buffer of its own");
    }
    buffer.OnSent(1'000, 1);
    NS_TEST_EXPECT_MSG_EQ(buffer.Memory(), 90'000 + 16 * OVERHEAD, "nothing of the first is left");
    NS_TEST_EXPECT_MSG_EQ(WriteAll(buffer, 40'000, SIZE), 30'000, "the last one is filled");
    buffer.OnAcked(1'500, 0);
    NS_TEST_EXPECT_MSG_EQ(buffer.Memory(), 118'500 + 16 * OVERHEAD, "half of a burst: its payload");
    buffer.OnAcked(1'500, 1);
    NS_TEST_EXPECT_MSG_EQ(buffer.Memory(),
                          117'000 + 15 * OVERHEAD,
                          "and with the rest the overhead");
}

TEST_CASE(ns3::TestCase,
          BlockedWriterTest,
          "A peer never reads -> 4 MiB of memory take 4.09 MB of payload, as measured (Linux 6.18)")
{
    // Its first window of 64 kB makes buffers of 32 kB: 22 segments.
    SendBuffer buffer(4 << 20, 4 << 20, 832);
    const uint64_t written = WriteAll(buffer, 5'000'000, 22 * 1'448);
    NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(written), 4.09e6, 0.02e6, "payload");
}

} // namespace
