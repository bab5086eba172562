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
    /// \param turns what is written
    /// \param carrier on what
    /// \param isClient whether this end begins
    /// \param confirms the server writes its last part after Release() only
    Handshake(const std::vector<HandshakeTurn>& turns,
              TcpEndpoint& carrier,
              bool isClient,
              bool confirms = false)
        : m_turns(turns),
          m_carrier(carrier),
          m_isClient(isClient),
          m_isHeld(confirms && !isClient)
    {
    }

    /// Go on as far as possible: the carrier is connected, readable or writable.
    void Advance(int64_t now)
    {
        while (!IsDone() && !Waits() && (IsOurs() ? WriteOn(now) : ReadOn(now)))
        {
            m_part = 0;
            m_bytes = 0;
            m_turn += m_isServersPart;
            m_isServersPart = !m_isServersPart;
        }
    }

    /// Whether every turn is over, as far as this end knows.
    bool IsDone() const
    {
        return m_turn == m_turns.size();
    }

    /// Whether nothing but Release() is missing.
    bool Waits() const
    {
        return m_isHeld && m_isServersPart && m_turn + 1 == m_turns.size();
    }

    /// Let Advance() go on where it waits.
    void Release()
    {
        m_isHeld = false;
    }

  private:
    const std::vector<uint32_t>& Writes() const
    {
        return m_isServersPart ? m_turns[m_turn].server : m_turns[m_turn].client;
    }

    bool IsOurs() const
    {
        return m_isServersPart != m_isClient;
    }

    /// Write on in our part of the turn. \returns whether it is complete
    bool WriteOn(int64_t now)
    {
        for (; m_part < Writes().size(); ++m_part, m_bytes = 0)
        {
            m_bytes += m_carrier.Write(now, Writes()[m_part] - m_bytes);
            if (m_bytes < Writes()[m_part])
            {
                return false;
            }
        }
        return true;
    }

    /// Read on in what the peer writes this turn. \returns whether it is complete
    bool ReadOn(int64_t now)
    {
        uint64_t total = std::accumulate(Writes().begin(), Writes().end(), uint64_t{0});
        uint64_t bytes = std::min(total - m_bytes, m_carrier.Readable());
        m_carrier.Read(now, bytes);
        m_bytes += bytes;
        return m_bytes == total;
    }

    std::vector<HandshakeTurn> m_turns;
    TcpEndpoint& m_carrier;
    bool m_isClient;
    bool m_isHeld;
    size_t m_turn{0};
    bool m_isServersPart{false}; //!< of the turn
    size_t m_part{0};            //!< which of our writes is next
    uint64_t m_bytes{0};         //!< of it written, or of the peer's part read
};

} // namespace tunnelcc

#endif // TUNNELCC_HANDSHAKE_H
