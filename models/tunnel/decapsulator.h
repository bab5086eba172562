/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DECAPSULATOR_H
#define TUNNELCC_DECAPSULATOR_H

#include "event/timer.h"
#include "host/cpu.h"
#include "message-log.h"
#include "transport/endpoint.h"

namespace tunnelcc
{

/**
 * Carrier → plain socket: one thread that reads a whole message, and only then forwards its
 * application bytes, blocking where the plain socket does. Meanwhile the carrier's receive buffer
 * fills.
 */
class Decapsulator
{
  public:
    /**
     * \param carrier where messages come from
     * \param plain where application bytes go
     * \param cpu the host's
     * \param costPerByte CPU ns per carrier byte
     * \param log where the messages lie in the carrier's stream
     */
    Decapsulator(TcpEndpoint& carrier,
                 TcpEndpoint& plain,
                 Cpu& cpu,
                 double costPerByte,
                 MessageLog& log);

    /// The carrier's handshake is done: what comes now are messages.
    void Start(int64_t now);

    /// There is something to read, or the carrier's stream has ended.
    void OnCarrierReadable(int64_t now);

    /// The plain socket takes data again.
    void OnPlainWritable(int64_t now);

    /// Whether the first message has arrived.
    bool HasMessage() const
    {
        return m_hasMessage;
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

    void ReadOn(int64_t now);
    void OnComputed(int64_t now);
    void WriteOn(int64_t now);

    TcpEndpoint& m_carrier;
    TcpEndpoint& m_plain;
    Cpu& m_cpu;
    const double m_costPerByte;
    MessageLog& m_log;
    State m_state{State::NOT_STARTED};
    bool m_hasMessage{false};
    uint64_t m_left{0}; //!< application bytes of the message still to be written
    Timer<Decapsulator, &Decapsulator::OnComputed> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_DECAPSULATOR_H
