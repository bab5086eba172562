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
 * One end of a tunnel's handshake on a new carrier. The ends take turns: the client writes, and the
 * server answers when it has read everything.
 */
class Handshake
{
  public:
    /// \param turns sizes of the writes of each turn, bytes
    /// \param carrier the carrier
    /// \param end which end this is; the client begins
    /// \param confirms whether the server waits for Confirm() before it writes its last part
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

    /// Go on as far as possible. Call it when the carrier is connected, readable or writable.
    void Advance(int64_t now)
    {
        while (!IsDone() && !AwaitsConfirmation() && (m_writer == m_end ? Write(now) : Read(now)))
        {
            m_turn += m_writer == End::SERVER;
            m_writer = Other(m_writer);
            BeginPart();
        }
    }

    /// Whether the handshake is over, as far as this end knows.
    bool IsDone() const
    {
        return m_turn == m_turns.size();
    }

    /// Whether the handshake waits for Confirm() only.
    bool AwaitsConfirmation() const
    {
        return m_isHeld && m_writer == End::SERVER && m_turn + 1 == m_turns.size();
    }

    /// Allow the server to write its last part.
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
    End m_writer{End::CLIENT}; //!< the end that writes now
    WriteQueue m_writes;       //!< writes of our part
    uint64_t m_missing{0};     //!< bytes of the peer's part that are not read yet
};

} // namespace tunnelcc

#endif // TUNNELCC_HANDSHAKE_H
