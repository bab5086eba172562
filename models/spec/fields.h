/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIELDS_H
#define TUNNELCC_FIELDS_H

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

namespace tunnelcc
{

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

/// The names of the members: those of C++ in snake_case.
template <HasFields T>
const std::vector<std::string>&
FieldNames()
{
    static_assert(LISTS_ALL_FIELDS<T>, "TUNNELCC_FIELDS() misses a member, or has another order");
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found(1);
        for (char letter : T::FIELD_NAMES)
        {
            if (letter == ',')
            {
                found.emplace_back();
            }
            else if (letter >= 'A' && letter <= 'Z')
            {
                found.back() += {'_', static_cast<char>(letter - 'A' + 'a')};
            }
            else if (letter != ' ')
            {
                found.back() += letter;
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
