/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HANDSHAKE_H
#define TUNNELCC_HANDSHAKE_H

#include "experiment/experiment-spec.h"
#include "transport/endpoint.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tunnelcc
{

/**
 * A tunnel's handshake on a fresh carrier, as turns: the client writes, the server answers once it
 * has everything. One object per end.
 */
class Handshake
{
  public:
    Handshake(const std::vector<HandshakeTurn>& turns, TcpEndpoint& carrier, bool isClient)
        : m_turns(turns),
          m_carrier(carrier),
          m_isClient(isClient)
    {
    }

    /// Whether every turn is over, as far as this end knows.
    bool IsDone() const
    {
        return m_turn == m_turns.size();
    }

    /// The carrier is connected: a client speaks first.
    void Start(int64_t now)
    {
        if (m_isClient && !IsDone())
        {
            WriteAll(now, m_turns[m_turn].client);
        }
    }

    /// Read what belongs to the handshake, and answer.
    void OnReadable(int64_t now)
    {
        while (!IsDone() && ReadTurn(now))
        {
            if (!m_isClient)
            {
                WriteAll(now, m_turns[m_turn].server);
            }
            ++m_turn;
            Start(now);
        }
    }

  private:
    /// Read on in what the peer writes this turn. \returns whether it is complete
    bool ReadTurn(int64_t now)
    {
        const auto& writes = m_isClient ? m_turns[m_turn].server : m_turns[m_turn].client;
        uint64_t total = std::accumulate(writes.begin(), writes.end(), uint64_t{0});
        uint64_t bytes = std::min(total - m_read, m_carrier.Readable());
        m_carrier.Read(now, bytes);
        m_read += bytes;
        if (m_read < total)
        {
            return false;
        }
        m_read = 0;
        return true;
    }

    void WriteAll(int64_t now, const std::vector<uint32_t>& writes)
    {
        for (uint32_t bytes : writes)
        {
            m_carrier.Write(now, bytes);
        }
    }

    std::vector<HandshakeTurn> m_turns;
    TcpEndpoint& m_carrier;
    bool m_isClient;
    size_t m_turn{0};
    uint64_t m_read{0}; //!< bytes of the peer's turn read so far
};

} // namespace tunnelcc

#endif // TUNNELCC_HANDSHAKE_H
