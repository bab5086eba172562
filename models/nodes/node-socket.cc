/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-socket.h"

#include "socket/linux-tcp-socket.h"
#include "socket/ns3-turn.h"

#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

NodeSocket::~NodeSocket()
{
    Ignore();
}

void
NodeSocket::SetContents(Source source, Drain drain)
{
    m_source = std::move(source);
    m_drain = std::move(drain);
}

void
NodeSocket::SetFailed(std::function<void()> failed)
{
    m_failed = std::move(failed);
}

void
NodeSocket::SetSocket(Socket socket, const ns3::Address& remote)
{
    m_socket = std::move(socket);
    m_remote = remote;
    Listen();
}

void
NodeSocket::SetConnected(Socket socket)
{
    m_socket = std::move(socket);
    Listen();
    Tell(&StreamUser::OnOpen);
    if (Readable() > 0)
    {
        Tell(&StreamUser::OnReadable);
    }
}

void
NodeSocket::Listen()
{
    if (ns3::DynamicCast<LinuxTcpSocket>(m_socket))
    {
        ns3::UintegerValue most;
        m_socket->GetAttribute("SndBufSize", most);
        m_most = static_cast<uint32_t>(most.Get() / 2);
    }
    m_socket->SetConnectCallback(ns3::MakeCallback(&NodeSocket::OnConnected, this),
                                 ns3::MakeCallback(&NodeSocket::OnFailed, this));
    m_socket->SetCloseCallbacks(ns3::MakeCallback(&NodeSocket::OnPeerClosed, this),
                                ns3::MakeCallback(&NodeSocket::OnFailed, this));
    m_socket->SetRecvCallback(ns3::MakeCallback(&NodeSocket::OnReadable, this));
    m_socket->SetSendCallback(ns3::MakeCallback(&NodeSocket::OnRoom, this));
}

void
NodeSocket::Ignore()
{
    if (m_socket)
    {
        const ns3::Callback<void, Socket> none;
        m_socket->SetConnectCallback(none, none);
        m_socket->SetCloseCallbacks(none, none);
        m_socket->SetRecvCallback(none);
        m_socket->SetSendCallback({});
    }
}

void
NodeSocket::Abandon()
{
    Ignore();
    m_user = nullptr;
    if (m_socket)
    {
        m_socket->Close();
    }
}

void
NodeSocket::Tell(void (StreamUser::*event)(int64_t))
{
    if (m_user)
    {
        const Ns3Turn turn;
        (m_user->*event)(turn.Now());
    }
}

// The program -----------------------------------------------------------------------------------

void
NodeSocket::Connect(int64_t /* now */)
{
    if (m_socket->Connect(m_remote) < 0)
    {
        OnFailed(m_socket);
    }
}

uint64_t
NodeSocket::Write(int64_t /* now */, uint64_t bytes)
{
    if (!m_refused)
    {
        // GetTxAvailable() would make a LinuxTcpSocket wake this end at every ACK; Linux does so
        // more seldom.
        const auto most = m_most > 0 ? m_most : m_socket->GetTxAvailable();
        const auto size = static_cast<uint32_t>(std::min<uint64_t>(bytes, most));
        if (size == 0)
        {
            return 0;
        }
        m_refused = m_source ? m_source(size) : ns3::Create<ns3::Packet>(size);
    }
    if (m_socket->Send(m_refused) < 0)
    {
        return 0;
    }
    const uint32_t taken = std::exchange(m_refused, nullptr)->GetSize();
    m_written += taken;
    return taken;
}

uint64_t
NodeSocket::Readable() const
{
    return m_socket ? m_socket->GetRxAvailable() : 0;
}

void
NodeSocket::Read(int64_t /* now */, uint64_t bytes)
{
    if (bytes == 0) // ns-3 takes 0 for an error
    {
        return;
    }
    const Bytes packet = m_socket->Recv(static_cast<uint32_t>(bytes), 0);
    if (m_drain)
    {
        m_drain(packet);
    }
}

void
NodeSocket::Close(int64_t /* now */)
{
    m_socket->Close();
}

// The socket ------------------------------------------------------------------------------------

void
NodeSocket::OnConnected(Socket /* socket */)
{
    Tell(&StreamUser::OnOpen);
}

void
NodeSocket::OnReadable(Socket /* socket */)
{
    Tell(&StreamUser::OnReadable);
}

void
NodeSocket::OnRoom(Socket /* socket */, uint32_t /* bytes */)
{
    Tell(&StreamUser::OnWritable);
}

void
NodeSocket::OnPeerClosed(Socket /* socket */)
{
    m_hasPeerClosed = true;
    Tell(&StreamUser::OnReadable);
}

void
NodeSocket::OnFailed(Socket /* socket */)
{
    m_user = nullptr;
    if (const auto failed = std::exchange(m_failed, nullptr))
    {
        failed();
    }
}

} // namespace tunnelcc
