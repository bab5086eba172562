/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIELDS_JSON_H
#define TUNNELCC_FIELDS_JSON_H

#include "fields.h"
#include "refuse.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
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
void FromJson(const Json& json, const std::string& where, T& object);
template <class T>
void FromJson(const Json& json, const std::string& where, std::vector<T>& list);
template <class... T>
void FromJson(const Json& json, const std::string& where, std::variant<T...>& alternatives);
template <class T>
void FromJson(const Json& json, const std::string& where, std::optional<T>& value);

inline void
FromJson(const Json& json, const std::string& where, std::string& text)
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
FromJson(const Json& json, const std::string& where, T& number)
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
}

template <class T>
    requires std::is_enum_v<T>
void
FromJson(const Json& json, const std::string& where, T& value)
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
        int64_t whole{0};
        FromJson(json, where, whole);
        return whole;
    }
    return json.get<double>();
}

inline void
FromJson(const Json& json, const std::string& where, Parameters& parameters)
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

template <HasFields T>
void
FromJson(const Json& json, const std::string& where, T& object)
{
    CheckMembers(json, where, FieldNames<T>(), HasKind<T>);
    VisitFields(object, [&](const std::string& name, auto& member) {
        if (const Json* given = FindMember(json, name))
        {
            FromJson(*given, KeyOf(where, name), member);
        }
    });
}

template <class T>
void
FromJson(const Json& json, const std::string& where, std::vector<T>& list)
{
    if (!json.is_array())
    {
        RefuseJson(json, where, "a list");
    }
    list.assign(json.size(), T{});
    for (size_t i = 0; i < list.size(); ++i)
    {
        FromJson(json[i], where + "." + std::to_string(i), list[i]);
    }
}

template <class... T>
void
FromJson(const Json& json, const std::string& where, std::variant<T...>& alternatives)
{
    const Json* kind = json.is_object() ? FindMember(json, "kind") : nullptr;
    static constexpr std::array<std::string_view, sizeof...(T)> KINDS{T::KIND...};
    const size_t place = kind ? FindName(*kind, KINDS.data(), KINDS.size()) : KINDS.size();
    auto read = [&]<class Alternative>(std::type_identity<Alternative>) {
        if (KINDS[place] != Alternative::KIND)
        {
            return false;
        }
        FromJson(json, where, alternatives.template emplace<Alternative>());
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
FromJson(const Json& json, const std::string& where, std::optional<T>& value)
{
    value.reset();
    if (!json.is_null())
    {
        FromJson(json, where, value.emplace());
    }
}

} // namespace tunnelcc

#endif // TUNNELCC_FIELDS_JSON_H
