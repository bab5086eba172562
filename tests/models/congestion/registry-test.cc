/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the registry of congestion controls: the list of algorithms and parameters, and what it
 * says of those that do not exist.
 */
#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"
#include "support/simulation-test-case.h"

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-registry");

/// The message of the std::invalid_argument that making an algorithm throws; empty: none.
std::string
GetRefusal(const std::string& name, const CongestionParameters& parameters)
{
    try
    {
        MakeCongestionControl(name, parameters, 1);
    }
    catch (const std::invalid_argument& error)
    {
        return error.what();
    }
    return {};
}

bool
Contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

class RegistryTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const auto algorithms = ListCongestionControls();
        std::set<std::string> names;
        for (const auto& algorithm : algorithms)
        {
            NS_TEST_EXPECT_MSG_EQ(names.insert(algorithm.name).second, true, "a name of its own");
            NS_TEST_EXPECT_MSG_EQ(HasCongestionControl(algorithm.name), true, algorithm.name);
            const auto parameters = GetCongestionParameters(algorithm.name);
            const std::set<std::string> fixed{"balia", "lia", "olia"}; // all is in their sources
            NS_TEST_EXPECT_MSG_EQ(parameters.empty(),
                                  fixed.contains(algorithm.name),
                                  algorithm.name);
            for (const auto& info : parameters)
            {
                CheckParameter(algorithm.name, info);
            }
        }
        for (const char* name : {"bbr", "bbr3", "cubic", "reno"})
        {
            NS_TEST_EXPECT_MSG_EQ(names.count(name), 1, name);
        }
        NS_TEST_EXPECT_MSG_EQ(HasCongestionControl("bbrr"), false, "no such algorithm");
        CheckMessages();
    }

    /// The message of the exception that making an algorithm with one value throws, in which the
    /// others without default have their least; empty: none.
    static std::string GetRefusalOf(const std::string& algorithm,
                                    const std::string& parameter,
                                    const ParameterValue& value)
    {
        CongestionParameters values{{parameter, value}};
        for (const auto& info : GetCongestionParameters(algorithm))
        {
            if (!info.defaultValue && info.name != parameter)
            {
                values.emplace(info.name, ValueOf(info, info.minimum));
            }
        }
        return GetRefusal(algorithm, values);
    }

    void CheckParameter(const std::string& algorithm, const CongestionParameterInfo& info)
    {
        const std::string name = algorithm + "." + info.name;
        NS_TEST_EXPECT_MSG_EQ(info.source.empty(), false, name + " has a source");
        NS_TEST_EXPECT_MSG_EQ(info.doc.empty(), false, name + " is described");
        if (!info.defaultValue)
        {
            const std::string missing = GetRefusal(algorithm, {});
            NS_TEST_EXPECT_MSG_EQ(Contains(missing, "'" + info.name + "' is missing"),
                                  true,
                                  missing);
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, *info.defaultValue),
                                  "",
                                  name + " accepts its default");
        }
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, std::nan("")).empty(),
                              false,
                              name + " has a value");
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, "fast").empty(),
                              false,
                              name + " is no name");
        const bool isSwitch = info.kind == ParameterKind::SWITCH;
        NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, true).empty(), isSwitch, name);
        if (!isSwitch)
        {
            CheckRange(algorithm, info);
        }
    }

    void CheckRange(const std::string& algorithm, const CongestionParameterInfo& info)
    {
        const std::string name = algorithm + "." + info.name;
        for (double end : {info.minimum, info.maximum})
        {
            NS_TEST_EXPECT_MSG_EQ(GetRefusalOf(algorithm, info.name, ValueOf(info, end)), "", name);
        }
        const std::string refusal =
            GetRefusalOf(algorithm, info.name, ValueOf(info, info.maximum * 2 + 1));
        NS_TEST_EXPECT_MSG_EQ(Contains(refusal, info.name), true, name + " names itself");
        const bool isCount = info.kind == ParameterKind::COUNT;
        const std::string fraction = GetRefusalOf(algorithm, info.name, info.minimum / 2 + 0.5);
        NS_TEST_EXPECT_MSG_EQ(Contains(fraction, "whole"), isCount, name + " is " + fraction);
    }

    /// A count or a number as the value of a parameter.
    static ParameterValue ValueOf(const CongestionParameterInfo& info, double number)
    {
        if (info.kind == ParameterKind::COUNT)
        {
            return static_cast<int64_t>(number);
        }
        return number;
    }

    void CheckMessages()
    {
        const std::string number = GetRefusal("cubic", {{"hystart", 1}});
        NS_TEST_EXPECT_MSG_EQ(Contains(number, "true or false"), true, number);
        NS_TEST_EXPECT_MSG_EQ(NeedsEcn("prague"), true, "L4S");
        NS_TEST_EXPECT_MSG_EQ(NeedsEcn("brutal"), false, "although it has no default rate");
        const std::string unknown = GetRefusal("bbrr", {});
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "bbrr"), true, unknown);
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "cubic"), true, unknown);
        NS_TEST_EXPECT_MSG_EQ(Contains(unknown, "ns3::TcpVegas"), true, unknown);
        const std::string parameter = GetRefusal("cubic", {{"betta", 0.7}});
        NS_TEST_EXPECT_MSG_EQ(Contains(parameter, "betta"), true, parameter);
        NS_TEST_EXPECT_MSG_EQ(Contains(parameter, "fast_convergence"), true, parameter);
    }
};

ADD_CASE(RegistryTest, "Every algorithm can be listed, described, set and made");

} // namespace
