/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIELDS_H
#define TUNNELCC_FIELDS_H

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/**
 * \file
 * Structs that list their members once. The text form of a specification follows from that list, so
 * that a new member is named in its struct and nowhere else in C++.
 */

/// Lists the members of a struct, in order of declaration, at its end.
#define TUNNELCC_FIELDS(...)                                                                       \
    static constexpr std::string_view FIELD_NAMES = #__VA_ARGS__;                                  \
    auto Fields()                                                                                  \
    {                                                                                              \
        return std::tie(__VA_ARGS__);                                                              \
    }                                                                                              \
    auto Fields() const                                                                            \
    {                                                                                              \
        return std::tie(__VA_ARGS__);                                                              \
    }

/// Lists which values numbers of a struct may have, as FieldRange. A number that is not listed has
/// the range of its type (DefaultRange() in fields-json.h).
#define TUNNELCC_RANGES(...)                                                                       \
    static constexpr auto RANGES = std::to_array<::tunnelcc::FieldRange>({__VA_ARGS__})

namespace tunnelcc
{

/// Which values a number may have: those from `least` to `most`, and 0 if `orZero`. It holds for
/// both numbers of a PerEnd, and for each of a list.
struct FieldRange
{
    std::string_view name; //!< of the member, as in C++
    double least;
    double most;
    bool orZero{false};

    constexpr bool Has(double value) const
    {
        return (value >= least && value <= most) || (orZero && value == 0);
    }
};

/// A struct with TUNNELCC_RANGES().
template <class T>
concept HasRanges = requires { T::RANGES; };

/// A struct with TUNNELCC_FIELDS().
template <class T>
concept HasFields = requires(T object) {
    T::FIELD_NAMES;
    object.Fields();
};

/// An alternative of a std::variant, which its KIND tells from the others.
template <class T>
concept HasKind = requires { std::string_view(T::KIND); };

/// The names of an enumeration's values, in order.
template <class Enum>
inline constexpr std::array<std::string_view, 0> ENUM_NAMES{};

namespace detail
{

struct Anything
{
    template <class T>
    operator T() const;
};

template <class T, class Tuple>
inline constexpr bool LISTS_ALL = false;

template <class T, class... Members>
inline constexpr bool LISTS_ALL<T, std::tuple<Members&...>> = requires {
    T{std::declval<Members>()...};
} && !requires { T{std::declval<Members>()..., Anything()}; };

} // namespace detail

/// Whether TUNNELCC_FIELDS() names every member, in order.
template <HasFields T>
inline constexpr bool LISTS_ALL_FIELDS =
    detail::LISTS_ALL<T, decltype(std::declval<T&>().Fields())>;

/// The names of the members, as in C++.
template <HasFields T>
constexpr std::vector<std::string_view>
MemberNames()
{
    std::vector<std::string_view> names;
    std::string_view left = T::FIELD_NAMES;
    while (!left.empty())
    {
        const size_t begin = left.find_first_not_of(", ");
        left.remove_prefix(begin);
        const size_t end = std::min(left.find(','), left.size());
        names.push_back(left.substr(0, end));
        left.remove_prefix(end);
    }
    return names;
}

/// Whether TUNNELCC_RANGES() lists nothing but members.
template <HasRanges T>
constexpr bool
ListsMembersOnly()
{
    const std::vector<std::string_view> names = MemberNames<T>();
    return std::ranges::all_of(T::RANGES, [&](const FieldRange& range) {
        return std::ranges::find(names, range.name) != names.end();
    });
}

/// The ranges of the members that list one, in order; null: the member lists none.
template <HasFields T>
const std::vector<const FieldRange*>&
FieldRanges()
{
    static const std::vector<const FieldRange*> ranges = [] {
        std::vector<const FieldRange*> found;
        for (const std::string_view name : MemberNames<T>())
        {
            found.push_back(nullptr);
            if constexpr (HasRanges<T>)
            {
                static_assert(ListsMembersOnly<T>(), "TUNNELCC_RANGES() has an unknown name");
                const auto range = std::ranges::find(T::RANGES, name, &FieldRange::name);
                found.back() = range != T::RANGES.end() ? &*range : nullptr;
            }
        }
        return found;
    }();
    return ranges;
}

/// The names of the members: those of C++ in snake_case.
template <HasFields T>
const std::vector<std::string>&
FieldNames()
{
    static_assert(LISTS_ALL_FIELDS<T>, "TUNNELCC_FIELDS() misses a member, or has another order");
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const std::string_view member : MemberNames<T>())
        {
            std::string& name = found.emplace_back();
            for (char letter : member)
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
        }
        return found;
    }();
    return names;
}

/// Call `visit(name, member)` for each member of `object`, in order.
template <class T, class Visit>
void
VisitFields(T& object, Visit&& visit)
{
    auto name = FieldNames<std::remove_const_t<T>>().begin();
    std::apply([&](auto&... member) { (visit(*name++, member), ...); }, object.Fields());
}

} // namespace tunnelcc

#endif // TUNNELCC_FIELDS_H
