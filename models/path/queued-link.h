/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUEUED_LINK_H
#define TUNNELCC_QUEUED_LINK_H

#include "bottleneck.h"
#include "event/event-loop.h"
#include "link-watcher.h"
#include "packet-device.h"
#include "propagation.h"
#include "queue-disc.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

namespace tunnelcc
{

/**
 * Bottleneck behind a queue discipline that decides as packets leave, or changes their order, so
 * that packets must wait in memory.
 *
 * Whatever happens to the link next follows from what has arrived. It is worked out when somebody
 * comes or looks, and otherwise by an event that is late by the shortest delay behind the link,
 * which nobody can notice: many departures share one event.
 */
class QueuedLink final : public Bottleneck, private EventSource
{
  public:
    /// \param spec the link, with a discipline
    /// \param lossStream random numbers that choose the packets to lose
    /// \param queueStream random numbers of the discipline
    QueuedLink(const LinkSpec& spec,
               const ns3::RngStream& lossStream,
               const ns3::RngStream& queueStream)
        : Bottleneck(spec, lossStream),
          m_disc(MakeQueueDisc(spec, m_store, queueStream))
    {
    }

    /// Tell of what becomes of packets from now on.
    void SetWatcher(LinkWatcher* watcher)
    {
        m_watcher = watcher;
        m_disc->SetWatcher(watcher);
    }

    /// Prepare for packets that will leave by `exit`.
    void AddExit(const Propagation& exit)
    {
        m_leastDelay = std::min(m_leastDelay, exit.Delay());
    }

    /**
     * Offer a packet.
     *
     * \param now arrival, ns
     * \param packet the packet
     * \param ipBytes its size without framing
     * \param extras what goes with it, if Packet::HasExtras()
     * \param flow number of the connection's end that sent it
     * \param exit where it goes from the link
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
    void Arm();

    PacketStore m_store;
    std::unique_ptr<QueueDisc> m_disc;
    LinkWatcher* m_watcher{nullptr};
    int64_t m_leastDelay{std::numeric_limits<int64_t>::max()}; //!< of all exits, ns
    bool m_isArmed{false};                                     //!< an event is pending
    bool m_isIdle{true};                                       //!< the link found nothing to send
    int64_t m_serviceStart{0};                                 //!< of the latest packet served, ns
    int64_t m_freeAt{0};                                       //!< when it has left, ns
    uint32_t m_servedLast{0};                                  //!< its bytes
    uint64_t m_servedBytes{0}; //!< of all packets whose service has begun
};

/// Entrance of one sender's packets to a queued link.
class QueuedPort final : public PacketDevice
{
  public:
    /// \param exit where the packets go from the link
    /// \param flow number of the sender, for disciplines that tell flows apart
    QueuedPort(QueuedLink& link, Propagation& exit, uint32_t flow)
        : m_link(link),
          m_exit(exit),
          m_flow(flow)
    {
        link.AddExit(exit);
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
