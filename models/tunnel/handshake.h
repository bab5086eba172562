/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HANDSHAKE_H
#define TUNNELCC_HANDSHAKE_H

#include "spec/end.h"
#include "spec/tunnel-spec.h"
#include "write-queue.h"

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
    /// \param end which this is; the client begins
    /// \param confirms the server writes its last part after Confirm() only
    Handshake(const std::vector<HandshakeTurn>& turns,
              ByteStream& carrier,
              End end,
              bool confirms = false)
        : m_turns(turns),
          m_carrier(carrier),
          m_end(end),
          m_isHeld(confirms && end == End::SERVER)
    {
        BeginPart();
    }

    /// Go on as far as possible: the carrier is connected, readable or writable.
    void Advance(int64_t now)
    {
        while (!IsDone() && !AwaitsConfirmation() && (m_writer == m_end ? Write(now) : Read(now)))
        {
            m_turn += m_writer == End::SERVER;
            m_writer = Other(m_writer);
            BeginPart();
        }
    }

    /// Whether every turn is over, as far as this end knows.
    bool IsDone() const
    {
        return m_turn == m_turns.size();
    }

    /// Whether nothing but Confirm() is missing.
    bool AwaitsConfirmation() const
    {
        return m_isHeld && m_writer == End::SERVER && m_turn + 1 == m_turns.size();
    }

    /// Let Advance() go on where it awaits this.
    void Confirm()
    {
        m_isHeld = false;
    }

  private:
    void BeginPart()
    {
        if (IsDone())
        {
            return;
        }
        const std::vector<uint32_t>& sizes = m_turns[m_turn][m_writer];
        if (m_writer == m_end)
        {
            m_writes.Append(sizes);
        }
        else
        {
            m_missing = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
        }
    }

    /// Go on with our part of the turn. \returns whether it is complete
    bool Write(int64_t now)
    {
        return m_writes.Flush(now, m_carrier);
    }

    /// Go on with the peer's part of the turn. \returns whether it is complete
    bool Read(int64_t now)
    {
        uint64_t bytes = std::min(m_missing, m_carrier.Readable());
        m_carrier.Read(now, bytes);
        m_missing -= bytes;
        return m_missing == 0;
    }

    std::vector<HandshakeTurn> m_turns;
    ByteStream& m_carrier;
    End m_end;
    bool m_isHeld;
    size_t m_turn{0};
    End m_writer{End::CLIENT}; //!< end that writes now
    WriteQueue m_writes;       //!< of our part
    uint64_t m_missing{0};     //!< bytes of the peer's part that were not read yet
};

} // namespace tunnelcc

#endif // TUNNELCC_HANDSHAKE_H
