/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BOTTLENECK_H
#define TUNNELCC_BOTTLENECK_H

#include "histogram.h"
#include "link-watcher.h"
#include "packet-count.h"
#include "packet-sampler.h"
#include "policer.h"
#include "rate-schedule.h"
#include "spec/path-spec.h"
#include "steps.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// Packets that exceeded the MTU in front of the link, and fragments that a firewall dropped,
/// since the simulation began.
struct MtuCounts
{
    uint64_t tooBig{0};        //!< dropped
    uint64_t fragmented{0};    //!< in several pieces into the link
    uint64_t fragmentDrops{0}; //!< fragments, or packets that were to be fragmented
};

/**
 * Base of all bottlenecks: the rate, loss and policing around the queue, and the counts that probes
 * read. Where a policer and random loss are in the same place, the policer comes first.
 */
class Bottleneck
{
  public:
    virtual ~Bottleneck() = default;

    /// Bytes in the queue at time `now`, ns, without the packet in service. Calls come in order of
    /// time.
    virtual uint64_t WaitingBytes(int64_t now) = 0;

    /// Bytes served until `now`, with framing.
    virtual double ServedBytes(int64_t now) = 0;

    /// Packets that the queue dropped.
    virtual PacketCount Drops() const = 0;

    /// Packets that the queue marked (CE); empty if it never marks.
    virtual std::optional<PacketCount> Marks() const = 0;

    virtual uint64_t MaxWaitingBytes() const = 0;

    /// Bytes that the link could have served until `now`; 0 if its rate is not limited.
    double OfferedBytes(int64_t now) const
    {
        return m_rate.OfferedBytes(now);
    }

    /// Begin to measure: from now on, record waiting times and count the packets that arrive.
    void StartMeasuring()
    {
        m_isMeasuring = true;
    }

    /// Times that packets waited before their service began, ns.
    const Histogram& QueueDelay() const
    {
        return m_queueDelay;
    }

    /// Packets that arrived at the bottleneck.
    PacketCount PacketsIn() const
    {
        return m_packetsIn;
    }

    /// Packets lost at random, in an outage, or in flight at a hand-over.
    PacketCount RandomLosses() const
    {
        return m_randomLosses;
    }

    /// Packets that the policer dropped; empty if there is no policer.
    std::optional<PacketCount> PolicerDrops() const
    {
        return m_policer ? std::optional(m_policerDrops) : std::nullopt;
    }

    /// What the link did to a packet since the last call. \returns its latest deed; PASSED: none
    PacketFate TakeFate()
    {
        return std::exchange(m_fate, PacketFate::PASSED);
    }

    /// These counts; null: nobody counts.
    const MtuCounts* Mtu() const
    {
        return m_mtu ? &*m_mtu : nullptr;
    }

    /// Let somebody in front of the link count.
    MtuCounts& KeepMtu()
    {
        return m_mtu ? *m_mtu : m_mtu.emplace();
    }

  protected:
    Bottleneck(const LinkSpec& spec, const RandomStream& lossStream)
        : m_rate(spec),
          m_framing(spec.framing),
          m_handoverLoses(spec.handover == Handover::LOST && !spec.delaySteps.empty()),
          m_lossVaries(!spec.lossSteps.empty()),
          m_passesAll(!spec.policer && spec.loss == 0 && spec.lossSteps.empty() &&
                      !spec.gilbertElliott && !m_handoverLoses && spec.outages.empty()),
          m_lossBefore(spec.lossPosition == LinkPosition::BEFORE),
          m_policesBefore(spec.policer && spec.policer->position == LinkPosition::BEFORE),
          m_policesAfter(spec.policer && spec.policer->position == LinkPosition::AFTER),
          m_loss(spec, lossStream),
          m_lossSteps(spec.lossSteps),
          m_outages(spec.outages),
          m_delay(spec.delay),
          m_delaySteps(spec.delaySteps)
    {
        if (spec.policer)
        {
            m_policer.emplace(*spec.policer);
        }
    }

    /// Count packets that arrive.
    void CountIn(uint32_t packets = 1)
    {
        m_packetsIn.Add(m_isMeasuring, packets);
    }

    /// Whether an arriving packet reaches the queue: loss and policing before it.
    bool Admit(int64_t now, uint32_t bytes)
    {
        return m_passesAll || (!(m_policesBefore && !Police(now, bytes, m_isMeasuring)) &&
                               !(m_lossBefore && Lose(now, m_isMeasuring)));
    }

    /// Whether a packet that leaves the link at `departure` survives loss and policing behind it.
    bool Release(int64_t departure, uint32_t bytes, bool isMeasured)
    {
        return m_passesAll || (!(m_policesAfter && !Police(departure, bytes, isMeasured)) &&
                               !(!m_lossBefore && Lose(departure, isMeasured)) &&
                               !(m_handoverLoses && LoseAtHandover(departure, isMeasured)) &&
                               !(!m_outages.empty() && LoseInOutage(departure, isMeasured)));
    }

    RateSchedule m_rate;
    uint32_t m_framing; //!< bytes
    bool m_isMeasuring{false};
    PacketFate m_fate{PacketFate::PASSED}; //!< for TakeFate()
    Histogram m_queueDelay;

  private:
    bool Lose(int64_t now, bool isMeasured)
    {
        if (m_lossVaries) [[unlikely]]
        {
            ChangeLoss(now);
        }
        bool isLost = m_loss.PickNext();
        if (isLost)
        {
            m_fate = PacketFate::LOST;
            m_randomLosses.Add(isMeasured);
        }
        return isLost;
    }

    /// Not inline, as what follows: links without steps would pay for its registers.
    [[gnu::noinline]] void ChangeLoss(int64_t now)
    {
        if (const LossStep* step = m_lossSteps.Reach(now))
        {
            m_loss.SetProbability(step->loss);
        }
    }

    /// Whether the delay changes while a packet is in flight.
    [[gnu::noinline]] bool LoseAtHandover(int64_t departure, bool isMeasured)
    {
        if (const DelayStep* step = m_delaySteps.Reach(departure))
        {
            m_delay = step->delay;
        }
        const DelayStep* next = m_delaySteps.Next();
        const bool isLost = next && next->time < departure + m_delay;
        if (isLost)
        {
            m_fate = PacketFate::LOST;
            m_randomLosses.Add(isMeasured);
        }
        return isLost;
    }

    /// Whether the link is cut when a packet leaves it.
    [[gnu::noinline]] bool LoseInOutage(int64_t departure, bool isMeasured)
    {
        while (m_nextOutage < m_outages.size() && m_outages[m_nextOutage].end <= departure)
        {
            ++m_nextOutage;
        }
        const bool isLost =
            m_nextOutage < m_outages.size() && m_outages[m_nextOutage].begin <= departure;
        if (isLost)
        {
            m_fate = PacketFate::LOST;
            m_randomLosses.Add(isMeasured);
        }
        return isLost;
    }

    bool Police(int64_t now, uint32_t bytes, bool isMeasured)
    {
        bool passes = m_policer->Admit(now, bytes);
        if (!passes)
        {
            m_fate = PacketFate::POLICED;
            m_policerDrops.Add(isMeasured);
        }
        return passes;
    }

    bool m_handoverLoses;
    bool m_lossVaries;
    bool m_passesAll; //!< no loss and no policer
    bool m_lossBefore;
    bool m_policesBefore;
    bool m_policesAfter;
    PacketSampler m_loss;
    std::optional<Policer> m_policer;
    PacketCount m_packetsIn;
    PacketCount m_randomLosses;
    PacketCount m_policerDrops;
    std::optional<MtuCounts> m_mtu;
    Steps<LossStep> m_lossSteps;
    std::vector<OutageSpec> m_outages;
    size_t m_nextOutage{0}; //!< the first that is not over
    int64_t m_delay;        //!< of the packet that left last, ns; counted if m_handoverLoses
    Steps<DelayStep> m_delaySteps;
};

} // namespace tunnelcc

#endif // TUNNELCC_BOTTLENECK_H
