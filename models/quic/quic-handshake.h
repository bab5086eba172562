/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_HANDSHAKE_H
#define TUNNELCC_QUIC_HANDSHAKE_H

#include "event/fifo.h"
#include "number-ranges.h"
#include "spec/quic-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// One end of a QUIC handshake, which goes in turns: the client sends its packets of a turn, and
/// the server answers when it has all of them. The packets are numbered, so that lost ones are sent
/// again.
class QuicHandshake
{
  public:
    QuicHandshake(const QuicSpec& spec, End end)
        : m_turns(spec.handshake),
          m_end(end)
    {
    }

    /// Begin: the client queues its first packets, the server waits for them.
    void Begin()
    {
        Advance();
    }

    /// A packet has arrived.
    void OnPacket(uint64_t number)
    {
        m_received.Add(number, number + 1);
        Advance();
    }

    /// A packet was lost.
    void OnLost(uint64_t number)
    {
        m_queue.Push(number);
    }

    /// Whether there are packets to send.
    bool HasPacket() const
    {
        return !m_queue.IsEmpty();
    }

    /// The next packet to send. \returns its number
    uint64_t Take()
    {
        const uint64_t number = m_queue.Front();
        m_queue.Pop();
        return number;
    }

    /// Size of a packet of this end.
    uint32_t SizeOf(uint64_t number) const
    {
        for (const auto& turn : m_turns)
        {
            if (number < turn[m_end].size())
            {
                return turn[m_end][number];
            }
            number -= turn[m_end].size();
        }
        return 0;
    }

    /// Whether this end has all packets of the other end, and has queued its own.
    bool IsDone() const
    {
        return m_turn == m_turns.size();
    }

  private:
    void Advance()
    {
        while (!IsDone())
        {
            if (m_writer == m_end)
            {
                for (size_t i = 0; i < m_turns[m_turn][m_end].size(); ++i)
                {
                    m_queue.Push(m_queued++);
                }
            }
            else
            {
                const uint64_t due = m_expected + m_turns[m_turn][m_writer].size();
                if (due > 0 && (m_received.All().empty() || m_received.All()[0].begin > 0 ||
                                m_received.All()[0].end < due))
                {
                    return;
                }
                m_expected = due;
            }
            m_turn += m_writer == End::SERVER;
            m_writer = Other(m_writer);
        }
    }

    const std::vector<PerEnd<std::vector<uint32_t>>> m_turns;
    const End m_end;
    size_t m_turn{0};
    End m_writer{End::CLIENT}; //!< the end whose turn it is
    NumberRanges m_received;
    uint64_t m_expected{0}; //!< packets that the peer has sent in the turns that are over
    uint64_t m_queued{0};   //!< packets of this end so far
    Fifo<uint64_t> m_queue;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_HANDSHAKE_H
