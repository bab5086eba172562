/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_SENDER_H
#define TUNNELCC_MUX_SENDER_H

#include "event/timer.h"
#include "host/cpu.h"
#include "mux-frame.h"

namespace tunnelcc
{

/**
 * Sending half of a shared carrier: one thread (smux sendLoop()) that wraps and writes the frames
 * of all streams one after the other, in the order in which they were submitted. Frames without
 * data go first, as in smux's shaper.
 */
class MuxSender
{
  public:
    /**
     * \param user whom to tell of frames written
     * \param carrier takes the frames
     * \param work of the relay on each frame
     * \param cpu the host's
     */
    MuxSender(MuxFrameUser& user, MuxCarrier& carrier, const RelayWorkSpec& work, Cpu& cpu);

    /// Send a frame when its turn comes.
    void Submit(int64_t now, const MuxFrame& frame);

    /// Whether all frames submitted are written.
    bool IsIdle() const
    {
        return m_state == State::IDLE;
    }

    /// The carrier takes data again.
    void OnWritable(int64_t now);

  private:
    enum class State
    {
        IDLE,
        COMPUTING,
        WRITING
    };

    void Next(int64_t now);
    void OnComputed(int64_t now);
    void ContinueWriting(int64_t now);

    MuxFrameUser& m_user;
    MuxCarrier& m_carrier;
    const RelayWorkSpec m_work;
    Cpu& m_cpu;
    State m_state{State::IDLE};
    Fifo<MuxFrame> m_control;
    Fifo<MuxFrame> m_data;
    MuxFrame m_frame{}; //!< being written
    Timer<MuxSender, &MuxSender::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_MUX_SENDER_H
