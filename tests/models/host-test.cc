/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the host's processor: cores, one run queue, threads.
 */
#include "host/cpu.h"
#include "simulation-test-case.h"

#include <vector>

namespace
{

using namespace tunnelcc;

class CoresTest : public SimulationTestCase
{
  public:
    CoresTest()
        : SimulationTestCase("Work goes to the core that is free first")
    {
    }

  private:
    void DoRun() override
    {
        Cpu cpu(2, 2); // twice as fast as where costs were measured
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 20), 10, "the first core");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 60), 30, "the second core");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(5, 20), 20, "waits for the first");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(15), 30, "two cores for 15 ns");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(100, 20), 110, "after a pause");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(200), 60, "all");
        NS_TEST_EXPECT_MSG_EQ(cpu.Cores(), 2, "cores");
    }
};

class ThreadTest : public SimulationTestCase
{
  public:
    ThreadTest()
        : SimulationTestCase("A thread works piece by piece and leaves the other core to others")
    {
    }

  private:
    class User final : public CpuUser
    {
      public:
        void OnComputed(int64_t now) override
        {
            times.push_back(now);
        }

        std::vector<int64_t> times;
    };

    void DoRun() override
    {
        Cpu cpu(2, 1);
        CpuThread thread(cpu);
        User user;
        for (int i = 0; i < 10; ++i)
        {
            thread.Submit(0, 10, user);
        }
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 10), 10, "the other core is free");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(10), 20, "both worked");
        RunUntil(SECOND);
        const std::vector<int64_t> expected{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
        NS_TEST_EXPECT_MSG_EQ((user.times == expected), true, "one after the other");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(SECOND), 110, "all in all");
    }
};

class HostTestSuite : public ns3::TestSuite
{
  public:
    HostTestSuite()
        : ns3::TestSuite("tunnelcc-host", Type::UNIT)
    {
        AddTestCase(new CoresTest, Duration::QUICK);
        AddTestCase(new ThreadTest, Duration::QUICK);
    }
};

HostTestSuite g_hostTestSuite;

} // namespace
