/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_CARRIER_H
#define TUNNELCC_RELAY_CARRIER_H

#include "spec/tunnel-spec.h"
#include "tunnel/carrier-side.h"
#include "tunnel/mux-session.h"
#include "tunnel/relay.h"
#include "wire/carrier-contents.h"

#include <functional>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// A connection between two relays, and what they make of it.
class RelayCarrier
{
  public:
    virtual ~RelayCarrier() = default;

    /// What a relay at one end reads and writes: of QUIC one more stream each time.
    virtual ByteStream& Stream(End end) = 0;

    /// Let flows share it as the tunnel's protocol does, if it does.
    void Share(const RelaySpec& spec, const PerEnd<Cpu&>& cpus);

    /// One more flow's side of the relay at one end. \param logs the flow's, shared with the other
    /// end
    std::unique_ptr<RelaySide> MakeSide(const RelaySpec& spec, End end, CarrierSide::Logs& logs);

    /// Connect, although no flow wants it yet. \pre flows share it
    void Dial(int64_t now);

    PerEnd<CarrierContents*> contents{};          //!< what its bytes are told to; null: nothing
    PerEnd<std::unique_ptr<MuxSession>> sessions; //!< if flows share it

  private:
    /// Connect that of QUIC. \pre it is one
    virtual void ConnectQuic(int64_t now) = 0;

    MuxLogs m_muxLogs;
};

/// The relays of a flow. \param sides two of each, from the client on  \param cpuOf of a relay
std::vector<std::unique_ptr<Relay>> MakeRelays(const RelaySpec& spec,
                                               const std::vector<std::unique_ptr<RelaySide>>& sides,
                                               const std::function<Cpu&(size_t relay)>& cpuOf);

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_CARRIER_H
