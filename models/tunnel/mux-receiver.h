/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_RECEIVER_H
#define TUNNELCC_MUX_RECEIVER_H

#include "event/timer.h"
#include "host/cpu.h"
#include "mux-frame.h"

namespace tunnelcc
{

/**
 * Receiving half of a shared carrier: one thread (smux recvLoop()) that reads frame after frame.
 * It stops while the streams together hold as much unread data as the session's buffer: then all
 * of them wait, and the carrier's own receive buffer fills.
 */
class MuxReceiver
{
  public:
    /**
     * \param user whom to give the frames
     * \param carrier where the frames come from
     * \param buffer unread bytes of all streams at which reading stops; 0: it does not
     * \param work of the relay on each frame
     * \param cpu the host's
     */
    MuxReceiver(MuxFrameUser& user,
                MuxCarrier& carrier,
                uint64_t buffer,
                const RelayWorkSpec& work,
                Cpu& cpu);

    /// The carrier has something to read.
    void OnReadable(int64_t now);

    /// A stream's reader took so many bytes.
    void OnStreamRead(int64_t now, uint32_t bytes);

    /// Bytes that all streams hold unread.
    uint64_t Unread() const
    {
        return m_unread;
    }

  private:
    void ContinueReading(int64_t now);
    void OnComputed(int64_t now);

    MuxFrameUser& m_user;
    MuxCarrier& m_carrier;
    const uint64_t m_buffer;
    const RelayWorkSpec m_work;
    Cpu& m_cpu;
    uint64_t m_unread{0};
    bool m_isComputing{false};
    Timer<MuxReceiver, &MuxReceiver::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_MUX_RECEIVER_H
