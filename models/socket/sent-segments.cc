/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sent-segments.h"

#include <map>

namespace tunnelcc
{

namespace
{

/// The ends that there are, by initial sequence number.
std::map<uint32_t, std::weak_ptr<SentSegments>> g_ends;
uint32_t g_latest{0};

} // namespace

std::shared_ptr<SentSegments>
SentSegments::Make()
{
    // Odd multiples of a number without pattern visit all numbers before they repeat; sockets of
    // ns-3 begin with 0.
    constexpr uint32_t STEP = 0x9e3779b9;
    g_latest = g_ends.empty() ? 0 : g_latest;
    do
    {
        g_latest += STEP;
    } while (g_latest == 0 || g_ends.count(g_latest) > 0);
    std::shared_ptr<SentSegments> made(new SentSegments(g_latest));
    g_ends[g_latest] = made;
    return made;
}

std::shared_ptr<SentSegments>
SentSegments::Find(ns3::SequenceNumber32 initial)
{
    const auto found = g_ends.find(initial.GetValue());
    return found == g_ends.end() ? nullptr : found->second.lock();
}

SentSegments::SentSegments(uint32_t initial)
    : m_initial(initial)
{
}

SentSegments::~SentSegments()
{
    g_ends.erase(m_initial);
}

} // namespace tunnelcc
