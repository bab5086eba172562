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
 * One thread of a relay (in GOST, a goroutine): reads up to a copy buffer from one side, spends CPU
 * time on it, writes it to the other, and blocks where either does. What it does not read stays in
 * the buffers before it.
 */
class CopyLoop
{
  public:
    /**
     * \param from where chunks come from
     * \param to where they go
     * \param copyBuffer most application bytes per chunk
     * \param cpu the host's
     */
    CopyLoop(RelaySide& from, RelaySide& to, uint32_t copyBuffer, Cpu& cpu);

    /// Begin to read.
    void Start(int64_t now);

    /// There may be something to read.
    void OnReadable(int64_t now);

    /// Writing may go on.
    void OnWritable(int64_t now);

    /// Whether anything has been read.
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

    /// Copy until something has to be waited for.
    void Run(int64_t now);
    /// Read a chunk. \returns whether it can be written at once
    bool ReadChunk(int64_t now);
    /// Write the chunk on. \returns whether it is all written
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
