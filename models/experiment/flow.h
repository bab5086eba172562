/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FLOW_H
#define TUNNELCC_FLOW_H

#include "leg.h"
#include "multipath-connection.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-sender.h"
#include "tunnel/datagram-side.h"
#include "tunnel/relay.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// The applications of a flow of datagrams.
struct Datagrams
{
    /// \param playout of the receiver's playout buffer, see DatagramMeter
    explicit Datagrams(int64_t playout)
        : meter(playout)
    {
    }

    DatagramMeter meter;
    std::unique_ptr<DatagramSender> sender; //!< from World::Start() on
    std::unique_ptr<DatagramReceiver> receiver;
    DatagramSide::Logs logs;        //!< of what is in a relay's carriers
    PerEnd<DatagramSide*> relays{}; //!< that take what each end sends; null: there is none
};

/// Everything that belongs to one flow.
struct Flow
{
    /// It goes through one more connection. \param leg it, or its first subflow
    /// \param paths of one with several; null: it has one
    void AddLegs(Leg& leg, MultipathConnection* paths)
    {
        multipath = paths ? paths : multipath;
        paths ? legs.insert(legs.end(), paths->legs.begin(), paths->legs.end())
              : legs.insert(legs.end(), &leg);
    }

    std::vector<Leg*> legs;     //!< from the client's application to the server's; subflows side by
                                //!< side
    ByteStream* first{nullptr}; //!< what the client's application opens; null: datagrams
    std::unique_ptr<BulkSender> sender;
    std::unique_ptr<BulkReceiver> receiver;
    MultipathConnection* multipath{nullptr};    //!< its own, or its carrier; null: it has one path
    std::unique_ptr<Datagrams> datagrams;       //!< in place of sender and receiver
    std::vector<std::unique_ptr<Relay>> relays; //!< from the client on
    std::vector<std::unique_ptr<RelaySide>> sides;
};

/// The sockets of a flow's applications.
using Sockets = PerEnd<ByteStream&>;

/// The ends of a flow of datagrams, and what relays need of it.
struct UdpParts
{
    Flow& flow;
    PerEnd<PacketSink*> sockets;
    PerEnd<PacketSink*> peers; //!< what each sends to
    DatagramSide::Logs& logs;
    PerEnd<bool> areTapped{}; //!< what the sockets send into is captured
};

} // namespace tunnelcc

#endif // TUNNELCC_FLOW_H
