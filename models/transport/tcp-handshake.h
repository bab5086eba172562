/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_HANDSHAKE_H
#define TUNNELCC_TCP_HANDSHAKE_H

#include "event/timer.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// Sends the SYNs that a TcpHandshake asks for.
class SynOutput
{
  public:
    virtual ~SynOutput() = default;

    /// \param isAnswer a SYN-ACK
    virtual void SendSyn(int64_t now, bool isAnswer) = 0;
};

/**
 * One end of the handshake (RFC 9293, section 3.5): its state, and the SYN or SYN-ACK, which is
 * sent again until an answer comes or the end gives up (RFC 6298, as in Linux).
 */
class TcpHandshake
{
  public:
    enum class State
    {
        CLOSED,
        SYN_SENT,
        SYN_RECEIVED,
        ESTABLISHED
    };

    /// \param linearTimeouts time-outs of a SYN before they double  \param output sends the SYNs
    TcpHandshake(EventLoop& loop, uint32_t linearTimeouts, SynOutput& output)
        : m_linearTimeouts(linearTimeouts),
          m_output(output),
          m_timer(loop, this)
    {
    }

    State GetState() const
    {
        return m_state;
    }

    /// Open actively.
    void Connect(int64_t now);

    /// Answer a SYN.
    void Accept(int64_t now);

    /// The other end has answered.
    void Establish(int64_t now);

    /// Round-trip time of the handshake, ns; none: unknown, as a SYN was sent again. \param now ns
    /// \param echo our timestamp that the answer echoes, ms; none: without timestamps
    std::optional<int64_t> Rtt(int64_t now, std::optional<uint32_t> echo) const;

    /// Whether so many SYNs were lost that the window begins with one segment.
    /// \param echo as of Rtt()
    bool LostSyns(std::optional<uint32_t> echo) const;

    /// When the connection was established, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When this end gave up, as no answer to its SYNs came, ns; −1: it has not.
    int64_t FailedTime() const
    {
        return m_failedTime;
    }

    /// As TcpEndpoint::Withdraw().
    void Withdraw()
    {
        m_timer.Withdraw();
    }

  private:
    void Send(int64_t now);
    uint32_t LinearTimeouts() const;
    void OnTimer(int64_t now);

    State m_state{State::CLOSED};
    const uint32_t m_linearTimeouts;
    SynOutput& m_output;
    int64_t m_firstTime{0}; //!< of the first SYN or SYN-ACK, ns
    int64_t m_sendTime{0};  //!< of the latest one, ns
    uint32_t m_retries{0};  //!< SYNs or SYN-ACKs sent again after a time-out
    uint32_t m_sent{0};     //!< SYNs or SYN-ACKs, answers to repeated SYNs included
    int64_t m_establishedTime{-1};
    int64_t m_failedTime{-1};
    Timer<TcpHandshake, &TcpHandshake::OnTimer> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_HANDSHAKE_H
