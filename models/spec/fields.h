/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIELDS_H
#define TUNNELCC_FIELDS_H

#include "descriptor.h"
#include "end.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/**
 * \file
 * Tables of the members of a specification's structs: what each is, and how it is read from JSON
 * and written. A struct declares GetFields(), which the source beside its header defines; names of
 * an enumeration's values are those of an overload of NamesOf().
 *
 * A struct becomes an object, an enumeration the name of its value, an alternative of a variant an
 * object with its `kind`, an empty optional null. Numbers keep every bit. Members that are not
 * given keep their values, if these are in their ranges; unknown ones are errors.
 */
namespace tunnelcc
{

using Json = nlohmann::json;
using Names = std::span<const std::string_view>;

class Fields;

/// A struct with a table.
template <class T>
concept HasFields = requires { T::GetFields(); };

/// How values of a type are read and written.
struct FieldType
{
    /// \param where the path of its key \param what of the value, or of what contains it
    void (*read)(const Json& json, const std::string& where, void* value, const Descriptor& what);
    void (*write)(const void* value, Json& json);
    /// Refuse a value that has to be given, and is not; null: it never has.
    void (*checkMissing)(const std::string& where, void* value, const Descriptor& what);
    /// Add the tables of the structs that a value is or contains; null: there are none.
    void (*addTables)(std::map<std::string_view, const Fields*>& tables);
};

/// A member of a struct.
struct Field
{
    Descriptor what;
    size_t offset; //!< bytes from the struct's begin
    const FieldType* type;
};

/// A row of a table, as it is written.
struct RawRow
{
    const char* name; //!< of the member; in JSON in snake_case
    const char* unit;
    const char* doc;
    double minimum;
    double maximum;
    bool orZero;
    ValueKind kind;
    Names choices;
    size_t offset;
    const FieldType* type;
};

/// The table of a struct.
class Fields
{
  public:
    /// \param itsKind that of an alternative of a variant; null: it is none
    Fields(std::string_view structName, const char* itsKind, std::span<const RawRow> rows);

    std::string_view name;
    const char* kind;
    bool isPair; //!< its members are what it is itself
    std::vector<Field> fields;
};

// What does not depend on types ------------------------------------------------------------------

// Numbers, texts and parameters.
void Read(const Json& json, const std::string& where, bool& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, uint16_t& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, uint32_t& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, uint64_t& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, int32_t& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, int64_t& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, double& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, std::string& value, const Descriptor& what);
void Read(const Json& json, const std::string& where, Parameters& value, const Descriptor& what);
/// For the types that Read() has.
template <class T>
    requires std::is_arithmetic_v<T> || std::is_same_v<T, std::string>
void Write(const T& value, Json& json);
void Write(const Parameters& value, Json& json);
/// Refuse a number that has to be given.
void RefuseMissing(const std::string& where, const Descriptor& what);

void ReadStruct(const Json& json,
                const std::string& where,
                void* object,
                const Fields& fields,
                const Descriptor& what);
/// The same of a struct that is not given.
void ReadMissing(const std::string& where,
                 void* object,
                 const Fields& fields,
                 const Descriptor& what);
void WriteStruct(const void* object, const Fields& fields, Json& json);
/// Add a struct's table, and those of the structs in it.
void AddTable(const Fields& fields, std::map<std::string_view, const Fields*>& tables);

/// The place of a name among several. \throws std::invalid_argument it is none of them
size_t ReadName(const Json& json, const std::string& where, Names names);
/// The place of an object's kind. \throws std::invalid_argument as ReadName()
size_t ReadKind(const Json& json, const std::string& where, Names kinds);
/// The length of a list. \throws std::invalid_argument it is none
size_t SizeOfList(const Json& json, const std::string& where);
const Json& ItemOf(const Json& list, size_t index);
bool IsNull(const Json& json);
/// Write a name of a list.
void WriteName(Names names, size_t place, Json& json);
/// Begin a list.
void WriteList(Json& json);
/// One more item of a list.
Json& AppendTo(Json& list);

// What does ---------------------------------------------------------------------------------------

template <class T>
    requires std::is_enum_v<T>
void
Read(const Json& json, const std::string& where, T& value, const Descriptor& /* what */)
{
    value = static_cast<T>(ReadName(json, where, NamesOf(T{})));
}

template <class T>
    requires std::is_enum_v<T>
void
Write(T value, Json& json)
{
    WriteName(NamesOf(T{}), static_cast<size_t>(value), json);
}

template <HasFields T>
void
Read(const Json& json, const std::string& where, T& object, const Descriptor& what)
{
    ReadStruct(json, where, &object, T::GetFields(), what);
}

template <HasFields T>
void
Write(const T& object, Json& json)
{
    WriteStruct(&object, T::GetFields(), json);
}

template <class T>
const Fields& GetPairFields();

template <class T>
void
Read(const Json& json, const std::string& where, PerEnd<T>& pair, const Descriptor& what)
{
    ReadStruct(json, where, &pair, GetPairFields<T>(), what);
}

template <class T>
void
Write(const PerEnd<T>& pair, Json& json)
{
    WriteStruct(&pair, GetPairFields<T>(), json);
}

// Declared before they are defined, because they contain each other.
template <class T>
void Read(const Json& json, const std::string& where, std::vector<T>& list, const Descriptor& what);
template <class T>
void Write(const std::vector<T>& list, Json& json);
template <class... T>
void Read(const Json& json,
          const std::string& where,
          std::variant<T...>& alternatives,
          const Descriptor& what);
template <class... T>
void Write(const std::variant<T...>& alternatives, Json& json);

template <class T>
void
Read(const Json& json, const std::string& where, std::optional<T>& value, const Descriptor& what)
{
    value.reset();
    if (!IsNull(json))
    {
        Read(json, where, value.emplace(), what);
    }
}

template <class T>
void
Write(const std::optional<T>& value, Json& json)
{
    if (value)
    {
        Write(*value, json);
    }
}

template <class T>
void
Read(const Json& json, const std::string& where, std::vector<T>& list, const Descriptor& what)
{
    list.assign(SizeOfList(json, where), T{});
    for (size_t i = 0; i < list.size(); ++i)
    {
        Read(ItemOf(json, i), where + "." + std::to_string(i), list[i], what);
    }
}

template <class T>
void
Write(const std::vector<T>& list, Json& json)
{
    WriteList(json);
    for (const T& item : list)
    {
        Write(item, AppendTo(json));
    }
}

template <class... T>
void
Read(const Json& json,
     const std::string& where,
     std::variant<T...>& alternatives,
     const Descriptor& what)
{
    static constexpr std::array<std::string_view, sizeof...(T)> KINDS{T::KIND...};
    const size_t place = ReadKind(json, where, KINDS);
    size_t next = 0;
    auto read = [&]<class Alternative>(std::type_identity<Alternative>) {
        if (next++ == place)
        {
            Read(json, where, alternatives.template emplace<Alternative>(), what);
        }
    };
    (read(std::type_identity<T>{}), ...);
}

template <class... T>
void
Write(const std::variant<T...>& alternatives, Json& json)
{
    std::visit([&](const auto& object) { Write(object, json); }, alternatives);
}

/// The number in a type, or the type itself.
template <class T>
struct InnerOf : std::type_identity<T>
{
};

template <class T>
struct InnerOf<std::optional<T>> : InnerOf<T>
{
};

template <class T>
struct InnerOf<std::vector<T>> : InnerOf<T>
{
};

template <class T>
struct InnerOf<PerEnd<T>> : InnerOf<T>
{
};

/// Adds the tables of a type.
template <class T>
struct TablesOf
{
    static void AddTo(std::map<std::string_view, const Fields*>& tables)
    {
        if constexpr (HasFields<T>)
        {
            AddTable(T::GetFields(), tables);
        }
    }
};

template <class... T>
struct TablesOf<std::variant<T...>>
{
    static void AddTo(std::map<std::string_view, const Fields*>& tables)
    {
        (AddTable(T::GetFields(), tables), ...);
    }
};

template <class T>
inline constexpr bool IS_PAIR = false;
template <class T>
inline constexpr bool IS_PAIR<PerEnd<T>> = true;

template <class T>
void
CheckMissing(const std::string& where, void* value, const Descriptor& what)
{
    if constexpr (HasFields<T>)
    {
        ReadMissing(where, value, T::GetFields(), what);
    }
    else if constexpr (IS_PAIR<T>)
    {
        ReadMissing(where, value, GetPairFields<decltype(T{}.client)>(), what);
    }
    else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    {
        if (*static_cast<const T*>(value) == T{} && !what.Has(0))
        {
            RefuseMissing(where, what);
        }
    }
}

template <class T>
inline constexpr FieldType FIELD_TYPE{
    [](const Json& json, const std::string& where, void* value, const Descriptor& what) {
        Read(json, where, *static_cast<T*>(value), what);
    },
    [](const void* value, Json& json) { Write(*static_cast<const T*>(value), json); },
    &CheckMissing<T>,
    &TablesOf<typename InnerOf<T>::type>::AddTo};

/// A row of the member type M.
template <class T, class M>
struct FieldRow
{
    RawRow raw;
};

/// Where a member is, in bytes from the struct's begin.
template <class T, class M>
size_t
OffsetOf(M T::* member)
{
    alignas(T) static char storage[sizeof(T)];
    const auto* object = reinterpret_cast<const T*>(storage);
    return static_cast<size_t>(reinterpret_cast<const char*>(&(object->*member)) - storage);
}

/// Which values a number may have. It holds for both numbers of a PerEnd, and for each of a list.
struct FieldRange
{
    double least;
    double most;
    bool orZero{false};
};

/// A range, or 0.
constexpr FieldRange
OrZero(double least, double most)
{
    return {least, most, true};
}

/// The range of numbers of a type that have no other: times up to 11 days in ns, rates up to 1
/// Pbit/s, sizes and counts up to a half of what their type holds.
template <class Number>
constexpr FieldRange
DefaultRange()
{
    if constexpr (std::is_same_v<Number, double> || std::is_same_v<Number, int64_t>)
    {
        return {0, 1e15};
    }
    else if constexpr (std::is_arithmetic_v<Number>)
    {
        constexpr Number MOST = std::numeric_limits<Number>::max();
        return {0, static_cast<double>(sizeof(Number) < 4 ? MOST : MOST / 2)};
    }
    else
    {
        return {0, 0};
    }
}

template <class T, class M>
FieldRow<T, M>
MakeRow(const char* name, M T::* member, const char* unit, FieldRange range, const char* doc)
{
    using Inner = typename InnerOf<M>::type;
    RawRow raw{name,
               unit,
               doc,
               range.least,
               range.most,
               range.orZero,
               ValueKind::PART,
               {},
               OffsetOf(member),
               &FIELD_TYPE<M>};
    if constexpr (std::is_same_v<Inner, bool>)
    {
        raw.kind = ValueKind::SWITCH;
    }
    else if constexpr (std::is_arithmetic_v<Inner>)
    {
        raw.kind = std::is_integral_v<Inner> ? ValueKind::COUNT : ValueKind::NUMBER;
    }
    else if constexpr (std::is_enum_v<Inner>)
    {
        raw.kind = ValueKind::CHOICE;
        raw.choices = NamesOf(Inner{});
    }
    else if constexpr (std::is_same_v<Inner, std::string>)
    {
        raw.kind = ValueKind::TEXT;
    }
    return {raw};
}

/// A number. \param unit "1": a count or a ratio
template <class T, class M>
FieldRow<T, M>
MakeRow(const char* name,
        M T::* member,
        const char* unit,
        double least,
        double most,
        const char* doc)
{
    return MakeRow(name, member, unit, FieldRange{least, most}, doc);
}

/// A number with the range of its type.
template <class T, class M>
FieldRow<T, M>
MakeRow(const char* name, M T::* member, const char* unit, const char* doc)
{
    return MakeRow(name, member, unit, DefaultRange<typename InnerOf<M>::type>(), doc);
}

/// What is no number.
template <class T, class M>
FieldRow<T, M>
MakeRow(const char* name, M T::* member, const char* doc)
{
    static_assert(!std::is_arithmetic_v<typename InnerOf<M>::type> ||
                      std::is_same_v<typename InnerOf<M>::type, bool>,
                  "a number has a unit");
    return MakeRow(name, member, "", FieldRange{0, 0}, doc);
}

struct Anything
{
    template <class T>
    operator T() const; // NOLINT(google-explicit-constructor): it stands for any member
};

/// Whether these are all members of a struct, in order.
template <class T, class... Members>
inline constexpr bool LISTS_ALL = requires { T{std::declval<Members>()...}; } &&
                                  !requires { T{std::declval<Members>()..., Anything()}; };

/// The table of a struct. \param name the struct's
template <class T, class... Members>
Fields
MakeFields(std::string_view name, FieldRow<T, Members>... rows)
{
    static_assert(LISTS_ALL<T, Members...>, "the table misses a member, or has another order");
    const RawRow raw[]{rows.raw...};
    const char* kind = nullptr;
    if constexpr (requires { T::KIND; })
    {
        kind = T::KIND;
    }
    return {name, kind, raw};
}

/// Defines the table of a struct, by FIELD() for each member.
#define FIELDS_OF(Struct, ...)                                                                     \
    const Fields& Struct::GetFields()                                                              \
    {                                                                                              \
        using T = Struct;                                                                          \
        static const Fields fields = MakeFields(#Struct, __VA_ARGS__);                             \
        return fields;                                                                             \
    }                                                                                              \
    static_assert(HasFields<Struct>)

/// A member: FIELD(member, unit, least, most, doc), or without range, or without both.
#define FIELD(member, ...) MakeRow(#member, &T::member, __VA_ARGS__)

/// Defines the names of an enumeration's values, in order.
#define NAMES_OF(Enum, ...)                                                                        \
    Names NamesOf(Enum /* value */)                                                                \
    {                                                                                              \
        static constexpr std::string_view NAMES[]{__VA_ARGS__};                                    \
        return NAMES;                                                                              \
    }                                                                                              \
    static_assert(std::is_enum_v<Enum>)

template <class T>
const Fields&
GetPairFields()
{
    static const Fields fields =
        MakeFields("",
                   MakeRow("client", &PerEnd<T>::client, "", FieldRange{0, 0}, ""),
                   MakeRow("server", &PerEnd<T>::server, "", FieldRange{0, 0}, ""));
    return fields;
}

} // namespace tunnelcc

#endif // TUNNELCC_FIELDS_H
