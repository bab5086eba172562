/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIELDS_JSON_H
#define TUNNELCC_FIELDS_JSON_H

#include "fields.h"
#include "refuse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// What the library for JSON would throw.
#define JSON_THROW_USER(error)                                                                     \
    ::tunnelcc::Refuse("specification: expected JSON, " + std::string((error).what()))
#include <nlohmann/json.hpp>

/**
 * \file
 * Structs with TUNNELCC_FIELDS() as JSON and back. A struct becomes an object, an enumeration the
 * name of its value, an alternative of a variant an object with its `kind`, an empty optional null.
 * Numbers keep every bit. Members that are not given keep their values; unknown ones are errors.
 */
namespace tunnelcc
{

using Json = nlohmann::json;
using ParameterValue = std::variant<bool, int64_t, double, std::string>;
using Parameters = std::map<std::string, ParameterValue>;

template <HasFields T>
Json ToJson(const T& object);
template <class T>
Json ToJson(const std::vector<T>& list);
template <class... T>
Json ToJson(const std::variant<T...>& alternatives);
template <class T>
Json ToJson(const std::optional<T>& value);

// What does not depend on the type stands in functions of its own, not inline: there are a hundred
// types, and compilers take as long for each.
[[gnu::noinline]] inline void
PutMember(Json& object, const std::string& name, Json member)
{
    object[name] = std::move(member);
}

inline Json
ToJson(const std::string& text)
{
    return text;
}

inline Json
ToJson(const Parameters& parameters)
{
    Json json = Json::object();
    for (const auto& [name, value] : parameters)
    {
        json[name] = std::visit([](const auto& it) { return Json(it); }, value);
    }
    return json;
}

template <class T>
    requires std::is_arithmetic_v<T>
Json
ToJson(T number)
{
    return number;
}

template <class T>
    requires std::is_enum_v<T>
Json
ToJson(T value)
{
    return ENUM_NAMES<T>.at(static_cast<size_t>(value));
}

template <HasFields T>
Json
ToJson(const T& object)
{
    Json json = Json::object();
    if constexpr (HasKind<T>)
    {
        json["kind"] = T::KIND;
    }
    VisitFields(object, [&](const std::string& name, const auto& member) {
        PutMember(json, name, ToJson(member));
    });
    return json;
}

template <class T>
Json
ToJson(const std::vector<T>& list)
{
    Json json = Json::array();
    for (const T& item : list)
    {
        json.push_back(ToJson(item));
    }
    return json;
}

template <class... T>
Json
ToJson(const std::variant<T...>& alternatives)
{
    return std::visit([](const auto& object) { return ToJson(object); }, alternatives);
}

template <class T>
Json
ToJson(const std::optional<T>& value)
{
    return value ? ToJson(*value) : Json();
}

/// Refuse a value of the wrong kind. \param where the path of its key
[[noreturn]] inline void
RefuseJson(const Json& json, const std::string& where, const std::string& expected)
{
    constexpr size_t LONGEST = 60;
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    text = text.size() > LONGEST ? text.substr(0, LONGEST) + "…" : text;
    Refuse((where.empty() ? "specification" : where) + ": expected " + expected + ", got " + text);
}

/// The range of numbers of a type that list none: times up to 11 days in ns, rates up to 1 Pbit/s,
/// sizes and counts up to a half of what their type holds.
template <class T>
constexpr FieldRange
DefaultRange()
{
    constexpr bool IS_TIME_OR_RATE = std::is_same_v<T, double> || std::is_same_v<T, int64_t>;
    constexpr T MOST = std::numeric_limits<T>::max();
    return {"", 0, IS_TIME_OR_RATE ? 1e15 : static_cast<double>(sizeof(T) < 4 ? MOST : MOST / 2)};
}

/// Say what a number has to be.
[[gnu::noinline]] inline std::string
TextOf(const FieldRange& range, bool isFraction)
{
    std::ostringstream text;
    text.precision(12);
    text << (range.orZero ? "0, or " : "") << (isFraction ? "a number" : "a whole number")
         << " from " << range.least << " to " << range.most;
    return text.str();
}

/// Refuse a number outside of its range.
[[gnu::noinline]] inline void
CheckRange(const Json& json,
           const std::string& where,
           double value,
           const FieldRange& range,
           bool isFraction)
{
    if (!range.Has(value))
    {
        RefuseJson(json, where, TextOf(range, isFraction));
    }
}

/// Refuse an unknown name.
template <class Names>
[[noreturn]] void
RefuseName(const Json& json, const std::string& where, std::string before, const Names& names)
{
    for (size_t i = 0; i < names.size(); ++i)
    {
        before += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    RefuseJson(json, where, before);
}

/// Check that JSON is an object without unknown members. \param hasKind its kind is no member
[[gnu::noinline]] inline void
CheckMembers(const Json& json,
             const std::string& where,
             const std::vector<std::string>& names,
             bool hasKind)
{
    if (!json.is_object())
    {
        RefuseJson(json, where, "an object");
    }
    for (const auto& [name, value] : json.items())
    {
        const bool isKnown = std::find(names.begin(), names.end(), name) != names.end();
        if (!isKnown && !(hasKind && name == "kind"))
        {
            RefuseName(name, where, "one of the members ", names);
        }
    }
}

/// The member of an object; null: it is not given.
[[gnu::noinline]] inline const Json*
FindMember(const Json& object, const std::string& name)
{
    const auto found = object.find(name);
    return found != object.end() ? &*found : nullptr;
}

/// The place of a name in a list; the list's size: it is not there.
[[gnu::noinline]] inline size_t
FindName(const Json& json, const std::string_view* names, size_t count)
{
    const std::string name = json.is_string() ? json.get<std::string>() : "";
    return static_cast<size_t>(std::find(names, names + count, name) - names);
}

[[gnu::noinline]] inline std::string
KeyOf(const std::string& where, const std::string& name)
{
    return where.empty() ? name : where + "." + name;
}

template <HasFields T>
void FromJson(const Json& json, const std::string& where, T& object, const FieldRange* range);
template <class T>
void FromJson(const Json& json,
              const std::string& where,
              std::vector<T>& list,
              const FieldRange* range);
template <class... T>
void FromJson(const Json& json,
              const std::string& where,
              std::variant<T...>& alternatives,
              const FieldRange* range);
template <class T>
void FromJson(const Json& json,
              const std::string& where,
              std::optional<T>& value,
              const FieldRange* range);

inline void
FromJson(const Json& json,
         const std::string& where,
         std::string& text,
         const FieldRange* /* range */)
{
    if (!json.is_string())
    {
        RefuseJson(json, where, "text");
    }
    text = json.get<std::string>();
}

template <class T>
    requires std::is_arithmetic_v<T>
void
FromJson(const Json& json, const std::string& where, T& number, const FieldRange* range)
{
    if constexpr (std::is_same_v<T, bool>)
    {
        if (!json.is_boolean())
        {
            RefuseJson(json, where, "true or false");
        }
    }
    else if constexpr (std::is_floating_point_v<T>)
    {
        if (!json.is_number())
        {
            RefuseJson(json, where, "a number");
        }
    }
    else
    {
        bool fits = json.is_number_unsigned()
                        ? std::in_range<T>(json.get<uint64_t>())
                        : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
        if (!fits)
        {
            RefuseJson(json,
                       where,
                       "a whole number from " + std::to_string(std::numeric_limits<T>::min()) +
                           " to " + std::to_string(std::numeric_limits<T>::max()));
        }
    }
    number = json.get<T>();
    if constexpr (!std::is_same_v<T, bool>)
    {
        CheckRange(json,
                   where,
                   static_cast<double>(number),
                   range ? *range : DefaultRange<T>(),
                   std::is_floating_point_v<T>);
    }
}

template <class T>
    requires std::is_enum_v<T>
void
FromJson(const Json& json, const std::string& where, T& value, const FieldRange* /* range */)
{
    const auto& names = ENUM_NAMES<T>;
    const size_t place = FindName(json, names.data(), names.size());
    if (place == names.size())
    {
        RefuseName(json, where, "one of ", names);
    }
    value = static_cast<T>(place);
}

/// A parameter's value, by its type in JSON.
inline ParameterValue
ToParameter(const Json& json, const std::string& where)
{
    if (json.is_boolean())
    {
        return json.get<bool>();
    }
    if (json.is_string())
    {
        return json.get<std::string>();
    }
    if (!json.is_number())
    {
        RefuseJson(json, where, "a number, true, false or a name");
    }
    if (json.is_number_integer())
    {
        static constexpr FieldRange ANY{"", -0x1p63, 0x1p63};
        int64_t whole{0};
        FromJson(json, where, whole, &ANY);
        return whole;
    }
    return json.get<double>();
}

inline void
FromJson(const Json& json,
         const std::string& where,
         Parameters& parameters,
         const FieldRange* /* range */)
{
    if (!json.is_object())
    {
        RefuseJson(json, where, "an object of numbers, switches and names");
    }
    parameters.clear();
    for (const auto& [name, value] : json.items())
    {
        parameters[name] = ToParameter(value, where + "." + name);
    }
}

/// Refuse a struct without a number that has to be given.
template <class T>
void
CheckMissing(const std::string& where, T& member, const FieldRange* range)
{
    if constexpr (HasFields<T>)
    {
        FromJson(Json::object(), where, member, range);
    }
    else if constexpr (std::is_arithmetic_v<T>)
    {
        if (range && member == T{} && !range->Has(0))
        {
            Refuse(where + ": expected " + TextOf(*range, std::is_floating_point_v<T>) +
                   ", got nothing");
        }
    }
}

template <HasFields T>
void
FromJson(const Json& json, const std::string& where, T& object, const FieldRange* range)
{
    CheckMembers(json, where, FieldNames<T>(), HasKind<T>);
    // What is given is told first.
    for (const bool isGiven : {true, false})
    {
        auto own = FieldRanges<T>().begin();
        VisitFields(object, [&](const std::string& name, auto& member) {
            const FieldRange* listed = *own++;
            listed = listed ? listed : range;
            const Json* given = FindMember(json, name);
            if (given && isGiven)
            {
                FromJson(*given, KeyOf(where, name), member, listed);
            }
            else if (!given && !isGiven)
            {
                CheckMissing(KeyOf(where, name), member, listed);
            }
        });
    }
}

template <class T>
void
FromJson(const Json& json, const std::string& where, std::vector<T>& list, const FieldRange* range)
{
    if (!json.is_array())
    {
        RefuseJson(json, where, "a list");
    }
    list.assign(json.size(), T{});
    for (size_t i = 0; i < list.size(); ++i)
    {
        FromJson(json[i], where + "." + std::to_string(i), list[i], range);
    }
}

template <class... T>
void
FromJson(const Json& json,
         const std::string& where,
         std::variant<T...>& alternatives,
         const FieldRange* range)
{
    const Json* kind = json.is_object() ? FindMember(json, "kind") : nullptr;
    static constexpr std::array<std::string_view, sizeof...(T)> KINDS{T::KIND...};
    const size_t place = kind ? FindName(*kind, KINDS.data(), KINDS.size()) : KINDS.size();
    auto read = [&]<class Alternative>(std::type_identity<Alternative>) {
        if (KINDS[place] != Alternative::KIND)
        {
            return false;
        }
        FromJson(json, where, alternatives.template emplace<Alternative>(), range);
        return true;
    };
    if (place == KINDS.size())
    {
        RefuseName(json, where, "an object whose kind is one of ", KINDS);
    }
    (read(std::type_identity<T>{}) || ...);
}

template <class T>
void
FromJson(const Json& json,
         const std::string& where,
         std::optional<T>& value,
         const FieldRange* range)
{
    value.reset();
    if (!json.is_null())
    {
        FromJson(json, where, value.emplace(), range);
    }
}

} // namespace tunnelcc

#endif // TUNNELCC_FIELDS_JSON_H
