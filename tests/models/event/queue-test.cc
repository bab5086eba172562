/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the queues alone: pending events against a sorted set, and the Fifo.
 */
#include "event/event-queue.h"
#include "event/fifo.h"
#include "support/simulation-test-case.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-event-queue");

class EventQueueTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    using Plain = std::set<std::pair<int64_t, uint64_t>>; //!< time and rank

    void Insert(int64_t time)
    {
        const uint64_t rank = uint64_t{m_random() % 16} << 32 | ++m_inserted;
        m_queue.Insert(time, rank, nullptr);
        m_plain.emplace(time, rank);
    }

    void Pop()
    {
        const EventQueue::Event event = m_queue.Pop();
        NS_TEST_ASSERT_MSG_EQ(event.time, m_plain.begin()->first, "time");
        NS_TEST_ASSERT_MSG_EQ(event.rank, m_plain.begin()->second, "rank");
        m_plain.erase(m_plain.begin());
        m_now = event.time;
    }

    void Ask(int64_t time)
    {
        const uint64_t rank = uint64_t{m_random() % 16} << 32;
        const bool isFirst = m_plain.empty() || std::pair(time, rank) < *m_plain.begin();
        NS_TEST_ASSERT_MSG_EQ(m_queue.IsFirst(time, rank), isFirst, "first");
    }

    void DoRun() override
    {
        // Within a slot of the lowest wheel, in its other slots, and in those of wheels above.
        constexpr int64_t AHEAD[] = {1, 300, 5'000, 200'000, 20'000'000, 1'000'000'000'000};
        for (int step = 0; step < 200'000 && !IsStatusFailure(); ++step)
        {
            const int64_t time = m_now + static_cast<int64_t>(m_random() % AHEAD[m_random() % 6]);
            const bool isGrowing = step / 20'000 % 2 == 0;
            switch (m_random() % 8)
            {
            case 0:
            case 1:
            case 2:
                Insert(time);
                break;
            case 3:
                Ask(time);
                break;
            case 4:
                for (uint32_t left = m_random() % 1'000 == 0 ? 200 : 0; left > 0; --left)
                {
                    Insert(time + static_cast<int64_t>(left / 100));
                }
                break;
            default:
                if (!m_plain.empty() && !(isGrowing && m_random() % 4 == 0))
                {
                    Pop();
                }
            }
            NS_TEST_ASSERT_MSG_EQ(m_queue.IsEmpty(), m_plain.empty(), "empty");
        }
        NS_TEST_EXPECT_MSG_GT(m_now, AHEAD[4], "the slots came round");
        Insert(std::numeric_limits<int64_t>::max());
        while (!m_plain.empty() && !IsStatusFailure())
        {
            Pop();
        }
        NS_TEST_EXPECT_MSG_EQ(m_queue.IsEmpty(), true, "nothing is left");
    }

    std::mt19937 m_random{5};
    EventQueue m_queue;
    Plain m_plain;
    uint64_t m_inserted{0};
    int64_t m_now{0};
};

ADD_CASE(EventQueueTest, "Pending events equal a sorted set, near and far, few and in floods");

/// A source with a number.
class NumberedSource final : public EventSource
{
  public:
    NumberedSource()
        : EventSource(TestLoop())
    {
    }

    void Fire(int64_t) override
    {
    }
};

TEST_CASE(SimulationTestCase,
          RemovalTest,
          "The events of one source leave the queue, and no other does")
{
    constexpr uint64_t AHEAD[] = {300, 200'000, 20'000'000, 1'000'000'000'000};
    std::mt19937 random(7);
    for (int count : {5, 50, 500})
    {
        NumberedSource sources[4];
        EventQueue queue;
        std::set<std::tuple<int64_t, uint64_t, EventSource*>> expected;
        int64_t now = 0;
        for (int i = 0; i < count; ++i)
        {
            EventSource* source = &sources[random() % 4];
            const auto time = now + static_cast<int64_t>(random() % AHEAD[random() % 4]);
            queue.Insert(time, static_cast<uint64_t>(i), source);
            expected.emplace(time, i, source);
            if (i % 10 == 9)
            {
                NS_TEST_ASSERT_MSG_EQ(queue.FirstTime(), std::get<0>(*expected.begin()), "first");
                now = queue.Pop().time;
                expected.erase(expected.begin());
            }
        }
        queue.Remove(&sources[2]);
        std::erase_if(expected, [&](const auto& it) { return std::get<2>(it) == &sources[2]; });
        for (const auto& [time, rank, source] : expected)
        {
            NS_TEST_ASSERT_MSG_EQ(queue.IsEmpty(), false, "as many");
            NS_TEST_ASSERT_MSG_EQ(queue.FirstTime(), time, "time");
            const EventQueue::Event event = queue.Pop();
            NS_TEST_ASSERT_MSG_EQ(event.rank, rank, "rank");
            NS_TEST_ASSERT_MSG_EQ(event.source, source, "source");
        }
        NS_TEST_EXPECT_MSG_EQ(queue.IsEmpty(), true, "no more");
    }
}

TEST_CASE(SimulationTestCase, FifoTest, "A Fifo keeps order however it wraps and grows")
{
    std::mt19937 random(3);
    Fifo<int> fifo;
    std::deque<int> expected;
    for (int i = 0; i < 100'000; ++i)
    {
        // Drifts up to some hundred elements and down again, many times over.
        const bool isGrowing = (i / 1'000) % 2 == 0;
        if (random() % 10 < (isGrowing ? 7 : 4) || expected.empty())
        {
            fifo.Push(i);
            expected.push_back(i);
        }
        else
        {
            NS_TEST_ASSERT_MSG_EQ(fifo.Front(), expected.front(), "first in, first out");
            fifo.Pop();
            expected.pop_front();
        }
        NS_TEST_ASSERT_MSG_EQ(fifo.Size(), expected.size(), "size");
    }
    fifo.Clear();
    NS_TEST_EXPECT_MSG_EQ(fifo.IsEmpty(), true, "cleared");
}

} // namespace
