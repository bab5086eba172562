/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "relay.h"

namespace tunnelcc
{

Relay::Relay(RelaySide& towardsClient,
             RelaySide& towardsServer,
             Dials dials,
             uint32_t copyBuffer,
             Cpu& cpu)
    : m_towardsClient(towardsClient),
      m_towardsServer(towardsServer),
      m_dials(dials),
      m_clientSideUser(*this),
      m_serverSideUser(*this),
      m_toServer(towardsClient, towardsServer, copyBuffer, cpu),
      m_toClient(towardsServer, towardsClient, copyBuffer, cpu)
{
    towardsClient.SetUser(m_clientSideUser);
    towardsServer.SetUser(m_serverSideUser);
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
    m_towardsServer.Open(now);
}

void
Relay::ClientSideUser::OnOpen(int64_t now)
{
    if (m_relay.m_dials == Dials::AT_ONCE)
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
    if (m_relay.m_dials == Dials::AT_ONCE)
    {
        m_relay.m_towardsClient.Accept(now);
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
