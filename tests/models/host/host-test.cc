/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the host's processor: cores, one run queue, threads, switches, machines that hosts share.
 */
#include "host/cpu.h"
#include "host/tcp-memory.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-host");

class CoresTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Cores cores(TestLoop(), 2, 0);
        Cpu cpu(cores, 2); // twice as fast as where costs were measured
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 20, &m_a), 10, "the first core");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 60, &m_b), 30, "the second core");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(5, 20, &m_c), 20, "waits for the first");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(15), 30, "two cores for 15 ns");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(100, 20, &m_a), 110, "after a pause");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(200), 60, "all");
        NS_TEST_EXPECT_MSG_EQ(cpu.CoreCount(), 2, "cores");
    }

    const char m_a{}; // whose addresses are the threads' names
    const char m_b{};
    const char m_c{};
};

ADD_CASE(CoresTest, "Work goes to the core that is free first");

class SwitchTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int64_t SWITCH = 5;

    void DoRun() override
    {
        Cores one(TestLoop(), 1, SWITCH);
        Cpu cpu(one, 2); // a switch takes its time whatever the speed
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 20, &m_a), 10, "nothing ran before");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(10, 20, &m_a), 20, "the same thread");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(20, 20, &m_b), 35, "another one");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(35, 20, &m_a), 50, "and back");
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(90, 20, &m_a), 100, "idle in between");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(100), 60, "switches are CPU time");

        Cores two(TestLoop(), 2, SWITCH);
        Cpu pair(two, 1);
        for (int64_t now = 0; now < 100; now += 10)
        {
            pair.Run(now, 10, &m_a);
            pair.Run(now, 10, &m_b);
        }
        NS_TEST_EXPECT_MSG_EQ(pair.Busy(100), 200, "two threads keep to their cores");
    }

    const char m_a{};
    const char m_b{};
};

ADD_CASE(SwitchTest, "A core pays for going over to another thread, and only then");

class ManyThreadsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Pieces of 10 ns done in 1000 ns by so many threads on two cores; a switch takes 10 ns.
    static uint32_t Pieces(size_t threads)
    {
        Cores cores(TestLoop(), 2, 10);
        Cpu cpu(cores, 1);
        std::vector<int64_t> done(threads, 0); // each thread's address is its name
        uint32_t pieces = 0;
        for (bool isBusy = true; isBusy;)
        {
            auto next = std::min_element(done.begin(), done.end());
            *next = cpu.Run(*next, 10, &*next);
            isBusy = *next <= 1000;
            pieces += isBusy;
        }
        return pieces;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Pieces(1), 100, "one core");
        NS_TEST_EXPECT_MSG_EQ(Pieces(2), 200, "both cores");
        NS_TEST_EXPECT_MSG_EQ_TOL(Pieces(3), 100U, 4U, "half of the time goes into switches");
        NS_TEST_EXPECT_MSG_EQ_TOL(Pieces(128), 100U, 4U, "as with any number");
    }
};

ADD_CASE(ManyThreadsTest, "More busy threads than cores lose a switch per piece of work");

TEST_CASE(SimulationTestCase,
          UrgentTest,
          "Urgent work waits for urgent work only, and puts off the rest")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    for (int i = 0; i < 100; ++i)
    {
        cpu.Run(0, 10, this);
    }
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(5, 10, this, true), 15, "not behind the hundred");
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(5, 10, this, true), 25, "but behind the first");
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(5, 10, this), 1030, "behind all of it");
    NS_TEST_EXPECT_MSG_EQ(cpu.Busy(1030), 1030, "no work is lost or done twice");

    Cores two(TestLoop(), 2, 0);
    Cpu pair(two, 1);
    pair.Run(0, 100, this);
    NS_TEST_EXPECT_MSG_EQ(pair.Run(0, 10, &cpu, true), 10, "to the idle core");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(10, 20, this), 30, "so that nothing was put off");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(10, 70, this), 100, "until both are busy");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(10, 10, this), 110, "for as long,");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(10, 10, this), 110, "the other one, too");
}

TEST_CASE(SimulationTestCase,
          OneThingAtATimeTest,
          "A core spends no more CPU time than passes, whatever it puts off")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu relay(cores, 1);
    Cpu application(cores, 1);
    NS_TEST_EXPECT_MSG_EQ(relay.Run(0, 100, &relay), 100, "long work");
    NS_TEST_EXPECT_MSG_EQ(application.Run(10, 60, this, true), 70, "before it is done");
    NS_TEST_EXPECT_MSG_EQ(relay.Busy(50), 10, "it is put off");
    NS_TEST_EXPECT_MSG_EQ(application.Busy(50), 40, "meanwhile");
    NS_TEST_EXPECT_MSG_EQ(relay.Busy(100) + application.Busy(100), 100, "not 160");
    NS_TEST_EXPECT_MSG_EQ(relay.Busy(200), 100, "the rest later");
    NS_TEST_EXPECT_MSG_EQ(application.Busy(200), 60, "all");
}

TEST_CASE(SimulationTestCase,
          OneMachineTest,
          "Hosts of one machine share its cores, and each knows its part")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu client(cores, 1);
    Cpu server(cores, 1);
    NS_TEST_EXPECT_MSG_EQ(client.Run(0, 10, &client), 10, "the client's work first");
    NS_TEST_EXPECT_MSG_EQ(server.Run(0, 30, &server), 40, "the server waits for it");
    NS_TEST_EXPECT_MSG_EQ(client.Run(5, 10, &client), 50, "and the client for the server");
    NS_TEST_EXPECT_MSG_EQ(client.Busy(20), 10, "of the client's work one piece is done");
    NS_TEST_EXPECT_MSG_EQ(server.Busy(20), 10, "and a third of the server's");
    NS_TEST_EXPECT_MSG_EQ(client.Busy(45), 15, "half of the client's second piece");
    NS_TEST_EXPECT_MSG_EQ(client.Busy(60) + server.Busy(60), 50, "all of it");
}

class ThreadTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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
        Cores cores(TestLoop(), 2, 0);
        Cpu cpu(cores, 1);
        CpuThread thread(cpu);
        User user;
        for (int i = 0; i < 10; ++i)
        {
            thread.Submit(0, 10, user);
        }
        NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 10, this), 10, "the other core is free");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(10), 20, "both worked");
        RunUntil(SECOND);
        const std::vector<int64_t> expected{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
        NS_TEST_EXPECT_MSG_EQ((user.times == expected), true, "one after the other");
        NS_TEST_EXPECT_MSG_EQ(cpu.Busy(SECOND), 110, "all in all");
    }
};

ADD_CASE(ThreadTest, "A thread works piece by piece and leaves the other core to others");

class TwoThreadsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Submits as much work again until it has done three pieces.
    class Worker final : public CpuUser
    {
      public:
        Worker(Cpu& cpu, int64_t cost, std::vector<int64_t>& log)
            : m_cost(cost),
              m_log(log),
              m_thread(cpu)
        {
            m_thread.Submit(0, static_cast<double>(cost), *this);
            m_thread.Submit(0, static_cast<double>(cost), *this);
        }

        void OnComputed(int64_t now) override
        {
            m_log.push_back(1000 * now + m_cost);
            if (++m_done == 1)
            {
                m_thread.Submit(now, static_cast<double>(m_cost), *this);
            }
        }

      private:
        const int64_t m_cost;
        std::vector<int64_t>& m_log;
        int m_done{0};
        CpuThread m_thread;
    };

    void DoRun() override
    {
        Cores cores(TestLoop(), 2, 0);
        Cpu cpu(cores, 1);
        std::vector<int64_t> log; // time and whose work
        Worker slow(cpu, 15, log);
        Worker quick(cpu, 10, log);
        RunUntil(SECOND);
        const std::vector<int64_t> expected{10'010, 15'015, 20'010, 30'015, 30'010, 45'015};
        NS_TEST_EXPECT_MSG_EQ((log == expected), true, "none runs ahead of the other");
    }
};

ADD_CASE(TwoThreadsTest, "Ends of work of two threads come in order of time, then of rank");

TEST_CASE(SimulationTestCase,
          ChosenCoreTest,
          "Of two cores that are busy for as long, a thread takes its own, else the first")
{
    const char a{};
    const char b{};
    const char c{};
    Cores cores(TestLoop(), 2, 3);
    Cpu cpu(cores, 1);
    cpu.Run(0, 10, &a);
    cpu.Run(0, 10, &b);
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 5, &b), 15, "its own: no switch");
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(0, 5, &c), 18, "the one that is free first, with a switch");
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(15, 5, &b), 20, "its own at the moment at which it is free");
    NS_TEST_EXPECT_MSG_EQ(cpu.Run(18, 5, &a), 26, "that of c, with a switch");
    NS_TEST_EXPECT_MSG_EQ(cpu.Busy(26), 10 + 10 + 5 + 8 + 5 + 8, "switches count");

    // Urgent work goes where urgent work ends first, then where other work does.
    Cores two(TestLoop(), 2, 0);
    Cpu pair(two, 1);
    pair.Run(0, 100, &a);
    pair.Run(0, 50, &b);
    NS_TEST_EXPECT_MSG_EQ(pair.Run(0, 10, &c, true), 10, "both have no urgent work");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(0, 10, &c), 70, "it put off the shorter one");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(0, 10, &c, true), 10, "the other one has none yet");
    NS_TEST_EXPECT_MSG_EQ(pair.Run(0, 10, &a, true), 20, "now both have");
}

TEST_CASE(SimulationTestCase,
          SharedSwitchTest,
          "On a machine that hosts share, each pays for the switches to its threads")
{
    const char a{};
    const char b{};
    Cores cores(TestLoop(), 1, 4);
    Cpu one(cores, 1);
    Cpu other(cores, 2);
    NS_TEST_EXPECT_MSG_EQ(one.Run(0, 10, &a), 10, "the first");
    NS_TEST_EXPECT_MSG_EQ(other.Run(0, 10, &b), 19, "a switch, and 10 at twice the speed");
    NS_TEST_EXPECT_MSG_EQ(other.Run(12, 10, &b, true), 17, "it begins at once");
    NS_TEST_EXPECT_MSG_EQ(one.Busy(12), 10, "done");
    NS_TEST_EXPECT_MSG_EQ(other.Busy(17), 7, "2 before, and 5 urgent ones");
    NS_TEST_EXPECT_MSG_EQ(other.Busy(23), 13, "the rest goes on");
    NS_TEST_EXPECT_MSG_EQ(other.Busy(24), 14, "to its end");
    NS_TEST_EXPECT_MSG_EQ(other.Busy(SECOND), 14, "and no further");
}

TEST_CASE(SimulationTestCase,
          LoadTest,
          "Programs with cores of their own add to what a host's CPU has done")
{
    struct Load final : CpuLoad
    {
        int64_t Busy(int64_t now) const override
        {
            return now / 2;
        }
    } load;

    Cores cores(TestLoop(), 3, 0);
    Cpu cpu(cores, 1);
    cpu.AddLoad(load);
    cpu.AddLoad(load);
    cpu.Run(0, 10, &load);
    NS_TEST_EXPECT_MSG_EQ(cpu.Busy(8), 8 + 2 * 4, "work, and two loads");
    NS_TEST_EXPECT_MSG_EQ(cpu.Busy(100), 10 + 2 * 50, "work, and two loads");
    NS_TEST_EXPECT_MSG_EQ(cpu.Duration(10), 10, "at speed 1");
    NS_TEST_EXPECT_MSG_EQ(Cpu(cores, 0.5).Duration(10), 20, "at half of it");
}

TEST_CASE(ns3::TestCase,
          TcpMemoryTest,
          "Thresholds of TCP's memory are a half, two thirds and all of tcp_mem, as Linux sets "
          "them at boot")
{
    TcpMemory memory(600, 10);
    memory.AddSocket();
    memory.AddSocket();
    NS_TEST_EXPECT_MSG_EQ(memory.IsLimited(), true, "there is a limit");
    NS_TEST_EXPECT_MSG_EQ(memory.Reserve(), 10, "as told");
    NS_TEST_EXPECT_MSG_EQ(TcpMemory::GUARANTEED, 4'096, "tcp_wmem, the minimum");
    // tcp_should_expand_sndbuf(): below the first threshold alone.
    memory.Charge(299);
    NS_TEST_EXPECT_MSG_EQ(memory.LetsSendBuffersGrow(), true, "below");
    memory.Charge(1);
    NS_TEST_EXPECT_MSG_EQ(memory.LetsSendBuffersGrow(), false, "300 is no longer below");
    NS_TEST_EXPECT_MSG_EQ(memory.LetsWindowsGrow(), true, "no pressure");
    // __sk_mem_raise_allocated(): pressure above the second, until below the first.
    memory.Charge(100);
    NS_TEST_EXPECT_MSG_EQ(memory.IsUnderPressure(), false, "400 is not above");
    NS_TEST_EXPECT_MSG_EQ(memory.Suppresses(600), false, "without pressure nobody is");
    memory.Charge(1);
    NS_TEST_EXPECT_MSG_EQ(memory.IsUnderPressure(), true, "401 is");
    NS_TEST_EXPECT_MSG_EQ(memory.LetsWindowsGrow(), false, "pressure");
    NS_TEST_EXPECT_MSG_EQ(memory.Suppresses(299), false, "less than half of the limit");
    NS_TEST_EXPECT_MSG_EQ(memory.Suppresses(300), true, "one of two sockets holds its share");
    memory.Charge(-101);
    NS_TEST_EXPECT_MSG_EQ(memory.IsUnderPressure(), true, "300 is not below the first");
    NS_TEST_EXPECT_MSG_EQ(memory.LetsSendBuffersGrow(), false, "pressure");
    memory.Charge(-1);
    NS_TEST_EXPECT_MSG_EQ(memory.IsUnderPressure(), false, "299 is");
    NS_TEST_EXPECT_MSG_EQ(memory.LetsSendBuffersGrow(), true, "as before");
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 299, "in all");
    memory.Charge(300);
    NS_TEST_EXPECT_MSG_EQ(memory.Suppresses(0), false, "599");
    memory.Charge(1);
    NS_TEST_EXPECT_MSG_EQ(memory.Suppresses(0), true, "the limit: every socket");

    TcpMemory none(0, 10);
    none.AddSocket();
    none.Charge(INT64_MAX);
    NS_TEST_EXPECT_MSG_EQ(none.IsLimited(), false, "no limit");
    NS_TEST_EXPECT_MSG_EQ(none.IsUnderPressure(), false, "no pressure");
    NS_TEST_EXPECT_MSG_EQ(none.Suppresses(INT64_MAX), false, "nobody");
}

} // namespace
