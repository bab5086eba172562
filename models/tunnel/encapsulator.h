/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ENCAPSULATOR_H
#define TUNNELCC_ENCAPSULATOR_H

#include "event/timer.h"
#include "host/cpu.h"
#include "layer.h"
#include "message-log.h"
#include "transport/endpoint.h"

namespace tunnelcc
{

/**
 * Plain socket → carrier: one thread (in GOST, a goroutine) that reads up to a copy buffer, wraps
 * it into a message and writes that to the carrier, and blocks where a socket does.
 */
class Encapsulator
{
  public:
    /**
     * \param plain where application bytes come from
     * \param carrier where messages go
     * \param layers how a message is wrapped
     * \param copyBuffer most application bytes per message
     * \param prefix bytes before the first message's payload (relay request or response)
     * \param cpu the host's
     * \param costPerByte CPU ns per carrier byte
     * \param log where the messages lie in the carrier's stream
     */
    Encapsulator(TcpEndpoint& plain,
                 TcpEndpoint& carrier,
                 const std::vector<LayerSpec>& layers,
                 uint32_t copyBuffer,
                 uint32_t prefix,
                 Cpu& cpu,
                 double costPerByte,
                 MessageLog& log);

    /// The carrier's handshake is done.
    void Start(int64_t now);

    /// There is something to read, or the plain socket's stream has ended.
    void OnPlainReadable(int64_t now);

    /// The carrier takes data again.
    void OnCarrierWritable(int64_t now);

  private:
    enum class State
    {
        NOT_STARTED,
        READING,
        COMPUTING,
        WRITING,
        CLOSED
    };

    void ReadNext(int64_t now);
    void OnComputed(int64_t now);
    void WriteOn(int64_t now);

    TcpEndpoint& m_plain;
    TcpEndpoint& m_carrier;
    LayerStack m_layers;
    const uint32_t m_copyBuffer;
    uint32_t m_prefix;
    Cpu& m_cpu;
    const double m_costPerByte;
    MessageLog& m_log;
    State m_state{State::NOT_STARTED};
    std::vector<uint32_t> m_writes; //!< of the message being written
    size_t m_write{0};              //!< which of them is next
    Timer<Encapsulator, &Encapsulator::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_ENCAPSULATOR_H
