/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_SIDE_H
#define TUNNELCC_DATAGRAM_SIDE_H

#include "event/fifo.h"
#include "path/packet.h"
#include "path/path.h"
#include "relay-side.h"
#include "spec/end.h"
#include "spec/tunnel-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A relay's UDP socket towards an application. What the relay reads of it is one datagram at a
 * time, with a frame in front of its payload; what it writes becomes datagrams again where a frame
 * is complete. On the way between two relays frames are bytes of a stream.
 *
 * The first datagram of a client opens the flow, as GOST's UDP listener does. Datagrams that come
 * to a socket which is not open yet, or whose queue is full, are dropped.
 */
class DatagramSide final : public RelaySide, public PacketSink
{
  public:
    /// Datagrams between the two sockets of a flow, by the end that sends.
    using Logs = PerEnd<Fifo<Packet>>;

    /**
     * \param spec how the relay carries datagrams
     * \param header IP bytes of a datagram that are no payload
     * \param end of the flow that this socket is towards
     * \param channel to the application
     * \param application its socket
     * \param logs shared with the other end's side
     */
    DatagramSide(const RelayDatagramSpec& spec,
                 uint32_t header,
                 End end,
                 const Channel& channel,
                 PacketSink& application,
                 Logs& logs)
        : m_frame(spec.frame),
          m_isSeparate(spec.separate),
          m_queue(spec.queue),
          m_header(header),
          m_isClient(end == End::CLIENT),
          m_channel(channel),
          m_application(application),
          m_sent(logs[end]),
          m_received(logs[Other(end)])
    {
    }

    void SetUser(StreamUser& user) override
    {
        m_user = &user;
    }

    void Open(int64_t now) override
    {
        m_isOpen = true;
        m_user->OnOpen(now);
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
    {
        if ((!m_isOpen && !m_isClient) || m_waiting.Size() >= m_queue)
        {
            ++m_drops;
            return;
        }
        m_waiting.Push(packet);
        if (!m_isOpen)
        {
            Open(now);
        }
        m_user->OnReadable(now);
    }

    Chunk Read(int64_t /* now */, uint32_t /* limit */) override
    {
        if (m_waiting.IsEmpty())
        {
            return {};
        }
        if (m_isSeparate && !m_hasReadFrame)
        {
            m_hasReadFrame = true;
            return {m_frame, 0};
        }
        m_hasReadFrame = false;
        const Packet packet = m_waiting.Front();
        m_waiting.Pop();
        m_sent.Push(packet);
        return {FramedBytes(packet) - (m_isSeparate ? m_frame : 0), 0};
    }

    bool IsFinished() const override
    {
        return false;
    }

    double Prepare(uint32_t bytes) override
    {
        m_arrived += bytes;
        return 0;
    }

    bool Write(int64_t now) override
    {
        while (!m_received.IsEmpty() && m_arrived >= FramedBytes(m_received.Front()))
        {
            Packet packet = m_received.Front();
            m_received.Pop();
            m_arrived -= FramedBytes(packet);
            packet.sink = &m_application;
            m_channel.Send(now, packet, packet.datagramBytes);
        }
        return true;
    }

    void Close(int64_t /* now */) override
    {
    }

    /// The warm-up is over: count from now on.
    void StartMeasuring()
    {
        m_drops = 0;
    }

    /// Datagrams of the application that were dropped.
    uint64_t Drops() const
    {
        return m_drops;
    }

  private:
    uint32_t FramedBytes(const Packet& packet) const
    {
        return m_frame + packet.datagramBytes - m_header;
    }

    const uint32_t m_frame;
    const bool m_isSeparate; //!< the frame is read before its payload
    const uint32_t m_queue;
    const uint32_t m_header;
    const bool m_isClient;
    Channel m_channel;
    PacketSink& m_application;
    Fifo<Packet>& m_sent;
    Fifo<Packet>& m_received;
    StreamUser* m_user{nullptr};
    Fifo<Packet> m_waiting; //!< from the application, not read yet
    uint64_t m_arrived{0};  //!< bytes of frames that are not complete
    uint64_t m_drops{0};
    bool m_isOpen{false};
    bool m_hasReadFrame{false}; //!< of the datagram that waits first
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_SIDE_H
