/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MEASUREMENT_H
#define TUNNELCC_MEASUREMENT_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace tunnelcc
{

/// The part of a run that a total covers. It has no meaning for a series.
enum class Span
{
    MEASURED,  //!< after the warm-up
    WHOLE_RUN, //!< since the start
    MOMENT,    //!< it is no count, but a time since the start
};

/// A row of a table of measurements: the description of a member of a struct of results.
template <class T, class Member>
struct Measurement
{
    std::string_view name;    //!< in all results; ends in _series where there is a total, too
    Member T::* member;       //!< a vector: one value for each probe time
    std::string_view unit;    //!< 1: a count or a ratio; empty: text
    std::string_view meaning; //!< in words, without the span
    Span span;
};

/// Text that is a parameter of a template.
template <size_t SIZE>
struct Name
{
    // NOLINTNEXTLINE(google-explicit-constructor): written as a literal
    constexpr Name(const char (&text)[SIZE])
    {
        std::copy_n(text, SIZE, characters.begin());
    }

    std::array<char, SIZE> characters{};
};

/// A name that consists of two parts.
template <Name FIRST, Name SECOND>
inline constexpr auto NAME_TEXT = [] {
    constexpr size_t LENGTH = FIRST.characters.size() - 1;
    std::array<char, LENGTH + SECOND.characters.size()> text{};
    std::copy_n(FIRST.characters.begin(), LENGTH, text.begin());
    std::copy_n(SECOND.characters.begin(), SECOND.characters.size(), text.begin() + LENGTH);
    return text;
}();
template <Name FIRST, Name SECOND>
inline constexpr std::string_view NAME{NAME_TEXT<FIRST, SECOND>.data()};

template <class T, class Member>
constexpr Measurement<T, Member>
Measure(std::string_view name,
        Member T::* member,
        std::string_view unit,
        std::string_view meaning,
        Span span = Span::MEASURED)
{
    return {name, member, unit, meaning, span};
}

} // namespace tunnelcc

#endif // TUNNELCC_MEASUREMENT_H
