/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_GATEWAY_H
#define TUNNELCC_GATEWAY_H

#include "path/packet-device.h"
#include "path/path.h"
#include "spec/tcp-spec.h"
#include "transport/packet-size.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A tunnel that ends on a host on the way: the far gateway sends one sender's packets on to their
 * receiver.
 */
class Gateway final : public PacketDevice
{
  public:
    /**
     * \param tunnel takes the packets at the near gateway
     * \param onward from the far gateway to the receiver
     * \param tcp settings of the sending end; outlive the gateway
     */
    Gateway(const Channel& tunnel, const Channel& onward, const TcpSpec& tcp)
        : m_tunnel(tunnel),
          m_exit(onward, tcp)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        Packet inside = packet;
        inside.sink = &m_exit;
        m_exit.receiver = packet.sink;
        m_tunnel.Send(now, inside, ipBytes, extras);
    }

  private:
    /// The far gateway, where packets leave the tunnel.
    struct Exit final : PacketSink
    {
        Exit(const Channel& channel, const TcpSpec& sender)
            : onward(channel),
              tcp(sender)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
        {
            Packet forwarded = packet;
            forwarded.sink = receiver;
            onward.Send(now, forwarded, IpBytes(packet, tcp), extras);
        }

        const PacketSink* StandsFor() const override
        {
            return receiver;
        }

        Channel onward;
        const TcpSpec& tcp;
        PacketSink* receiver{nullptr};
    };

    Channel m_tunnel;
    Exit m_exit;
};

} // namespace tunnelcc

#endif // TUNNELCC_GATEWAY_H
