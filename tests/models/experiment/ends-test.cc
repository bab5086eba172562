/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Ends of connections, and names of legs.
 */
#include "experiment/leg.h"
#include "support/simulation-test-case.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-experiment-ends");

TEST_CASE(ns3::TestCase,
          PerEndTest,
          "What there is per end is made in the order asked for, and found by end")
{
    for (const End first : ENDS)
    {
        std::vector<End> order;
        const auto made = MakePerEnd(first, [&](End end) {
            order.push_back(end);
            return end;
        });
        NS_TEST_EXPECT_MSG_EQ((order == std::vector{first, Other(first)}), true, "order");
        for (const End end : ENDS)
        {
            NS_TEST_EXPECT_MSG_EQ((made[end] == end), true, "each in its place");
        }
    }
}

class LegNameTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static std::string NameOf(LegRole role, std::optional<uint32_t> hop)
    {
        return Leg{role, hop, "cubic", {}}.Name();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::APP, 0), "app", "across the path");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::APP, std::nullopt), "app", "on a loopback");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::TARGET, std::nullopt), "target", "the last");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::CARRIER, 0), "carrier", "the first hop");
        NS_TEST_EXPECT_MSG_EQ(NameOf(LegRole::CARRIER, 2), "carrier3", "the third");
    }
};

ADD_CASE(LegNameTest, "A leg is called after its role, and a carrier after its hop, too");

} // namespace
