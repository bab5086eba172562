/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_H
#define TUNNELCC_RELAY_H

#include "copy-loop.h"

namespace tunnelcc
{

/**
 * A relay, for one flow: a process that ends one connection and opens the next. It has a side
 * towards the client, a side towards the server, and a copy loop for each direction.
 *
 * It opens the next connection when the first one is open, and forwards data when that is answered;
 * or it opens the next connection when the first chunk, with the request, has arrived.
 */
class Relay
{
  public:
    /// When to open the next connection.
    enum class Dials
    {
        IMMEDIATELY,
        ON_FIRST_DATA
    };

    /**
     * \param clientSide the side towards the client
     * \param serverSide the side towards the server
     * \param dials when to open the connection towards the server
     * \param copyBuffer largest chunk that is read at once, application bytes
     * \param cpu the CPU of the host
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
