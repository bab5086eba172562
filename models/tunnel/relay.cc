/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "relay.h"

namespace tunnelcc
{

Relay::Relay(RelaySide& clientSide,
             RelaySide& serverSide,
             Dials dials,
             uint32_t copyBuffer,
             Cpu& cpu)
    : m_clientSide(clientSide),
      m_serverSide(serverSide),
      m_dials(dials),
      m_clientSideUser(*this),
      m_serverSideUser(*this),
      m_toServer(clientSide, serverSide, copyBuffer, cpu),
      m_toClient(serverSide, clientSide, copyBuffer, cpu)
{
    clientSide.SetUser(m_clientSideUser);
    serverSide.SetUser(m_serverSideUser);
}

void
Relay::Start(int64_t now)
{
    m_toServer.Start(now);
    m_toClient.Start(now);
}

void
Relay::Dial(int64_t now)
{
    m_hasDialled = true;
    m_serverSide.Open(now);
}

void
Relay::ClientSideUser::OnOpen(int64_t now)
{
    if (m_relay.m_dials == Dials::IMMEDIATELY)
    {
        m_relay.Dial(now);
    }
    else
    {
        m_relay.Start(now);
    }
}

void
Relay::ClientSideUser::OnReadable(int64_t now)
{
    m_relay.m_toServer.OnReadable(now);
    if (!m_relay.m_hasDialled && m_relay.m_toServer.HasRead())
    {
        m_relay.Dial(now);
    }
}

void
Relay::ClientSideUser::OnWritable(int64_t now)
{
    m_relay.m_toClient.OnWritable(now);
}

void
Relay::ServerSideUser::OnOpen(int64_t now)
{
    if (m_relay.m_dials == Dials::IMMEDIATELY)
    {
        m_relay.m_clientSide.Accept(now);
        m_relay.Start(now);
    }
    else
    {
        m_relay.m_toServer.OnWritable(now);
    }
}

void
Relay::ServerSideUser::OnReadable(int64_t now)
{
    m_relay.m_toClient.OnReadable(now);
}

void
Relay::ServerSideUser::OnWritable(int64_t now)
{
    m_relay.m_toServer.OnWritable(now);
}

} // namespace tunnelcc
