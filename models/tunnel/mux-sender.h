/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_SENDER_H
#define TUNNELCC_MUX_SENDER_H

#include "event/timer.h"
#include "host/cpu.h"
#include "layer.h"
#include "mux-frame.h"
#include "transport/endpoint.h"

namespace tunnelcc
{

/// Who has frames sent.
class MuxSenderUser
{
  public:
    virtual ~MuxSenderUser() = default;

    /// The carrier has taken a frame of data as a whole.
    virtual void OnFrameWritten(int64_t now, const MuxFrame& frame) = 0;
};

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
     * \param carrier its socket
     * \param layers around each frame
     * \param work of the relay on each frame
     * \param cpu the host's
     * \param log where the frames lie in the carrier's stream
     */
    MuxSender(MuxSenderUser& user,
              TcpEndpoint& carrier,
              const std::vector<LayerSpec>& layers,
              const RelayWorkSpec& work,
              Cpu& cpu,
              MuxFrameLog& log);

    /// Send a frame when its turn comes; its place in the carrier is not known yet.
    void Submit(int64_t now, const MuxFrame& frame);

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
    void WriteOn(int64_t now);

    MuxSenderUser& m_user;
    TcpEndpoint& m_carrier;
    LayerStack m_layers;
    const RelayWorkSpec m_work;
    Cpu& m_cpu;
    MuxFrameLog& m_log;
    State m_state{State::IDLE};
    Fifo<MuxFrame> m_control;
    Fifo<MuxFrame> m_data;
    MuxFrame m_frame{};             //!< being written
    std::vector<uint32_t> m_writes; //!< of that frame
    size_t m_write{0};              //!< which of them is next
    Timer<MuxSender, &MuxSender::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_MUX_SENDER_H
