/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_END_H
#define TUNNELCC_END_H

#include <cstdint>

namespace tunnelcc
{

/// An end of a connection, a tunnel or a path: the client is the one that connects. A direction is
/// named by the end that sends.
enum class End : uint8_t
{
    CLIENT,
    SERVER
};

/// The end opposite `end`.
constexpr End
Other(End end)
{
    return end == End::CLIENT ? End::SERVER : End::CLIENT;
}

/// Something that there is once for each end, or once for each direction: what an end sends.
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

} // namespace tunnelcc

#endif // TUNNELCC_END_H
