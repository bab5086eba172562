/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MULTIPATH_CONNECTION_H
#define TUNNELCC_MULTIPATH_CONNECTION_H

#include "leg.h"
#include "multipath/mptcp-endpoint.h"
#include "spec/end.h"

#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

class StreamContents;

/// A connection over several paths, of MPTCP or of QUIC. Each path is a leg.
struct MultipathConnection
{
    std::vector<Leg*> legs;
    PerEnd<std::unique_ptr<MptcpEndpoint>> ends; //!< of MPTCP; else null
    std::deque<PerEnd<MappingLog>> mappings;     //!< of each subflow of it, by the end that sends
    LegEnds<QuicConnection> quic;                //!< of QUIC; else null
    PerEnd<StreamContents*> contents{};          //!< what is captured of MPTCP; null: nothing

    /// What a program at one end reads and writes: of QUIC one more stream each time.
    ByteStream& Stream(End end)
    {
        return ends[end] ? static_cast<ByteStream&>(*ends[end]) : quic[end]->AddStream();
    }

    /// Whether bytes in order cross it, and not datagrams.
    bool CarriesBytes() const
    {
        return ends.client || quic.client->HasStreams();
    }

    /// Count what the order of arrival costs a receiver from now on.
    void StartMeasuring(int64_t now, End receiver)
    {
        ends[receiver] ? ends[receiver]->Data().StartMeasuring(now)
                       : quic[receiver]->StartMeasuring(now);
    }

    /// Counts of that until now.
    ReorderingCounters Reordering(int64_t now, End receiver)
    {
        return ends[receiver] ? ends[receiver]->Data().Counters(now)
                              : quic[receiver]->Reordering(now);
    }

    /// Bytes that an end gave to a second path.
    uint64_t Reinjected(End sender) const
    {
        return ends[sender] ? ends[sender]->Reinjected() : quic[sender]->Reinjected();
    }
};

/// Make a connection of TCP connections. \param tcp,multipath of all of them; outlive it
MultipathConnection JoinSubflows(EventLoop& loop,
                                 const TcpSpec& tcp,
                                 const MultipathSpec& multipath,
                                 const std::vector<Leg*>& subflows);

} // namespace tunnelcc

#endif // TUNNELCC_MULTIPATH_CONNECTION_H
