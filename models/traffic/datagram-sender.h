/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_SENDER_H
#define TUNNELCC_DATAGRAM_SENDER_H

#include "datagram-meter.h"
#include "datagram-socket.h"
#include "event/event-loop.h"
#include "event/fifo.h"
#include "event/random-stream.h"
#include "event/timer.h"
#include "spec/traffic-spec.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Sends datagrams without any congestion control, in periods of sending and silence: one, or
 * several at once, at equal or exponentially distributed intervals. If they are requests, it waits
 * for the answers, and sends a request again that gets none in time.
 */
class DatagramSender final : public EventSource, private DatagramUser
{
  public:
    /**
     * \param flow what to send and when; has datagrams
     * \param socket where
     * \param draws random numbers of its intervals
     * \param meter is told of answers
     */
    DatagramSender(EventLoop& loop,
                   const FlowSpec& flow,
                   DatagramSocket& socket,
                   const RandomStream& draws,
                   DatagramMeter& meter);

    void Fire(int64_t now) override;

    /// Count from now on: datagrams sent, and those of them that arrive.
    void StartMeasuring()
    {
        m_sentBefore = m_sent;
        m_resentBefore = m_resent;
        m_meter.CountFrom(static_cast<uint32_t>(m_sent));
    }

    /// Datagrams, or requests, each once.
    uint64_t Sent() const
    {
        return m_sent - m_sentBefore;
    }

    /// Number of the next one.
    uint32_t Next() const
    {
        return static_cast<uint32_t>(m_sent);
    }

    /// Requests that were sent again.
    uint64_t Resent() const
    {
        return m_resent - m_resentBefore;
    }

    const DatagramMeter& Meter() const
    {
        return m_meter;
    }

    DatagramMeter& Meter()
    {
        return m_meter;
    }

  private:
    /// A request that waits for an answer.
    struct Attempt
    {
        uint32_t number;
        uint32_t count;   //!< of attempts, this one included
        int64_t sentAt;   //!< the first one, ns
        int64_t deadline; //!< of this one, ns
    };

    int64_t TimeOf(uint64_t burst) const;
    int64_t NextTime();
    int64_t Draw(double mean);
    void Request(int64_t now, Attempt attempt);
    void OnRetry(int64_t now);
    void OnDatagram(int64_t now, const Packet& packet) override;

    const DatagramSpec m_spec;
    const int64_t m_start;
    const int64_t m_stop; //!< 0: never
    const bool m_isDrawn;
    const double m_burstBytes; //!< IP bytes of what is sent at once
    DatagramSocket& m_socket;
    RandomStream m_draws;
    DatagramMeter& m_meter;
    int64_t m_clock;          //!< time of the latest burst, if drawn, ns
    int64_t m_pauseAt{0};     //!< when silence begins, if drawn, ns
    uint64_t m_bursts{0};     //!< so far
    uint64_t m_sent{0};       //!< so far
    uint64_t m_sentBefore{0}; //!< measuring began
    uint64_t m_resent{0};     //!< so far
    uint64_t m_resentBefore{0};
    Fifo<Attempt> m_attempts;       //!< that wait, by deadline
    std::vector<bool> m_isAnswered; //!< of each request that can be sent again
    Timer<DatagramSender, &DatagramSender::OnRetry> m_retryTimer;
};

/// Gets the datagrams of a flow: tells the meter, or answers requests.
class DatagramReceiver final : private DatagramUser
{
  public:
    /// \param spec of the datagrams \param socket where they arrive \param meter told of datagrams
    DatagramReceiver(const DatagramSpec& spec, DatagramSocket& socket, DatagramMeter& meter)
        : m_answer(spec.answer),
          m_socket(socket),
          m_meter(meter)
    {
        socket.SetReceiver(*this);
    }

  private:
    void OnDatagram(int64_t now, const Packet& packet) override
    {
        if (m_answer > 0)
        {
            m_socket.Send(now, packet.segment, SentAt(packet), m_answer);
            return;
        }
        m_meter.Record(now, packet.segment, SentAt(packet));
    }

    const uint32_t m_answer;
    DatagramSocket& m_socket;
    DatagramMeter& m_meter;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_SENDER_H
