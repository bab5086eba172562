/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks timers: when they expire, what moving them costs, and against plain ones.
 */
#include "event/timer.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace
{

using namespace tunnelcc;
using ns3::Simulator;

TEST_SUITE("tunnelcc-event-timer");

/// Something with a timer.
class Clock
{
  public:
    Clock()
        : timer(TestLoop(), this)
    {
    }

    void OnExpire(int64_t now)
    {
        expiries.push_back(now);
        if (then)
        {
            then(now);
        }
    }

    std::vector<int64_t> expiries;
    std::function<void(int64_t)> then;
    Timer<Clock, &Clock::OnExpire> timer;
};

TEST_CASE(SimulationTestCase, TimerTest, "A timer expires once, at the deadline set last")
{
    Clock clock;
    clock.timer.Set(100);
    At(50, [&] { clock.timer.Set(300); });
    At(200, [&] {
        NS_TEST_EXPECT_MSG_EQ(clock.expiries.empty(), true, "moved later in time");
        clock.timer.Set(250);
    });
    RunUntil(1'000);
    NS_TEST_EXPECT_MSG_EQ((clock.expiries == std::vector<int64_t>{250}), true, "once");
    NS_TEST_EXPECT_MSG_EQ(clock.timer.IsPending(), false, "nothing more to come");

    At(1'100, [&] { clock.timer.Set(1'200); });
    At(1'150, [&] { clock.timer.Cancel(); });
    RunUntil(2'000);
    NS_TEST_EXPECT_MSG_EQ(clock.expiries.size(), 1, "cancelled");

    At(2'100, [&] { clock.timer.Set(5); });
    RunUntil(2'100);
    NS_TEST_EXPECT_MSG_EQ(clock.expiries.back(), 2'100, "a deadline that has passed: at once");

    clock.then = [&clock](int64_t now) {
        if (now < 2'500)
        {
            clock.timer.Set(now + 100);
        }
    };
    clock.timer.Set(2'200);
    RunUntil(10'000);
    NS_TEST_EXPECT_MSG_EQ(clock.expiries.size(), 6, "set again from within");
    NS_TEST_EXPECT_MSG_EQ(clock.expiries.back(), 2'500, "every 100 ns");
}

TEST_CASE(SimulationTestCase, TimerCostTest, "Moving a timer later costs no events")
{
    Clock clock;
    for (int64_t deadline = 1'000; deadline < 101'000; ++deadline)
    {
        clock.timer.Set(deadline);
    }
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ((clock.expiries == std::vector<int64_t>{100'999}), true, "once");
    NS_TEST_EXPECT_MSG_EQ(Simulator::GetEventCount(), 2, "one wake-up in vain");
}

TEST_CASE(SimulationTestCase,
          TimerReferenceTest,
          "A timer moved at random expires as a plain one would")
{
    constexpr int64_t NONE = -1;
    std::mt19937 random(2);
    Clock clock;
    std::vector<int64_t> expected;
    int64_t deadline = NONE;
    int64_t now = 0;
    for (int i = 0; i < 20'000; ++i)
    {
        const int64_t next = now + random() % 40;
        if (deadline != NONE && deadline <= next)
        {
            expected.push_back(deadline);
            deadline = NONE;
        }
        now = next;
        if (random() % 4 == 0)
        {
            deadline = NONE;
            At(now, [&clock] { clock.timer.Cancel(); });
            continue;
        }
        const int64_t asked = now + static_cast<int64_t>(random() % 100) - 10;
        deadline = std::max(asked, now);
        At(now, [&clock, asked] { clock.timer.Set(asked); });
    }
    if (deadline != NONE)
    {
        expected.push_back(deadline);
    }
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(clock.expiries.size(), expected.size(), "how often");
    NS_TEST_EXPECT_MSG_EQ((clock.expiries == expected), true, "when");
}

} // namespace
