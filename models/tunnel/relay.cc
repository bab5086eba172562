/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "relay.h"

namespace tunnelcc
{

Relay::Relay(Role role,
             const RelaySpec& spec,
             TcpEndpoint& plain,
             TcpEndpoint& carrier,
             Cpu& cpu,
             CarrierLogs& logs)
    : m_role(role),
      m_plain(plain),
      m_carrier(carrier),
      m_plainUser(*this),
      m_carrierUser(*this),
      m_handshake(spec.handshake, carrier, role == Role::CLIENT),
      m_encapsulator(plain,
                     carrier,
                     role == Role::CLIENT ? spec.toServer : spec.toClient,
                     spec.copyBuffer,
                     role == Role::CLIENT ? spec.requestBytes : spec.responseBytes,
                     cpu,
                     role == Role::CLIENT ? spec.costToServer.sendPerByte
                                          : spec.costToClient.sendPerByte,
                     role == Role::CLIENT ? logs.toServer : logs.toClient),
      m_decapsulator(carrier,
                     plain,
                     cpu,
                     role == Role::CLIENT ? spec.costToClient.receivePerByte
                                          : spec.costToServer.receivePerByte,
                     role == Role::CLIENT ? logs.toClient : logs.toServer)
{
    plain.SetUser(&m_plainUser);
    carrier.SetUser(&m_carrierUser);
}

void
Relay::StartForwarding(int64_t now)
{
    m_isForwarding = true;
    m_encapsulator.Start(now);
    m_decapsulator.Start(now);
}

void
Relay::PlainUser::OnConnected(int64_t now)
{
    if (m_relay.m_role == Role::CLIENT)
    {
        m_relay.m_carrier.Connect(now);
    }
}

void
Relay::PlainUser::OnReadable(int64_t now)
{
    m_relay.m_encapsulator.OnPlainReadable(now);
}

void
Relay::PlainUser::OnWritable(int64_t now)
{
    m_relay.m_decapsulator.OnPlainWritable(now);
}

void
Relay::CarrierUser::OnConnected(int64_t now)
{
    m_relay.m_handshake.Start(now);
    if (m_relay.m_handshake.IsDone())
    {
        m_relay.StartForwarding(now);
    }
}

void
Relay::CarrierUser::OnReadable(int64_t now)
{
    if (!m_relay.m_isForwarding)
    {
        m_relay.m_handshake.OnReadable(now);
        if (!m_relay.m_handshake.IsDone())
        {
            return;
        }
        m_relay.StartForwarding(now);
    }
    m_relay.m_decapsulator.OnCarrierReadable(now);
    if (m_relay.m_role == Role::SERVER && !m_relay.m_hasDialled &&
        m_relay.m_decapsulator.HasMessage())
    {
        m_relay.m_hasDialled = true;
        m_relay.m_plain.Connect(now);
    }
}

void
Relay::CarrierUser::OnWritable(int64_t now)
{
    m_relay.m_encapsulator.OnCarrierWritable(now);
}

} // namespace tunnelcc
