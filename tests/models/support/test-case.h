/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TEST_CASE_H
#define TUNNELCC_TEST_CASE_H

#include "ns3/test.h"

/**
 * \file
 * Suites and their cases. A suite registers itself when the program starts, and then the cases that
 * follow it in its file.
 */

// The files of a room are one unit: what has no name gets a number.
#define TUNNELCC_JOIN_NOW(a, b) a##b
#define TUNNELCC_JOIN(a, b) TUNNELCC_JOIN_NOW(a, b)
#define TUNNELCC_ADD_CASES(function)                                                               \
    void function();                                                                               \
    [[maybe_unused]] const bool TUNNELCC_JOIN(function, _ADDED) = (function(), true);              \
    void function()

/// The suite of a file. \param name of its test in CTest
#define TEST_SUITE(name) ::tunnelcc::Suite TUNNELCC_JOIN(g_suite, __COUNTER__)(name)

#define TUNNELCC_NEW_CASE(Fixture, Name, says)                                                     \
    class Name final : public Fixture                                                              \
    {                                                                                              \
      public:                                                                                      \
        Name()                                                                                     \
            : Fixture(says)                                                                        \
        {                                                                                          \
        }

/// A test case; the body of its DoRun() follows. \param Fixture the class that it derives from
/// \param says what it shows, in words
#define TEST_CASE(Fixture, Name, says)                                                             \
    TUNNELCC_NEW_CASE(Fixture, Name, says)                                                         \
  private:                                                                                         \
    void DoRun() override;                                                                         \
    }                                                                                              \
    ;                                                                                              \
    [[maybe_unused]] const bool Name##_ADDED = ::tunnelcc::AddCase(new Name);                      \
    void Name::DoRun()

/// Adds a test case that is a class with more members, and inherits its constructors.
/// \param says as for TEST_CASE()
#define ADD_CASE(Class, says)                                                                      \
    TUNNELCC_NEW_CASE(Class, Class##Case, says)                                                    \
    }                                                                                              \
    ;                                                                                              \
    [[maybe_unused]] const bool Class##_ADDED = ::tunnelcc::AddCase(new Class##Case)

/// Adds test cases with parameters: a body that calls AddCase() follows.
#define ADD_CASES TUNNELCC_ADD_CASES(TUNNELCC_JOIN(AddCases, __COUNTER__))

namespace tunnelcc
{

/// See TEST_SUITE().
class Suite final : public ns3::TestSuite
{
  public:
    explicit Suite(const char* name)
        : TestSuite(name, Type::UNIT)
    {
        s_latest = this;
    }

    /// Add a case to the latest suite.
    static void AddToLatest(ns3::TestCase* testCase)
    {
        s_latest->AddTestCase(testCase, Duration::QUICK);
    }

  private:
    static inline Suite* s_latest{nullptr};
};

/// Add a case to the suite of the file, which then owns it. \returns true
inline bool
AddCase(ns3::TestCase* testCase)
{
    Suite::AddToLatest(testCase);
    return true;
}

} // namespace tunnelcc

#endif // TUNNELCC_TEST_CASE_H
