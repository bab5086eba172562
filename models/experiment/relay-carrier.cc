/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "relay-carrier.h"

namespace tunnelcc
{

void
RelayCarrier::Share(const RelaySpec& spec, const PerEnd<Cpu&>& cpus)
{
    if (!spec.mux)
    {
        return;
    }
    for (End end : ENDS)
    {
        sessions[end] = std::make_unique<MuxSession>(spec, end, Stream(end), cpus[end], m_muxLogs);
        sessions[end]->SetWatcher(contents[end]);
    }
}

std::unique_ptr<RelaySide>
RelayCarrier::MakeSide(const RelaySpec& spec, End end, CarrierSide::Logs& logs)
{
    if (sessions[end])
    {
        return sessions[end]->AddStream();
    }
    auto side = std::make_unique<CarrierSide>(spec, end, Stream(end), logs);
    side->SetWatcher(contents[end]);
    return side;
}

void
RelayCarrier::Dial(int64_t now)
{
    if (sessions.client)
    {
        sessions.client->Dial(now);
    }
    else
    {
        ConnectQuic(now);
    }
}

std::vector<std::unique_ptr<Relay>>
MakeRelays(const RelaySpec& spec,
           const std::vector<std::unique_ptr<RelaySide>>& sides,
           const std::function<Cpu&(size_t relay)>& cpuOf)
{
    // A relay learns where to dial with the first data, or before them: from the handshake, or
    // from the frame that opens a stream and that the other end wants answered.
    const bool isTold = spec.sent.client.prefix == 0 || (spec.mux && spec.mux->frames.accept > 0);
    std::vector<std::unique_ptr<Relay>> relays;
    for (size_t number = 0; 2 * number < sides.size(); ++number)
    {
        const auto dials =
            number == 0 || isTold ? Relay::Dials::IMMEDIATELY : Relay::Dials::ON_FIRST_DATA;
        relays.push_back(std::make_unique<Relay>(*sides[2 * number],
                                                 *sides[2 * number + 1],
                                                 dials,
                                                 spec.copyBuffer,
                                                 cpuOf(number)));
    }
    return relays;
}

} // namespace tunnelcc
