/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-attributes.h"

#include "congestion/congestion-parameters.h"
#include "spec/refuse.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/integer.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/string.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

namespace tunnelcc
{

namespace
{

bool
FindTypeId(std::string_view name, ns3::TypeId& typeId)
{
    return ns3::TypeId::LookupByNameFailSafe(std::string(name), &typeId) &&
           typeId.IsChildOf(ns3::TcpCongestionOps::GetTypeId()) &&
           typeId != ns3::TcpCongestionOps::GetTypeId() && typeId.HasConstructor();
}

/// Least and greatest integers that a double holds exactly.
constexpr double MAX_EXACT = 9007199254740992.;

/// Longest time, s: as long as a run may be.
constexpr double MAX_TIME = 100'000;

/// Greatest number of 32 bits.
constexpr double MAX_UINT32 = 4294967295.;

/// Largest window, segments: of any size, they have fewer than 2^32 bytes.
constexpr double MAX_SEGMENTS = 65535;

/// A range that ns-3 does not check, beyond which it aborts, never returns, or does what C++ leaves
/// undefined, such as to take a number that is negative or too large for an unsigned one.
struct SafeRange
{
    std::string_view typeId;
    std::string_view attribute;
    double minimum;
    double maximum;
};

constexpr SafeRange SAFE_RANGES[] = {
    // SetPacingRate() and InFlight() take times of it for unsigned, EnterDrain() its inverse. Ours.
    {"ns3::TcpBbr", "HighGain", 1, 16},
    // GetSsThresh() takes the product with the window for 32 bits.
    {"ns3::TcpBic", "Beta", 0, 1},
    // Update() counts the ACKs of the Reno-friendly window down by 8 (1 + Beta) / (3 - 3 Beta)
    // eighths of cwnd, for ever if that is no segment, as it is below 0.5 with a window of one.
    {"ns3::TcpCubic", "Beta", 0.5, 0.99},
    // Update() divides by it, and takes its product with the cube of the time for 32 bits.
    {"ns3::TcpCubic", "C", 1e-6, 1000},
    // RecalcParam() divides by it in whole milliseconds, SlowStart() takes 2^(RTT / RRTT) segments.
    {"ns3::TcpHybla", "RRTT", 0.01, MAX_TIME},
    // CalculateAlpha() divides by AlphaMin, and where AlphaMax is none, 0 by 0; IncreaseWindow()
    // takes the product of alpha and what was acknowledged for 32 bits.
    {"ns3::TcpIllinois", "AlphaMin", 0.01, 1000},
    {"ns3::TcpIllinois", "AlphaMax", 0.01, 1000},
    {"ns3::TcpIllinois", "AlphaBase", 0, 1000},
    // GetSsThresh() takes this part off the window.
    {"ns3::TcpIllinois", "BetaMin", 0, 1},
    {"ns3::TcpIllinois", "BetaMax", 0, 1},
    {"ns3::TcpIllinois", "BetaBase", 0, 1},
    // AddDelay() looks at one sample fewer than so many.
    {"ns3::TcpLedbat", "BaseHistoryLen", 1, MAX_UINT32},
    // CurrentDelay() reads the first of so many samples.
    {"ns3::TcpLedbat", "NoiseFilterLen", 1, MAX_UINT32},
    // CongestionAvoidance() divides by the target in whole milliseconds and by the window, and
    // takes Gain times the milliseconds left times the bytes acknowledged for 32 bits.
    {"ns3::TcpLedbat", "TargetDelay", 0.001, 10},
    {"ns3::TcpLedbat", "Gain", 0, 10},
    {"ns3::TcpLedbat", "MinCwnd", 1, MAX_SEGMENTS},
    // IncreaseWindow() divides by it.
    {"ns3::TcpScalable", "AIFactor", 1, MAX_UINT32},
    // GetSsThresh() takes this part off the window, and asserts what is left.
    {"ns3::TcpScalable", "MDFactor", 0, 1},
    // IncreaseWindow() would take the last segment off the window, and then divide by what is left.
    {"ns3::TcpVegas", "Beta", 1, MAX_UINT32},
    // IncreaseWindow() divides by them, TcpScalable's by the last.
    {"ns3::TcpYeah", "Gamma", 1, MAX_UINT32},
    {"ns3::TcpYeah", "Phy", 1, MAX_UINT32},
    {"ns3::TcpYeah", "StcpAiFactor", 1, MAX_UINT32},
    // GetSsThresh() and IncreaseWindow() shift 32 bits by as many.
    {"ns3::TcpYeah", "Delta", 0, 31},
    {"ns3::TcpYeah", "Epsilon", 0, 31},
};

/// Name of the attribute that selects a random stream.
constexpr std::string_view STREAM_ATTRIBUTE = "Stream";

/// What an attribute's value is, by its class in ns-3.
enum class AttributeKind
{
    OTHER,
    BOOLEAN,
    INTEGER,
    UNSIGNED,
    REAL,
    TIME,
    ENUMERATION
};

AttributeKind
GetKind(const ns3::TypeId::AttributeInformation& attribute)
{
    const std::string type = attribute.checker->GetValueTypeName();
    if (type == "ns3::BooleanValue")
    {
        return AttributeKind::BOOLEAN;
    }
    if (type == "ns3::IntegerValue")
    {
        return AttributeKind::INTEGER;
    }
    if (type == "ns3::UintegerValue")
    {
        return AttributeKind::UNSIGNED;
    }
    if (type == "ns3::DoubleValue")
    {
        return AttributeKind::REAL;
    }
    if (type.rfind("ns3::EnumValue<", 0) == 0)
    {
        return AttributeKind::ENUMERATION;
    }
    return type == "ns3::TimeValue" ? AttributeKind::TIME : AttributeKind::OTHER;
}

ParameterKind
GetParameterKind(AttributeKind kind)
{
    switch (kind)
    {
    case AttributeKind::BOOLEAN:
        return ParameterKind::SWITCH;
    case AttributeKind::INTEGER:
    case AttributeKind::UNSIGNED:
        return ParameterKind::COUNT;
    case AttributeKind::ENUMERATION:
        return ParameterKind::CHOICE;
    default:
        return ParameterKind::NUMBER;
    }
}

/// Names of an enumeration's values, in alphabetical order: ns-3 begins with the default.
std::vector<std::string>
GetChoices(const ns3::AttributeChecker& checker)
{
    std::vector<std::string> names;
    std::istringstream text(checker.GetUnderlyingTypeInformation());
    for (std::string name; std::getline(text, name, '|');)
    {
        names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// A parameter's value as that of an attribute. \pre CheckParameter() accepted it
ns3::Ptr<ns3::AttributeValue>
ToAttribute(AttributeKind kind, const ParameterValue& value)
{
    switch (kind)
    {
    case AttributeKind::ENUMERATION:
        return ns3::Create<ns3::StringValue>(std::get<std::string>(value));
    case AttributeKind::BOOLEAN:
        return ns3::Create<ns3::BooleanValue>(std::get<bool>(value));
    case AttributeKind::INTEGER:
        return ns3::Create<ns3::IntegerValue>(std::get<int64_t>(value));
    case AttributeKind::UNSIGNED:
        return ns3::Create<ns3::UintegerValue>(static_cast<uint64_t>(std::get<int64_t>(value)));
    case AttributeKind::TIME:
        return ns3::Create<ns3::TimeValue>(ns3::Seconds(ToDouble(value)));
    default:
        return ns3::Create<ns3::DoubleValue>(ToDouble(value));
    }
}

ParameterValue
GetDefault(const ns3::TypeId::AttributeInformation& attribute, AttributeKind kind)
{
    const ns3::AttributeValue& value = *attribute.initialValue;
    switch (kind)
    {
    case AttributeKind::ENUMERATION:
        return value.SerializeToString(attribute.checker);
    case AttributeKind::BOOLEAN:
        return dynamic_cast<const ns3::BooleanValue&>(value).Get();
    case AttributeKind::INTEGER:
        return dynamic_cast<const ns3::IntegerValue&>(value).Get();
    case AttributeKind::UNSIGNED:
        return static_cast<int64_t>(dynamic_cast<const ns3::UintegerValue&>(value).Get());
    case AttributeKind::TIME:
        return dynamic_cast<const ns3::TimeValue&>(value).Get().GetSeconds();
    default:
        return dynamic_cast<const ns3::DoubleValue&>(value).Get();
    }
}

/// What ns-3 checks, such as "uint32_t 0:4294967295".
std::pair<double, double>
GetCheckedRange(const ns3::AttributeChecker& checker)
{
    const std::string text = checker.GetUnderlyingTypeInformation();
    const std::size_t begin = text.find(' ') + 1;
    const std::size_t colon = text.find(':', begin);
    return {std::max(std::stod(text.substr(begin)), -MAX_EXACT),
            std::min(std::stod(text.substr(colon + 1)), MAX_EXACT)};
}

std::pair<double, double>
GetRange(std::string_view typeId,
         const ns3::TypeId::AttributeInformation& attribute,
         AttributeKind kind)
{
    for (const SafeRange& range : SAFE_RANGES)
    {
        if (range.typeId == typeId && range.attribute == attribute.name)
        {
            return {range.minimum, range.maximum};
        }
    }
    return kind == AttributeKind::TIME ? std::pair{0., MAX_TIME}
                                       : GetCheckedRange(*attribute.checker);
}

CongestionParameterInfo
Describe(std::string_view typeId,
         const ns3::TypeId::AttributeInformation& attribute,
         AttributeKind kind)
{
    CongestionParameterInfo info;
    info.name = attribute.name;
    info.kind = GetParameterKind(kind);
    info.defaultValue = GetDefault(attribute, kind);
    info.unit = kind == AttributeKind::TIME ? "s" : "";
    if (info.kind == ParameterKind::CHOICE)
    {
        info.choices = GetChoices(*attribute.checker);
    }
    else if (info.kind != ParameterKind::SWITCH)
    {
        std::tie(info.minimum, info.maximum) = GetRange(typeId, attribute, kind);
    }
    info.doc = attribute.help;
    info.source = "ns-3.44";
    return info;
}

/// Visit the attributes of a TypeId and of those it derives from that can be parameters.
template <typename F>
void
ForEachParameter(ns3::TypeId typeId, F visit)
{
    for (;; typeId = typeId.GetParent())
    {
        for (std::size_t i = 0; i < typeId.GetAttributeN(); ++i)
        {
            const auto attribute = typeId.GetAttribute(i);
            const AttributeKind kind = GetKind(attribute);
            if (kind != AttributeKind::OTHER &&
                attribute.supportLevel == ns3::TypeId::SupportLevel::SUPPORTED)
            {
                visit(attribute, kind);
            }
        }
        if (typeId == ns3::TcpCongestionOps::GetTypeId() || !typeId.HasParent())
        {
            return;
        }
    }
}

void
SetParameter(ns3::Ptr<ns3::TcpCongestionOps> ops,
             std::string_view typeId,
             const std::string& name,
             const ParameterValue& value)
{
    bool found = false;
    ForEachParameter(ops->GetInstanceTypeId(), [&](const auto& attribute, AttributeKind kind) {
        if (found || attribute.name != name)
        {
            return;
        }
        found = true;
        CheckParameter(typeId, Describe(typeId, attribute, kind), value);
        const auto converted = ToAttribute(kind, value);
        if (!ops->SetAttributeFailSafe(name, *converted))
        {
            Refuse(std::string(typeId) + ": parameter '" + name +
                   "' = " + converted->SerializeToString(attribute.checker) +
                   " is refused by ns-3 (" + attribute.help + ")");
        }
    });
    if (!found)
    {
        Refuse(DescribeUnknownParameter(typeId, name, DescribeNs3Attributes(typeId)));
    }
}

void
SetStream(ns3::Ptr<ns3::TcpCongestionOps> ops, int64_t stream)
{
    const auto bits = static_cast<uint64_t>(stream);
    const auto folded = static_cast<uint32_t>(bits ^ (bits >> 32));
    ops->SetAttributeFailSafe(std::string(STREAM_ATTRIBUTE), ns3::UintegerValue(folded));
}

} // namespace

bool
HasNs3CongestionOps(std::string_view name)
{
    ns3::TypeId typeId;
    return FindTypeId(name, typeId);
}

std::vector<std::string>
ListNs3CongestionOps()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        const std::string name = ns3::TypeId::GetRegistered(i).GetName();
        if (HasNs3CongestionOps(name))
        {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool
Ns3NeedsEcn(std::string_view typeId)
{
    ns3::TypeId found;
    return FindTypeId(typeId, found) &&
           (found == ns3::TcpDctcp::GetTypeId() || found.IsChildOf(ns3::TcpDctcp::GetTypeId()));
}

std::vector<CongestionParameterInfo>
DescribeNs3Attributes(std::string_view typeId)
{
    ns3::TypeId found;
    std::vector<CongestionParameterInfo> infos;
    if (FindTypeId(typeId, found))
    {
        ForEachParameter(found, [&](const auto& attribute, AttributeKind kind) {
            infos.push_back(Describe(typeId, attribute, kind));
        });
    }
    return infos;
}

ns3::Ptr<ns3::TcpCongestionOps>
MakeNs3CongestionOps(std::string_view typeId,
                     const CongestionParameters& parameters,
                     int64_t stream)
{
    ns3::TypeId found;
    if (!FindTypeId(typeId, found))
    {
        Refuse("'" + std::string(typeId) + "' is no ns-3 congestion control");
    }
    ns3::ObjectFactory factory;
    factory.SetTypeId(found);
    auto ops = factory.Create<ns3::TcpCongestionOps>();
    SetStream(ops, stream);
    for (const auto& [name, value] : parameters)
    {
        SetParameter(ops, typeId, name, value);
    }
    return ops;
}

} // namespace tunnelcc
