/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_H
#define TUNNELCC_RELAY_H

#include "copy-loop.h"

namespace tunnelcc
{

/**
 * A process that terminates TCP, for one flow: joins the side towards the client with the one
 * towards the server, a copy loop for each direction.
 *
 * Either it dials on as soon as somebody connects, and forwards once that is answered; or it dials
 * on when the first chunk, with the request, has arrived.
 */
class Relay
{
  public:
    /// When to dial on.
    enum class Dials
    {
        IMMEDIATELY,
        ON_FIRST_DATA
    };

    /**
     * \param clientSide the connection that comes in
     * \param serverSide the one that goes on
     * \param dials when to open the latter
     * \param copyBuffer most application bytes read at once
     * \param cpu the host's
     */
    Relay(RelaySide& clientSide, RelaySide& serverSide, Dials dials, uint32_t copyBuffer, Cpu& cpu);

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

  private:
    class ClientSideUser final : public StreamUser
    {
      public:
        explicit ClientSideUser(Relay& relay)
            : m_relay(relay)
        {
        }

        void OnOpen(int64_t now) override;
        void OnReadable(int64_t now) override;
        void OnWritable(int64_t now) override;

      private:
        Relay& m_relay;
    };

    class ServerSideUser final : public StreamUser
    {
      public:
        explicit ServerSideUser(Relay& relay)
            : m_relay(relay)
        {
        }

        void OnOpen(int64_t now) override;
        void OnReadable(int64_t now) override;
        void OnWritable(int64_t now) override;

      private:
        Relay& m_relay;
    };

    void Start(int64_t now);
    void Dial(int64_t now);

    RelaySide& m_clientSide;
    RelaySide& m_serverSide;
    const Dials m_dials;
    ClientSideUser m_clientSideUser;
    ServerSideUser m_serverSideUser;
    CopyLoop m_toServer;
    CopyLoop m_toClient;
    bool m_hasDialled{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_H
