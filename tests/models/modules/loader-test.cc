/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks congestion controls that come as compiled files: what they say of themselves, what they
 * do, and what a process says that dies of one. The files are those of `files/`.
 */
#include "congestion/congestion-control.h"
#include "event/time-units.h"
#include "modules/last-words.h"
#include "modules/module-image.h"
#include "modules/module-loader.h"
#include "support/test-case.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-modules-loader");

// What the compiled files are called, in place of their hashes (waf-config/Development.cmake).
const std::string OWN = "00000000000000000000000000000001";          // own.cc
const std::string LINUX_MODULE = "00000000000000000000000000000002"; // tcp_own.c

/// A connection of a file.
struct Connection
{
    Connection(ModuleLoader& loader, const std::string& code, const CongestionParameters& values)
        : control(loader.Make(code == OWN ? "own.file" : "tcp_own.file", code, values, 1))
    {
        state.minRtt = state.srtt = 20 * MS;
        control->Init(state, SECOND);
    }

    /// An ACK of a segment comes, and the window may grow.
    void Ack()
    {
        AckEvent event;
        event.now = 2 * SECOND;
        event.ackedSacked = event.cumAcked = 1;
        event.rtt = 20 * MS;
        control->OnAck(state, event, true);
    }

    SenderState state;
    std::unique_ptr<CongestionControl> control;
};

class ModuleTestCase : public ns3::TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    void DoSetup() override
    {
        SetModuleFolder(TUNNELCC_TEST_MODULES);
    }

    /// The message of the exception that a connection throws; empty: none.
    static std::string GetError(const std::string& code, const CongestionParameters& values)
    {
        try
        {
            ModuleLoader loader;
            Connection(loader, code, values).Ack();
        }
        catch (const std::exception& error)
        {
            return error.what();
        }
        return {};
    }

    void ExpectPart(const std::string& text, const std::string& part)
    {
        NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, text + " has " + part);
    }
};

TEST_CASE(ModuleTestCase, DescriptionTest, "A file says what it is called, and its parameters")
{
    for (const std::string& code : {OWN, LINUX_MODULE})
    {
        const ModuleInfo info = DescribeModule(code, code);
        NS_TEST_EXPECT_MSG_EQ(info.name, (code == OWN ? "Own" : "own"), code);
        NS_TEST_EXPECT_MSG_EQ(info.needsEcn, false, code);
        NS_TEST_ASSERT_MSG_EQ(info.parameters.size(), 2, code);
        const bool isFirst = info.parameters[0].name == "step"; // the linker orders a module's
        ExpectPart(info.parameters[isFirst ? 0 : 1].doc, "segments more each ");
    }
}

TEST_CASE(ModuleTestCase, WindowTest, "Files set the window, and parameters reach them")
{
    ModuleLoader loader;
    Connection first(loader, OWN, {{"step", 20.0}});
    first.Ack();
    NS_TEST_EXPECT_MSG_EQ(first.state.cwnd, 13, "10 + 20/10 + the object");
    Connection module(loader, LINUX_MODULE, {{"step", int64_t{4}}});
    module.Ack();
    module.Ack();
    NS_TEST_EXPECT_MSG_EQ(module.state.cwnd, 22, "10 + 4 × 1 + 4 × 2");
}

TEST_CASE(ModuleTestCase, VariablesTest, "Each loader has variables of its own")
{
    ModuleLoader loader;
    Connection one(loader, OWN, {});
    Connection two(loader, OWN, {});
    two.Ack();
    NS_TEST_EXPECT_MSG_EQ(two.state.cwnd, 12, "two objects");
    ModuleLoader other;
    Connection alone(other, OWN, {});
    alone.Ack();
    NS_TEST_EXPECT_MSG_EQ(alone.state.cwnd, 11, "one object");
}

TEST_CASE(ModuleTestCase, ErrorsTest, "What a file does wrong within a call is an exception")
{
    ExpectPart(GetError(OWN, {{"fails", int64_t{1}}}), "own.file: it threw an exception: of mine");
    ExpectPart(GetError(OWN, {{"fails", int64_t{2}}}), "OnAck() set a congestion window of nan");
    ExpectPart(GetError(OWN, {{"stp", 2.0}}), "step");
    ExpectPart(GetError(OWN, {{"step", 1000.0}}), "step");
    ExpectPart(GetError(LINUX_MODULE, {{"fails", int64_t{1}}}),
               "a congestion window of 0 segments");
    ExpectPart(GetError(LINUX_MODULE, {{"fails", int64_t{9}}}), "module_init() returned -22");
    ExpectPart(GetError(std::string(32, 'f'), {}), "its compiled file is not in");
    ExpectPart(GetError("../own", {}), "its code is not the hash of a file");
}

/// A process dies of a call.
class EndTest : public ModuleTestCase
{
  public:
    EndTest(const std::string& code, int64_t fails, const std::string& expected)
        : ModuleTestCase("A process that dies of " + code + " says: " + expected),
          m_code(code),
          m_fails(fails),
          m_expected(expected)
    {
    }

  private:
    void DoRun() override
    {
        std::FILE* words = std::tmpfile();
        NS_TEST_ASSERT_MSG_NE(words, nullptr, "a file");
        const pid_t child = fork();
        if (child == 0)
        {
            LeaveLastWords(fileno(words));
            GetError(m_code, {{"fails", m_fails}});
            _exit(EXIT_SUCCESS); // it lives
        }
        int status = 0;
        waitpid(child, &status, 0);
        std::array<char, 1024> text{};
        std::rewind(words);
        const size_t length = std::fread(text.data(), 1, text.size() - 1, words);
        std::fclose(words);
        NS_TEST_EXPECT_MSG_EQ(std::string(text.data(), length).substr(0, m_expected.size()),
                              m_expected,
                              "the words");
        NS_TEST_EXPECT_MSG_NE(status, 0, "it failed");
    }

    std::string m_code;
    int64_t m_fails;
    std::string m_expected;
};

ADD_CASES
{
    AddCase(new EndTest(OWN, 3, "own.file: access outside of its memory [" + OWN + "+0x"));
    AddCase(new EndTest(OWN, 4, "own.file: division by zero [" + OWN + "+0x"));
    AddCase(new EndTest(OWN, 5, "own.file: it ended the process (exit)"));
    AddCase(new EndTest(OWN,
                        6,
                        "own.file: a call did not return within 1 s: it loops [" + OWN + "+0x"));
    AddCase(new EndTest(OWN, 7, "")); // abort(): the status tells
    AddCase(new EndTest(LINUX_MODULE,
                        2,
                        "tcp_own.file: access outside of its memory [" + LINUX_MODULE + "+0x"));
    AddCase(new EndTest(LINUX_MODULE,
                        3,
                        "tcp_own.file: access outside of its memory [" + LINUX_MODULE + "+0x"));
    AddCase(new EndTest(LINUX_MODULE,
                        4,
                        "tcp_own.file: it stopped itself (BUG) [" + LINUX_MODULE + "+0x"));
}

} // namespace
