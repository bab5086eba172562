/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUEUED_LINK_H
#define TUNNELCC_QUEUED_LINK_H

#include "bottleneck.h"
#include "event/event-loop.h"
#include "event/time-units.h"
#include "link-watcher.h"
#include "packet-device.h"
#include "propagation.h"
#include "queue-disc.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace tunnelcc
{

/**
 * A bottleneck with a queue discipline. Such a discipline decides when packets leave, or changes
 * their order, so packets wait in memory.
 *
 * Departures follow from the arrivals so far. They are computed when a packet arrives or a probe
 * looks, and otherwise by an event. That event is late by the shortest delay behind the link, which
 * changes no arrival behind it. So many departures share one event.
 */
class QueuedLink final : public Bottleneck, private EventSource
{
  public:
    /// \param spec the link, with a queue discipline
    /// \param lossStream random numbers of the loss
    /// \param queueStream random numbers of the discipline
    QueuedLink(EventLoop& loop,
               const LinkSpec& spec,
               const RandomStream& lossStream,
               const RandomStream& queueStream)
        : Bottleneck(spec, lossStream),
          EventSource(loop),
          m_disc(MakeQueueDisc(spec, m_store, queueStream)),
          m_bufferSteps(spec.bufferSteps)
    {
    }

    /// Tell of what becomes of packets from now on.
    void SetWatcher(LinkWatcher* watcher)
    {
        m_watcher = watcher;
        m_disc->SetWatcher(watcher);
    }

    /// Announce packets of one sender. \param exit by which they leave \param flow, hosts as for
    /// QueueDisc::AddFlow()
    void AddFlow(const Propagation& exit, uint32_t flow, const FlowHosts& hosts)
    {
        m_leastDelay = std::min(m_leastDelay, exit.Delay());
        m_disc->AddFlow(flow, hosts);
    }

    /**
     * Put a packet into the queue.
     *
     * \param now time of arrival, ns
     * \param packet the packet
     * \param ipBytes its size without framing, bytes
     * \param extras its extras, if Packet::HasExtras()
     * \param flow number of the connection's end that sent it
     * \param exit its way behind the link
     */
    void Enqueue(int64_t now,
                 const Packet& packet,
                 uint32_t ipBytes,
                 const PacketExtras* extras,
                 uint32_t flow,
                 Propagation& exit);

    uint64_t WaitingBytes(int64_t now) override
    {
        ServeUntil(now);
        return m_disc->WaitingBytes();
    }

    double ServedBytes(int64_t now) override;

    PacketCount Drops() const override
    {
        return m_disc->Drops();
    }

    std::optional<PacketCount> Marks() const override
    {
        return m_disc->Marks();
    }

    uint64_t MaxWaitingBytes() const override
    {
        return m_disc->MaxWaitingBytes();
    }

    void Fire(int64_t now) override;

  private:
    void ServeUntil(int64_t now);
    bool ServeNext(int64_t start);
    /// Not inline, or links that nobody watches would pay for its registers.
    [[gnu::noinline]] void TellWatcher(int64_t packet);
    void Arm();

    PacketStore m_store;
    std::unique_ptr<QueueDisc> m_disc;
    Steps<BufferStep> m_bufferSteps;
    LinkWatcher* m_watcher{nullptr};
    int64_t m_leastDelay{NEVER}; //!< the least delay of all exits, ns
    bool m_isArmed{false};       //!< an event is pending
    bool m_isIdle{true};         //!< the link found nothing to send
    int64_t m_serviceStart{0};   //!< time at which the service of the latest packet began, ns
    int64_t m_freeAt{0};         //!< time at which it has left, ns
    int64_t m_nextAt{0};         //!< time at which the link may ask for the next one, ns
    uint32_t m_servedLast{0};    //!< its size, bytes
    uint64_t m_servedBytes{0};   //!< bytes of all packets whose service has begun
};

/// The entry of one sender's packets into a queued link.
class QueuedPort final : public PacketDevice
{
  public:
    /// \param exit the way of the packets behind the link
    /// \param flow number of the sender, for disciplines with a queue for each flow
    /// \param hosts from which and to which it sends
    QueuedPort(QueuedLink& link, Propagation& exit, uint32_t flow, const FlowHosts& hosts)
        : m_link(link),
          m_exit(exit),
          m_flow(flow)
    {
        link.AddFlow(exit, flow, hosts);
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        m_link.Enqueue(now, packet, ipBytes, extras, m_flow, m_exit);
    }

  private:
    QueuedLink& m_link;
    Propagation& m_exit;
    uint32_t m_flow;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUEUED_LINK_H
