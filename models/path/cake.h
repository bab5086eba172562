/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAKE_H
#define TUNNELCC_CAKE_H

#include "event/random-stream.h"
#include "flow-hash.h"
#include "queue-disc.h"

#include <cstdint>
#include <list>
#include <vector>

namespace tunnelcc
{

/**
 * COBALT, the queue management of CAKE: CoDel that goes on where it was when a queue fills again,
 * and BLUE against flows that do not respond (Høiland-Jørgensen, Täht and Morton 2018, section
 * III.D; Linux sch_cake cobalt_should_drop()).
 */
class Cobalt
{
  public:
    /// Times in ns.
    struct Times
    {
        int64_t target;
        int64_t interval;
        int64_t packet; //!< service of the largest one
    };

    /// What becomes of a packet that leaves a queue. BLUE drops packets that CoDel marked, too.
    struct Fate
    {
        bool isMarked;
        bool isDropped;
    };

    /// The queue overflows and drops a packet at `now`.
    void OnFull(int64_t now, const Times& times);

    /// The queue had its turn at `now`, but was empty.
    void OnEmpty(int64_t now, const Times& times);

    /**
     * A packet leaves.
     * \param waited for how long, ns
     * \param bulk number of queues that fill the link, if they count, otherwise 0
     * \param canMark whether the packet can be marked
     * \param stream for BLUE
     */
    Fate Judge(int64_t now,
               int64_t waited,
               uint32_t bulk,
               bool canMark,
               const Times& times,
               RandomStream& stream);

    /// Whether it remembers anything that time has not worn off by `now`.
    bool IsActive(int64_t now) const
    {
        return m_probability || m_count || now < m_dropNext;
    }

  private:
    void SetCount(uint32_t count);
    void Schedule(int64_t from, int64_t interval);

    uint32_t m_count{0}; //!< of drops, less those that time has worn off
    /// 1 / sqrt(m_count), in units of 2^-32. A new queue has 0, as in Linux: it drops the second
    /// late packet, not the first one after an interval. Only when the count changes is it set.
    uint32_t m_inverseRoot{0};
    uint32_t m_probability{0}; //!< of BLUE, in units of 2^-32
    int64_t m_dropNext{0};     //!< time of the next drop or decay, ns
    int64_t m_changed{0};      //!< when the probability last changed, ns
    bool m_isDropping{false};
};

/**
 * CAKE: a shaper, queues that share the link fairly between hosts and between their flows, and
 * COBALT in each queue (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue
 * Management Solution for Home Gateways", LANMAN 2018; Linux 6.1 sch_cake.c).
 *
 * All packets are in one tin (`besteffort`): packets have no DiffServ code points here, and
 * diffserv3, the default, puts those without one into one tin that has the whole link. As in
 * FQ-CoDel, a flow is what one end of a connection sends. 1024 queues are sets of eight; flows
 * share a queue only if more than eight are in a set. Without a bandwidth the shaper is off, and
 * the link's rate counts.
 */
class CakeQueueDisc final : public QueueDisc
{
  public:
    CakeQueueDisc(const LinkSpec& link,
                  const CakeSpec& spec,
                  PacketStore& store,
                  RandomStream stream);

    void AddFlow(uint32_t flow, const FlowHosts& hosts) override;
    bool Enqueue(int64_t now, QueuedPacket* packet) override;
    QueuedPacket* Dequeue(int64_t now) override;

    /// Bytes that the shaper counts for an IP packet (sch_cake cake_calc_overhead()).
    uint32_t Counted(uint32_t ipBytes) const;

  private:
    /// Which turns a queue takes, and whether it counts as one that fills the link.
    enum class Role : uint8_t
    {
        NONE,        //!< it is not in use
        SPARSE,      //!< before the others, until it has used up its quantum
        SPARSE_WAIT, //!< it used up its quantum, but ran empty
        BULK,
        DECAYING //!< empty, but its COBALT remembers drops
    };

    struct FlowQueue
    {
        uint32_t number{0};
        uint64_t tag{0}; //!< hash of the latest flow
        PacketQueue packets;
        Cobalt cobalt;
        int64_t deficit{0}; //!< bytes that it may still send in its turn
        FlowHosts hosts;
        Role role{Role::NONE};
    };

    /// Queues in the order of their turns. Queues move between lists, and nothing is allocated.
    using Turns = std::list<FlowQueue>;

    uint64_t TagOf(uint32_t flow) const;
    FlowQueue& QueueOf(uint32_t flow);
    void MoveToEnd(Turns& turns, FlowQueue& queue);
    Turns& TurnsOf(const FlowQueue& queue);
    void BecomeBulk(FlowQueue& queue);
    void StopBeingBulk(const FlowQueue& queue);
    /// Count its hosts, if it fills the link.
    void CountHosts(const FlowQueue& queue, int32_t change);
    /// \returns bytes of a turn, rounded at random
    int64_t Quantum(const FlowQueue& queue);
    void RunEmpty(int64_t now, FlowQueue& queue);
    const QueuedPacket* DropFromLongest(int64_t now);
    QueuedPacket* FilterAck(FlowQueue& queue, const QueuedPacket& newest);
    /// Count a packet in the shaper, dropped or sent. \returns its bytes
    uint32_t Advance(const QueuedPacket& packet, bool isSent);

    const CakeSpec m_spec;
    const uint32_t m_framing; //!< bytes of a packet that are not its own
    uint32_t m_quantum;       //!< bytes
    Cobalt::Times m_times;
    RandomStream m_stream;
    FlowHash m_hash;
    bool m_countsSources;            //!< hosts that send share the link
    bool m_countsDestinations;       //!< hosts that receive share it
    std::vector<FlowHosts> m_hosts;  //!< of each flow
    std::vector<uint32_t> m_sources; //!< queues that fill the link, of each host that sends
    std::vector<uint32_t> m_destinations;
    std::vector<Turns::iterator> m_queues;
    Turns m_unused;
    Turns m_new;
    Turns m_old;
    Turns m_decaying;
    uint32_t m_bulk{0};    //!< queues that fill the link
    int64_t m_nextAt{0};   //!< when the shaper passes a packet, ns
    int64_t m_failsafe{0}; //!< when it passes one whatever was dropped, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_CAKE_H
