/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the event loop: the order of events, ns-3's interface to them, running ahead.
 */
#include "event/event-loop.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;
using ns3::NanoSeconds;
using ns3::Simulator;

TEST_SUITE("tunnelcc-event-loop");

/// A source that writes its name down when it fires, and may do something more.
class NotingSource final : public EventSource
{
  public:
    NotingSource(std::string name, std::string& notes)
        : EventSource(TestLoop()),
          m_name(std::move(name)),
          m_notes(notes)
    {
    }

    void WakeAt(int64_t time)
    {
        m_loop.Insert(time, m_rank, this);
    }

    void Fire(int64_t) override
    {
        m_notes += m_name;
        if (then)
        {
            then();
        }
    }

    std::function<void()> then;

  private:
    std::string m_name;
    std::string& m_notes;
};

class QueueOrderTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    class Source final : public EventSource
    {
      public:
        Source(size_t index, std::vector<std::pair<int64_t, size_t>>& fired)
            : EventSource(TestLoop()),
              m_index(index),
              m_fired(fired)
        {
        }

        void WakeAt(int64_t time)
        {
            m_loop.Insert(time, m_rank, this);
        }

        void Fire(int64_t now) override
        {
            m_fired.emplace_back(now, m_index);
        }

      private:
        size_t m_index;
        std::vector<std::pair<int64_t, size_t>>& m_fired;
    };

    void DoRun() override
    {
        std::mt19937 random(1);
        std::vector<std::pair<int64_t, size_t>> fired;
        std::deque<Source> sources;
        for (size_t i = 0; i < 50; ++i)
        {
            sources.emplace_back(i, fired);
        }
        std::vector<std::pair<int64_t, size_t>> expected;
        for (int i = 0; i < 20'000; ++i)
        {
            const size_t index = random() % sources.size();
            const int64_t time = random() % 2'000;
            sources[index].WakeAt(time);
            expected.emplace_back(time, index);
        }
        Simulator::Run();
        std::sort(expected.begin(), expected.end());
        NS_TEST_EXPECT_MSG_EQ((fired == expected), true, "sorted by time and rank");
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetEventCount(), expected.size(), "events run");
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now().GetNanoSeconds(),
                              expected.back().first,
                              "the clock stands at the last event");
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "nothing is left");
    }
};

ADD_CASE(QueueOrderTest, "Events run in order of time, then of their sources' construction");

/// Events that insert others, near and far, against a sorted set.
class InsertionTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    class Source final : public EventSource
    {
      public:
        Source(InsertionTest& test, size_t index)
            : EventSource(TestLoop()),
              m_test(test),
              m_index(index)
        {
        }

        void WakeAt(int64_t time)
        {
            m_test.m_expected.emplace(time, m_index);
            m_loop.Insert(time, m_rank, this);
        }

        void Fire(int64_t now) override
        {
            m_test.OnFired(now, m_index);
        }

      private:
        InsertionTest& m_test;
        size_t m_index;
    };

    void OnFired(int64_t now, size_t index)
    {
        const std::pair fired(now, index);
        NS_TEST_EXPECT_MSG_EQ((fired == *m_expected.begin()), true, "next of all that were due");
        m_expected.erase(m_expected.begin());
        ++m_fired;
        const int64_t span = m_random() % 8 == 0 ? 10'000 : 20;
        for (size_t i = m_random() % 3; i > 0 && m_fired + m_expected.size() < EVENTS; --i)
        {
            m_sources[m_random() % m_sources.size()].WakeAt(now + m_random() % span);
        }
    }

    void DoRun() override
    {
        for (size_t i = 0; i < 40; ++i)
        {
            m_sources.emplace_back(*this, i).WakeAt(m_random() % 10'000);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_expected.size(), 0, "none is lost");
        NS_TEST_EXPECT_MSG_GT(m_fired, 1'000, "many ran");
    }

    static constexpr size_t EVENTS = 50'000;

    std::mt19937 m_random{1};
    std::deque<Source> m_sources;
    std::multiset<std::pair<int64_t, size_t>> m_expected;
    size_t m_fired{0};
};

ADD_CASE(InsertionTest, "Events inserted while others run come in order, too");

TEST_CASE(SimulationTestCase,
          TieTest,
          "At one time: sources by rank, then ns-3 events as scheduled")
{
    std::string notes;
    NotingSource a("a", notes);
    NotingSource b("b", notes);
    auto note = [&notes](const char* name) { notes += name; };
    At(10, [&] {
        note("1");
        Simulator::ScheduleNow([&] { note("3"); });
        a.WakeAt(10);
    });
    At(10, [&] { note("2"); });
    b.WakeAt(10);
    a.WakeAt(10);
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(notes, "ab1a23", "order");
}

TEST_CASE(SimulationTestCase,
          CancelTest,
          "An ns-3 event expires when it runs, is cancelled or removed")
{
    std::string notes;
    ns3::EventId first;
    ns3::EventId second;
    ns3::EventId cancelled;
    first = At(10, [&] {
        notes += "1";
        NS_TEST_EXPECT_MSG_EQ(first.IsExpired(), true, "it is running");
        NS_TEST_EXPECT_MSG_EQ(second.IsPending(), true, "it comes next");
        Simulator::Cancel(cancelled);
    });
    second = At(10, [&] { notes += "2"; });
    cancelled = At(10, [&] { notes += "cancelled"; });
    const ns3::EventId removed = At(20, [&] { notes += "removed"; });
    const ns3::EventId last = At(30, [&] { notes += "3"; });
    Simulator::Remove(removed);
    NS_TEST_EXPECT_MSG_EQ(removed.IsExpired(), true, "removed");
    NS_TEST_EXPECT_MSG_EQ(first.IsPending(), true, "not run yet");
    RunUntil(15);
    NS_TEST_EXPECT_MSG_EQ(notes, "12", "what ran");
    NS_TEST_EXPECT_MSG_EQ(first.IsExpired(), true, "ran");
    NS_TEST_EXPECT_MSG_EQ(second.IsExpired(), true, "ran");
    NS_TEST_EXPECT_MSG_EQ(cancelled.IsExpired(), true, "cancelled");
    NS_TEST_EXPECT_MSG_EQ(Simulator::GetDelayLeft(last).GetNanoSeconds(), 15, "time left");
    NS_TEST_EXPECT_MSG_EQ(Simulator::GetDelayLeft(first).GetNanoSeconds(), 0, "expired");
    Simulator::Cancel(first);
    Simulator::Cancel(ns3::EventId());
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(notes, "123", "what ran");
    NS_TEST_EXPECT_MSG_EQ(ns3::EventId().IsExpired(), true, "no event");
}

TEST_CASE(SimulationTestCase,
          DestroyTest,
          "Destroy events run at the end, in order, unless cancelled")
{
    std::string notes;
    Simulator::ScheduleDestroy(+[](std::string* text) { *text += "1"; }, &notes);
    const auto cancelled =
        Simulator::ScheduleDestroy(+[](std::string* text) { *text += "c"; }, &notes);
    Simulator::ScheduleDestroy(+[](std::string* text) { *text += "2"; }, &notes);
    NS_TEST_EXPECT_MSG_EQ(cancelled.IsPending(), true, "before");
    Simulator::Cancel(cancelled);
    NS_TEST_EXPECT_MSG_EQ(cancelled.IsExpired(), true, "after");
    At(10, [&] { notes += "never"; });
    Simulator::Destroy();
    NS_TEST_EXPECT_MSG_EQ(notes, "12", "order");
    NS_TEST_EXPECT_MSG_EQ(Simulator::Now().IsZero(), true, "the next simulation begins at 0");
}

TEST_CASE(SimulationTestCase, StopTest, "A stopped simulation goes on where it was")
{
    std::string notes;
    NotingSource a("a", notes);
    a.WakeAt(10);
    At(10, [&] {
        notes += "1";
        Simulator::Stop();
    });
    At(10, [&] { notes += "2"; });
    At(20, [&] { notes += "3"; });
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(notes, "a1", "stopped within a time");
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(notes, "a123", "to the end");
    NS_TEST_EXPECT_MSG_EQ(Simulator::Now().GetNanoSeconds(), 20, "the last event's time");
}

TEST_CASE(SimulationTestCase, ContextTest, "Events keep the context that they were scheduled in")
{
    std::vector<uint32_t> contexts;
    auto record = [&contexts] { contexts.push_back(Simulator::GetContext()); };
    Simulator::ScheduleWithContext(7, NanoSeconds(10), [&] {
        record();
        Simulator::Schedule(NanoSeconds(10), record);
    });
    Simulator::ScheduleWithContext(8, NanoSeconds(15), record);
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ((contexts == std::vector<uint32_t>{7, 8, 7}), true, "contexts");
}

/// Ticks at fixed intervals; runs ahead of the queue where it may, as delay lines do.
class Ticker final : public EventSource
{
  public:
    using Tick = std::tuple<int64_t, int, int64_t>; //!< time, name, clock of the simulator

    Ticker(int name, int64_t interval, int64_t end, bool runsAhead, std::vector<Tick>& ticks)
        : EventSource(TestLoop()),
          m_name(name),
          m_interval(interval),
          m_end(end),
          m_runsAhead(runsAhead),
          m_ticks(ticks)
    {
        m_loop.Insert(interval, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        Note(now);
        for (int64_t next = now + m_interval; next <= m_end; next += m_interval)
        {
            if (!m_runsAhead || !m_loop.IsNext(next, m_rank))
            {
                m_loop.Insert(next, m_rank, this);
                return;
            }
            m_loop.AdvanceTo(next);
            Note(next);
        }
    }

  private:
    void Note(int64_t now)
    {
        m_ticks.emplace_back(now, m_name, Simulator::Now().GetNanoSeconds());
        if (m_ticks.size() % 17 == 0)
        {
            Simulator::ScheduleNow([this] { m_ticks.emplace_back(m_loop.Time(), -1, 0); });
        }
    }

    int m_name;
    int64_t m_interval;
    int64_t m_end;
    bool m_runsAhead;
    std::vector<Tick>& m_ticks;
};

class RunAheadTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    std::vector<Ticker::Tick> Collect(bool runsAhead)
    {
        Simulator::Destroy();
        std::vector<Ticker::Tick> ticks;
        std::deque<Ticker> tickers;
        int name = 0;
        for (const int64_t interval : {3, 50, 50, 70, 1'000})
        {
            tickers.emplace_back(name++, interval, 20'000, runsAhead, ticks);
        }
        for (int64_t time = 0; time < 20'000; time += 333)
        {
            At(time, [&ticks, time] { ticks.emplace_back(time, -2, 0); });
        }
        RunUntil(10'000);
        ticks.emplace_back(0, -3, 0);
        Simulator::Run();
        m_events = Simulator::GetEventCount();
        return ticks;
    }

    void DoRun() override
    {
        const auto expected = Collect(false);
        const uint64_t events = m_events;
        const auto ticks = Collect(true);
        NS_TEST_EXPECT_MSG_EQ(ticks.size(), expected.size(), "as many");
        NS_TEST_EXPECT_MSG_EQ((ticks == expected), true, "in the same order");
        NS_TEST_EXPECT_MSG_EQ(m_events, events, "counted alike");
    }

    uint64_t m_events{0};
};

ADD_CASE(RunAheadTest, "A source that runs ahead of the queue changes nothing");

} // namespace
