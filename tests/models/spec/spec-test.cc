/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks specifications and their text: lists of members, round trips, what is refused and how.
 */
#include "event/time-units.h"
#include "spec/fields.h"
#include "spec/spec-text.h"
#include "support/specs.h"
#include "support/test-case.h"

#include <stdexcept>
#include <string>

using namespace tunnelcc;

namespace
{

TEST_SUITE("tunnelcc-spec");

struct Pair
{
    double first{0};
    std::string second;
};

static_assert(LISTS_ALL<Pair, double, std::string>);
static_assert(!LISTS_ALL<Pair, double>, "it lacks the last");
static_assert(!LISTS_ALL<Pair, std::string>, "it lacks the first");

TEST_CASE(ns3::TestCase, DescriptorTest, "Each member has a name, a unit and a meaning")
{
    const auto structs = ListSpecMembers();
    NS_TEST_EXPECT_MSG_GT(structs.size(), 60, "structs");
    for (const auto& [name, members] : structs)
    {
        for (const Descriptor& member : members)
        {
            const std::string key = name + "." + member.name;
            const bool isNumber =
                member.kind == ValueKind::COUNT || member.kind == ValueKind::NUMBER;
            NS_TEST_EXPECT_MSG_EQ(member.doc.empty(), false, key << " has no meaning");
            NS_TEST_EXPECT_MSG_EQ(member.unit.empty(), !isNumber, key << ": unit");
            NS_TEST_EXPECT_MSG_EQ(member.choices.empty(), (member.kind != ValueKind::CHOICE), key);
            NS_TEST_EXPECT_MSG_EQ(isNumber && member.minimum >= member.maximum, false, key);
        }
    }
    const Descriptor& rate = structs.at("LinkSpec").at(3);
    NS_TEST_EXPECT_MSG_EQ(rate.name, "rate", "in order");
    NS_TEST_EXPECT_MSG_EQ(rate.unit, "bit/s", "its unit");
    NS_TEST_EXPECT_MSG_EQ(rate.Has(0), true, "or 0");
    NS_TEST_EXPECT_MSG_EQ(rate.Has(0.5), false, "no other below its range");
    NS_TEST_EXPECT_MSG_EQ(structs.at("LinkSpec").at(5).name, "rate_period", "in snake_case");
}

/// A specification with an alternative of everything.
ExperimentSpec
MakeRichSpec()
{
    ExperimentSpec spec = MakeMuxSpec(3, MakeWindowedMux(100'000, 150'000));
    AddHop(spec, 7'000'000);
    spec.seed = UINT64_MAX;
    spec.flows[1].cc.parameters = {{"cwnd_gain", 0.1 + 0.2},
                                   {"b", -1e-300},
                                   {"count", 4},
                                   {"switch", true},
                                   {"choice", "None"}};
    Forward(spec).rateSteps = {{1, 1e6 / 3}};
    Forward(spec).queue =
        RedSpec{.minThreshold = 1, .maxThreshold = 2, .weight = 2e-3, .meanPacketTime = 1};
    Forward(spec).gilbertElliott = GilbertElliottSpec{0.002, 0.3, 0, 1};
    Forward(spec).policer = PolicerSpec{.rate = 1e6};
    Forward(spec).jitter = 5;
    Forward(spec).jitterDistribution = JitterDistribution::HALF_NORMAL;
    Forward(spec).jitterReorders = true;
    spec.tcp[0].receiveGrowth = ReceiveGrowth::CUSHION;
    RelayOf(spec).sent.client.layers = {FrameLayerSpec{.header = 18, .trailer = 16}, MakeTls()};
    return spec;
}

TEST_CASE(ns3::TestCase,
          RoundTripTest,
          "A specification that is written and read is the same to the last bit")
{
    for (const ExperimentSpec& spec : {MakePlainSpec(), MakeRichSpec()})
    {
        const std::string text = FormatSpec(spec);
        NS_TEST_EXPECT_MSG_EQ(FormatSpec(ParseSpec(text)), text, "both ways");
    }
    const ExperimentSpec read = ParseSpec(FormatSpec(MakeRichSpec()));
    NS_TEST_EXPECT_MSG_EQ((read.flows[1].cc.parameters == MakeRichSpec().flows[1].cc.parameters),
                          true,
                          "every bit");
    NS_TEST_EXPECT_MSG_EQ(read.seed, UINT64_MAX, "every integer");
}

class RefusalTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void Expect(const std::string& text, const std::string& complaint)
    {
        std::string message;
        try
        {
            ParseSpec(text);
        }
        catch (const std::invalid_argument& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(message.rfind(complaint, 0), 0, text << " gives: " << message);
    }

    void DoRun() override
    {
        Expect("", "specification: expected JSON");
        Expect(R"({"seed": 1)", "specification: expected JSON");
        Expect("[]", "specification: expected an object, got []");
        Expect(R"({"sed": 1})", "specification: expected one of the members hosts, links");
        Expect(R"({"seed": -1})", "seed: expected a whole number from 0 to 18446744073709551615");
        Expect(R"({"tcp": [{"mss": 4294967296}]})", "tcp.0.mss: expected a whole number from 0");
        Expect(R"({"tcp": [{"ecn": 1}]})", "tcp.0.ecn: expected true or false, got 1");
        Expect(R"({"tcp": [{"receive_growth": "x"}]})",
               "tcp.0.receive_growth: expected one of cushion, out-of-order, got \"x\"");
        Expect(R"({"links": [{"forward": {"queue": {"kind": "x"}}}]})",
               "links.0.forward.queue: expected an object whose kind is one of drop-tail, codel");
        Expect(R"({"flows": [{}, {"rate": "x"}]})", "flows.1.rate: expected a number, got \"x\"");
        Expect(R"({"duration": 1000, "probe_interval": 100000, "flows": [{}]})",
               "flows.0.route: expected a number below 0, got 0");
        ExperimentSpec spec = MakeRelaySpec(false);
        spec.routes[1].sent.server[0].link = 1;
        Expect(FormatSpec(spec), "routes.1.sent.server.0.link: expected a number below 1, got 1");
        spec = MakeRelaySpec(false);
        spec.flows[0].tunnel = 7;
        Expect(FormatSpec(spec), "flows.0.tunnel: expected a number below 1, got 7");
        spec = MakeRelaySpec(false);
        RelayOf(spec).hops.clear();
        Expect(FormatSpec(spec), "tunnels.0.hops: expected one at least");
        StreamTunnelSpec stream;
        stream.carrierTcp = spec.tcp[0];
        spec.tunnels[0] = stream;
        spec.flows.clear();
        Expect(FormatSpec(spec), "tunnels.0: expected a flow through it");
        // A relay and a tunnel of datagrams that go through each other.
        spec = MakeRelaySpec(false);
        DatagramTunnelSpec upper;
        upper.under = spec.flows[0];
        spec.tunnels.emplace_back(upper);
        Expect(FormatSpec(spec), "tunnels.1.under.datagrams: expected what a relay carries");
        upper.under->datagrams.emplace();
        spec.tunnels[1] = upper;
        RelayOf(spec).hops[0].under = 1;
        Expect(FormatSpec(spec), "tunnels.0.hops.0.under: expected a datagram tunnel");
        upper.under->tunnel = 1;
        spec.tunnels[1] = upper;
        RelayOf(spec).hops[0].under.reset();
        Expect(FormatSpec(spec), "tunnels.1.under: expected no circle");
    }
};

ADD_CASE(RefusalTest, "What does not fit is refused with its member's path");

class RangeTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void Expect(const ExperimentSpec& spec, const std::string& complaint)
    {
        ExpectText(FormatSpec(spec), complaint);
    }

    void ExpectText(const std::string& text, const std::string& complaint)
    {
        std::string message;
        try
        {
            ParseSpec(text);
        }
        catch (const std::invalid_argument& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(message.rfind(complaint, 0), 0, complaint << ", not: " << message);
    }

    template <class Change>
    void Refuses(Change&& change, const std::string& complaint)
    {
        ExperimentSpec spec = MakePlainSpec();
        change(spec);
        Expect(spec, complaint);
    }

    void DoRun() override
    {
        const std::string text = FormatSpec(MakePlainSpec());
        ParseSpec(text); // as it is, it is right
        Refuses([](auto& it) { it.hosts[0].cores = 0; },
                "hosts.0.cores: expected a whole number from 1 to 1024, got 0");
        Refuses([](auto& it) { it.hosts[1].speed = 0; }, "hosts.1.speed: expected a number from");
        Refuses([](auto& it) { it.probeInterval = 3; }, "probe_interval: expected a whole number");
        Refuses([](auto& it) { it.duration = 0; }, "duration: expected a whole number");
        Refuses([](auto& it) { it.duration = int64_t{1} << 62; }, "duration: expected a whole");
        Refuses([](auto& it) { it.warmup = it.duration; }, "warmup: expected less than duration");
        Refuses([](auto& it) { it.warmup = -1; }, "warmup: expected a whole number from 0");
        Refuses([](auto& it) { it.probeInterval = MS, it.duration = 100'000 * SECOND; },
                "probe_interval: expected at most 10000000 of it in duration");
        Refuses([](auto& it) { it.tcp[0].mss = 0; }, "tcp.0.mss: expected a whole number from 16");
        Refuses([](auto& it) { Forward(it).loss = 1.5; },
                "links.0.forward.loss: expected a number from 0 to 1, got 1.5");
        Refuses([](auto& it) { Reverse(it).rate = -1; },
                "links.0.reverse.rate: expected 0, or a number from 1 to 1e+12 bit/s, got -1");
        Refuses([](auto& it) { it.flows[0].extraDelay.server = int64_t{-1} << 60; },
                "flows.0.extra_delay.server: expected a whole number from -1e+15");
        Refuses([](auto& it) { it.flows[0].writeSize = 0; }, "flows.0.write_size: expected 1");
        Refuses([](auto& it) { Forward(it).lossSteps = {{2, 0.1}, {1, 0.1}}; },
                "links.0.forward.loss_steps.1.time: expected more than 2, got 1");
        Refuses([](auto& it) { Forward(it).ratePeriod = SECOND; },
                "links.0.forward.rate_period: expected the time of the last step");
        Refuses([](auto& it) { Forward(it).outages = {{5, 9}, {8, 10}}; },
                "links.0.forward.outages.1.begin: expected 9 at least");
        Refuses([](auto& it) { Forward(it).queue = CodelSpec{}; },
                "links.0.forward.queue.target: expected a whole number from 1000");
        for (const char* name : {"probe_interval", "duration"})
        {
            std::string without = text;
            const size_t begin = without.find("\"" + std::string(name) + "\"");
            without.erase(begin, without.find(',', begin) + 1 - begin);
            ExpectText(without, std::string(name) + ": expected a whole number");
        }
    }
};

ADD_CASE(RangeTest, "Numbers outside of their ranges are refused, missing ones too");

} // namespace
