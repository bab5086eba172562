/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_SOURCE_H
#define TUNNELCC_DATAGRAM_SOURCE_H

#include "event/event-loop.h"
#include "path/path.h"
#include "spec/traffic-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// Counts the datagrams that arrive, out of those that were sent since counting began.
class DatagramSink final : public PacketSink
{
  public:
    void Receive(int64_t /* now */, const Packet& packet, const PacketExtras* /* extras */) override
    {
        m_packets += packet.segment >= m_first;
    }

    /// Start counting again, from the datagram of this number on.
    void CountFrom(uint64_t first)
    {
        m_first = first;
        m_packets = 0;
    }

    uint64_t Packets() const
    {
        return m_packets;
    }

  private:
    uint64_t m_first{0};
    uint64_t m_packets{0};
};

/**
 * UDP cross traffic: datagrams of one size at a constant rate, without any congestion control, in
 * periods of sending and silence.
 */
class DatagramSource final : public EventSource
{
  public:
    /**
     * \param spec rate, size and times
     * \param channel where the datagrams go
     */
    DatagramSource(const DatagramSpec& spec, const Channel& channel);

    void Fire(int64_t now) override;

    /// Count from now on: datagrams sent, and those of them that arrive.
    void StartMeasuring()
    {
        m_sentBefore = m_sent;
        m_sink.CountFrom(m_sent);
    }

    uint64_t Sent() const
    {
        return m_sent - m_sentBefore;
    }

    uint64_t Received() const
    {
        return m_sink.Packets();
    }

  private:
    int64_t TimeOf(uint64_t packet) const;

    DatagramSpec m_spec;
    Channel m_channel;
    DatagramSink m_sink;
    uint64_t m_sent{0};       //!< so far
    uint64_t m_sentBefore{0}; //!< measuring began
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_SOURCE_H
