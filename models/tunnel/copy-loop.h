/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_COPY_LOOP_H
#define TUNNELCC_COPY_LOOP_H

#include "event/timer.h"
#include "host/cpu.h"
#include "relay-side.h"

namespace tunnelcc
{

/**
 * The copy loop of a relay: one thread (in GOST, a goroutine) that reads up to a copy buffer from
 * one side, spends CPU time on it, and writes it to the other side. It blocks while there is
 * nothing to read, or while the other side takes nothing. Unread data stay in the buffers before
 * it.
 */
class CopyLoop
{
  public:
    /**
     * \param from the side that it reads
     * \param to the side to which it writes
     * \param copyBuffer largest chunk, application bytes
     * \param cpu the CPU of the host
     */
    CopyLoop(RelaySide& from, RelaySide& to, uint32_t copyBuffer, Cpu& cpu);

    /// Begin to read.
    void Start(int64_t now);

    /// Data may have arrived on the side that it reads.
    void OnReadable(int64_t now);

    /// The side to which it writes may take data again.
    void OnWritable(int64_t now);

    /// Whether it has read anything yet.
    bool HasRead() const
    {
        return m_hasRead;
    }

  private:
    enum class State
    {
        NOT_STARTED,
        READING,
        COMPUTING,
        WRITING,
        CLOSED
    };

    /// Copy until it has to wait.
    void Run(int64_t now);
    /// Read a chunk. \returns whether it can be written at once
    bool ReadChunk(int64_t now);
    /// Go on writing the chunk. \returns whether all of it is written
    bool WriteChunk(int64_t now);
    void OnComputed(int64_t now);

    RelaySide& m_from;
    RelaySide& m_to;
    const uint32_t m_copyBuffer;
    Cpu& m_cpu;
    State m_state{State::NOT_STARTED};
    bool m_hasRead{false};
    Timer<CopyLoop, &CopyLoop::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_COPY_LOOP_H
