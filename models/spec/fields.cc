/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fields.h"

#include "json.h"
#include "refuse.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace tunnelcc
{

namespace
{

/// Refuse a value of the wrong kind. \param where the path of its key
[[noreturn]] void
RefuseJson(const Json& json, const std::string& where, const std::string& expected)
{
    constexpr size_t LONGEST = 60;
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    text = text.size() > LONGEST ? text.substr(0, LONGEST) + "…" : text;
    Refuse((where.empty() ? "specification" : where) + ": expected " + expected + ", got " + text);
}

/// Refuse an unknown name.
template <class List>
[[noreturn]] void
RefuseName(const Json& json, const std::string& where, std::string before, const List& names)
{
    for (size_t i = 0; i < names.size(); ++i)
    {
        before += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    RefuseJson(json, where, before);
}

std::string
TextOf(double number)
{
    // Not with a stream: its locales would be a seventh of the WebAssembly module.
    std::array<char, 32> text;
    const int size = std::snprintf(text.data(), text.size(), "%.12g", number);
    return {text.data(), static_cast<size_t>(size)};
}

/// Say what a number has to be.
std::string
RangeOf(const Descriptor& what)
{
    const bool isPlain = what.unit.empty() || what.unit == "1";
    return (what.orZero ? "0, or " : "") +
           std::string(what.kind == ValueKind::COUNT ? "a whole number" : "a number") + " from " +
           TextOf(what.minimum) + " to " + TextOf(what.maximum) + (isPlain ? "" : " " + what.unit);
}

template <class T>
void
ReadWhole(const Json& json, const std::string& where, T& number, const Descriptor& what)
{
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits)
    {
        RefuseJson(json,
                   where,
                   "a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                       std::to_string(std::numeric_limits<T>::max()));
    }
    number = json.get<T>();
    if (!what.Has(static_cast<double>(number)))
    {
        RefuseJson(json, where, RangeOf(what));
    }
}

std::string
KeyOf(const std::string& where, const std::string& name)
{
    return where.empty() ? name : where + "." + name;
}

/// A parameter's value, by its type in JSON.
ParameterValue
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
        static const Descriptor ANY{.name = "", .minimum = -0x1p63, .maximum = 0x1p63};
        int64_t whole{0};
        ReadWhole(json, where, whole, ANY);
        return whole;
    }
    return json.get<double>();
}

/// The name of a member in JSON: that of C++ in snake_case.
std::string
ToSnakeCase(std::string_view member)
{
    std::string name;
    for (const char letter : member)
    {
        if (letter >= 'A' && letter <= 'Z')
        {
            name += {'_', static_cast<char>(letter - 'A' + 'a')};
        }
        else
        {
            name += letter;
        }
    }
    return name;
}

/// What a member is: in a pair, what the pair is.
const Descriptor&
DescriptorOf(const Field& field, const Fields& fields, const Descriptor& what)
{
    return fields.isPair ? what : field.what;
}

/// Check that JSON is an object without unknown members.
void
CheckMembers(const Json& json, const std::string& where, const Fields& fields)
{
    if (!json.is_object())
    {
        RefuseJson(json, where, "an object");
    }
    for (const auto& [name, value] : json.items())
    {
        auto isCalled = [&](const Field& field) { return field.what.name == name; };
        if (!std::ranges::any_of(fields.fields, isCalled) && !(fields.kind && name == "kind"))
        {
            std::vector<std::string> names;
            names.reserve(fields.fields.size());
            for (const Field& field : fields.fields)
            {
                names.push_back(field.what.name);
            }
            RefuseName(name, where, "one of the members ", names);
        }
    }
}

} // namespace

Fields::Fields(std::string_view structName, const char* itsKind, std::span<const RawRow> rows)
    : name(structName),
      kind(itsKind),
      isPair(structName.empty())
{
    for (const RawRow& row : rows)
    {
        Descriptor what{.name = ToSnakeCase(row.name),
                        .kind = row.kind,
                        .unit = row.unit,
                        .minimum = row.minimum,
                        .maximum = row.maximum,
                        .doc = row.doc,
                        .choices = {row.choices.begin(), row.choices.end()},
                        .orZero = row.orZero};
        fields.push_back({std::move(what), row.offset, row.type});
    }
}

void
Read(const Json& json, const std::string& where, bool& value, const Descriptor& /* what */)
{
    if (!json.is_boolean())
    {
        RefuseJson(json, where, "true or false");
    }
    value = json.get<bool>();
}

void
Read(const Json& json, const std::string& where, uint16_t& value, const Descriptor& what)
{
    ReadWhole(json, where, value, what);
}

void
Read(const Json& json, const std::string& where, uint32_t& value, const Descriptor& what)
{
    ReadWhole(json, where, value, what);
}

void
Read(const Json& json, const std::string& where, uint64_t& value, const Descriptor& what)
{
    ReadWhole(json, where, value, what);
}

void
Read(const Json& json, const std::string& where, int32_t& value, const Descriptor& what)
{
    ReadWhole(json, where, value, what);
}

void
Read(const Json& json, const std::string& where, int64_t& value, const Descriptor& what)
{
    ReadWhole(json, where, value, what);
}

void
Read(const Json& json, const std::string& where, double& value, const Descriptor& what)
{
    if (!json.is_number())
    {
        RefuseJson(json, where, "a number");
    }
    value = json.get<double>();
    if (!what.Has(value))
    {
        RefuseJson(json, where, RangeOf(what));
    }
}

void
Read(const Json& json, const std::string& where, std::string& value, const Descriptor& /* what */)
{
    if (!json.is_string())
    {
        RefuseJson(json, where, "text");
    }
    value = json.get<std::string>();
}

void
Read(const Json& json, const std::string& where, Parameters& value, const Descriptor& /* what */)
{
    if (!json.is_object())
    {
        RefuseJson(json, where, "an object of numbers, switches and names");
    }
    value.clear();
    for (const auto& [name, parameter] : json.items())
    {
        value[name] = ToParameter(parameter, where + "." + name);
    }
}

template <class T>
    requires std::is_arithmetic_v<T> || std::is_same_v<T, std::string>
void
Write(const T& value, Json& json)
{
    json = value;
}

template void Write(const bool& value, Json& json);
template void Write(const uint16_t& value, Json& json);
template void Write(const uint32_t& value, Json& json);
template void Write(const uint64_t& value, Json& json);
template void Write(const int32_t& value, Json& json);
template void Write(const int64_t& value, Json& json);
template void Write(const double& value, Json& json);
template void Write(const std::string& value, Json& json);

void
Write(const Parameters& value, Json& json)
{
    json = Json::object();
    for (const auto& [name, parameter] : value)
    {
        json[name] = std::visit([](const auto& it) { return Json(it); }, parameter);
    }
}

void
RefuseMissing(const std::string& where, const Descriptor& what)
{
    Refuse(where + ": expected " + RangeOf(what) + ", got nothing");
}

void
ReadStruct(const Json& json,
           const std::string& where,
           void* object,
           const Fields& fields,
           const Descriptor& what)
{
    CheckMembers(json, where, fields);
    auto* begin = static_cast<char*>(object);
    // What is given is told first.
    for (const Field& field : fields.fields)
    {
        const auto given = json.find(field.what.name);
        if (given != json.end())
        {
            field.type->read(*given,
                             KeyOf(where, field.what.name),
                             begin + field.offset,
                             DescriptorOf(field, fields, what));
        }
    }
    for (const Field& field : fields.fields)
    {
        if (!json.contains(field.what.name))
        {
            field.type->checkMissing(KeyOf(where, field.what.name),
                                     begin + field.offset,
                                     DescriptorOf(field, fields, what));
        }
    }
}

void
ReadMissing(const std::string& where, void* object, const Fields& fields, const Descriptor& what)
{
    ReadStruct(Json::object(), where, object, fields, what);
}

void
WriteStruct(const void* object, const Fields& fields, Json& json)
{
    json = Json::object();
    if (fields.kind)
    {
        json["kind"] = fields.kind;
    }
    for (const Field& field : fields.fields)
    {
        field.type->write(static_cast<const char*>(object) + field.offset, json[field.what.name]);
    }
}

void
AddTable(const Fields& fields, std::map<std::string_view, const Fields*>& tables)
{
    if (tables.emplace(fields.name, &fields).second)
    {
        for (const Field& field : fields.fields)
        {
            field.type->addTables(tables);
        }
    }
}

size_t
ReadName(const Json& json, const std::string& where, Names names)
{
    const std::string name = json.is_string() ? json.get<std::string>() : "";
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
    {
        RefuseName(json, where, "one of ", names);
    }
    return static_cast<size_t>(found - names.begin());
}

size_t
ReadKind(const Json& json, const std::string& where, Names kinds)
{
    const std::string kind = json.is_object() ? json.value("kind", Json()).dump() : "";
    auto isKind = [&](std::string_view name) { return kind == '"' + std::string(name) + '"'; };
    const auto found = std::ranges::find_if(kinds, isKind);
    if (found == kinds.end())
    {
        RefuseName(json, where, "an object whose kind is one of ", kinds);
    }
    return static_cast<size_t>(found - kinds.begin());
}

size_t
SizeOfList(const Json& json, const std::string& where)
{
    if (!json.is_array())
    {
        RefuseJson(json, where, "a list");
    }
    return json.size();
}

const Json&
ItemOf(const Json& list, size_t index)
{
    return list[index];
}

bool
IsNull(const Json& json)
{
    return json.is_null();
}

void
WriteName(Names names, size_t place, Json& json)
{
    json = names[place];
}

void
WriteList(Json& json)
{
    json = Json::array();
}

Json&
AppendTo(Json& list)
{
    list.push_back(nullptr);
    return list.back();
}

} // namespace tunnelcc
