/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_BUILDER_H
#define TUNNELCC_RELAY_BUILDER_H

#include "relay-carrier.h"
#include "tunnel-builder.h"

#include <deque>
#include <vector>

namespace tunnelcc
{

/// Makes a relay tunnel: an application's loopback, a carrier across each hop, the target's
/// loopback, and a relay between each two of these.
class RelayBuilder final : public TunnelBuilder
{
  public:
    /// A tunnel's connection across one hop, and the contents of what it carries.
    struct Carrier final : RelayCarrier
    {
        Leg* leg{nullptr};                   //!< of several paths the first one
        MultipathConnection* paths{nullptr}; //!< null: it has one path
        std::deque<CarrierSide::Logs> logs;  //!< of each flow

        ByteStream& Stream(End end) override
        {
            return paths ? paths->Stream(end) : leg->Stream(end);
        }

        void ConnectQuic(int64_t now) override
        {
            (paths ? paths->quic : leg->Quic()).client->Connect(now);
        }
    };

    /// What crosses one hop.
    struct Hop
    {
        std::deque<Carrier> carriers;
        LegEnds<RudpSession> sessions; //!< what carriers of RUDP share
    };

    /// \param firstCarrier number of its first carrier among those of all tunnels
    RelayBuilder(const Site& site, const RelaySpec& spec, uint32_t firstCarrier);

    Sockets AddFlow(uint32_t index, Flow& flow) override;
    PerEnd<Channel> AddDatagrams(const FlowSpec& spec, UdpParts& parts) override;
    EventSources Dial() override;

    std::deque<Hop>& Hops()
    {
        return m_hops;
    }

  private:
    PerEnd<Host&> HostsBeside(const FlowSpec& flow, End end) const;
    Channel BesideRelay(const FlowSpec& flow, End end, End sender) const;
    Leg& AddAccessLeg(uint32_t index, End end);
    /// As of LegBuilder. \param tunnel number of this one
    PerEnd<CarrierContents*> ContentsOf(const PerEnd<StreamContents*>& streams,
                                        uint32_t tunnel) const;
    Carrier& AddCarrier(size_t hop, const FlowSpec& flow);
    void AddCarriers(const FlowSpec& spec, Flow& flow);
    void AddRelays(const FlowSpec& flowSpec,
                   Flow& flow,
                   PerEnd<std::unique_ptr<RelaySide>> toApplications);

    const Site& m_site;
    const RelaySpec& m_spec;
    const uint32_t m_firstCarrier;
    std::deque<Hop> m_hops;
};

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_BUILDER_H
