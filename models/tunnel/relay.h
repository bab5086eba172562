/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_H
#define TUNNELCC_RELAY_H

#include "decapsulator.h"
#include "encapsulator.h"
#include "handshake.h"

namespace tunnelcc
{

/// Both directions of a carrier, shared by its two relays.
struct CarrierLogs
{
    MessageLog toServer;
    MessageLog toClient;
};

/**
 * One end of a relay tunnel, for one flow: a process that terminates TCP on its plain socket and
 * carries the bytes in messages over its carrier.
 *
 * The client's relay dials the carrier when an application connects, the server's dials the target
 * when the first message, with the relay request, has arrived.
 */
class Relay
{
  public:
    enum class Role
    {
        CLIENT,
        SERVER
    };

    /**
     * \param role which end
     * \param spec the tunnel
     * \param plain socket on the host's loopback
     * \param carrier socket across the path
     * \param cpu the host's
     * \param logs the carrier's, shared with the other end
     */
    Relay(Role role,
          const RelaySpec& spec,
          TcpEndpoint& plain,
          TcpEndpoint& carrier,
          Cpu& cpu,
          CarrierLogs& logs);

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

  private:
    class PlainUser final : public SocketUser
    {
      public:
        explicit PlainUser(Relay& relay)
            : m_relay(relay)
        {
        }

        void OnConnected(int64_t now) override;
        void OnReadable(int64_t now) override;
        void OnWritable(int64_t now) override;

      private:
        Relay& m_relay;
    };

    class CarrierUser final : public SocketUser
    {
      public:
        explicit CarrierUser(Relay& relay)
            : m_relay(relay)
        {
        }

        void OnConnected(int64_t now) override;
        void OnReadable(int64_t now) override;
        void OnWritable(int64_t now) override;

      private:
        Relay& m_relay;
    };

    void StartForwarding(int64_t now);

    Role m_role;
    TcpEndpoint& m_plain;
    TcpEndpoint& m_carrier;
    PlainUser m_plainUser;
    CarrierUser m_carrierUser;
    Handshake m_handshake;
    Encapsulator m_encapsulator;
    Decapsulator m_decapsulator;
    bool m_isForwarding{false};
    bool m_hasDialled{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_H
