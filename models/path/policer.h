/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_POLICER_H
#define TUNNELCC_POLICER_H

#include "spec/path-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A policer with a token bucket: drops what exceeds a rate and a burst, and delays nothing.
 *
 * It is the meter of RFC 2697 without its second bucket. If the bucket has as many tokens as a
 * packet has bytes, the packet takes them and passes; otherwise it is dropped and takes none. The
 * bucket starts full. Tokens are counted exactly, in bit·ns/s, so in a time t at most burst +
 * rate·t pass.
 */
class Policer
{
  public:
    explicit Policer(const PolicerSpec& spec)
        : m_rate(static_cast<uint64_t>(spec.rate)),
          m_capacity(static_cast<unsigned __int128>(spec.burst) * TOKENS_PER_BYTE),
          m_tokens(m_capacity)
    {
    }

    /// Take tokens for a packet of `bytes` at `now` ns, never earlier than the one before.
    /// \returns whether there were enough: else the packet is to be dropped
    bool Admit(int64_t now, uint32_t bytes)
    {
        m_tokens += static_cast<unsigned __int128>(now - m_last) * m_rate;
        m_tokens = m_tokens < m_capacity ? m_tokens : m_capacity;
        m_last = now;
        unsigned __int128 cost = bytes * TOKENS_PER_BYTE;
        if (cost > m_tokens)
        {
            return false;
        }
        m_tokens -= cost;
        return true;
    }

  private:
    static constexpr uint64_t TOKENS_PER_BYTE = 8'000'000'000;

    uint64_t m_rate; //!< bit/s
    unsigned __int128 m_capacity;
    unsigned __int128 m_tokens;
    int64_t m_last{0}; //!< when tokens were last added, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_POLICER_H
