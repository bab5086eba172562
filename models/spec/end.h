/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_END_H
#define TUNNELCC_END_H

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace tunnelcc
{

/// An end of a connection, a tunnel or a path: the client is the one that connects. A direction is
/// named by the end that sends.
enum class End : uint8_t
{
    CLIENT,
    SERVER
};

std::span<const std::string_view> NamesOf(End value);

/// Both ends.
constexpr std::array<End, 2> ENDS{End::CLIENT, End::SERVER};

/// The end opposite `end`.
constexpr End
Other(End end)
{
    return end == End::CLIENT ? End::SERVER : End::CLIENT;
}

/// Two values, one for each end, or for what each end sends.
template <typename T>
struct PerEnd
{
    T client;
    T server;

    T& operator[](End end)
    {
        return end == End::CLIENT ? client : server;
    }

    const T& operator[](End end) const
    {
        return end == End::CLIENT ? client : server;
    }
};

/// Make something for each end, `first` before the other.
template <class F>
auto
MakePerEnd(End first, F make) -> PerEnd<decltype(make(first))>
{
    auto a = make(first);
    auto b = make(Other(first));
    return first == End::CLIENT ? PerEnd<decltype(a)>{std::move(a), std::move(b)}
                                : PerEnd<decltype(a)>{std::move(b), std::move(a)};
}

} // namespace tunnelcc

#endif // TUNNELCC_END_H
