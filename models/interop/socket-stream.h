/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SOCKET_STREAM_H
#define TUNNELCC_SOCKET_STREAM_H

#include "transport/byte-stream.h"

#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

/// A TCP socket of stock ns-3 as a byte stream.
class SocketStream final : public ByteStream
{
  public:
    using Socket = ns3::Ptr<ns3::Socket>;

    /// \param socket a bound or an accepted socket  \param remote address for Connect()
    /// \param failed called if the connection cannot be opened, or breaks
    SocketStream(Socket socket, const ns3::Address& remote, ns3::Callback<void, Socket> failed)
        : m_socket(std::move(socket)),
          m_remote(remote)
    {
        auto tell = [this](auto event) {
            return ns3::MakeCallback(&SocketStream::Tell, this, event);
        };
        m_socket->SetConnectCallback(tell(&StreamUser::OnOpen), failed);
        m_socket->SetCloseCallbacks(ns3::MakeCallback(&SocketStream::OnPeerClosed, this), failed);
        m_socket->SetRecvCallback(tell(&StreamUser::OnReadable));
        m_socket->SetSendCallback(ns3::MakeCallback(&SocketStream::OnRoom, this));
    }

    ~SocketStream() override
    {
        const ns3::Callback<void, Socket> none;
        m_socket->SetConnectCallback(none, none);
        m_socket->SetCloseCallbacks(none, none);
        m_socket->SetRecvCallback(none);
        m_socket->SetSendCallback({});
    }

    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

    void Connect(int64_t /* now */) override
    {
        m_socket->Connect(m_remote);
    }

    uint64_t Write(int64_t /* now */, uint64_t bytes) override
    {
        auto taken = static_cast<uint32_t>(std::min<uint64_t>(bytes, m_socket->GetTxAvailable()));
        if (taken == 0 || m_socket->Send(ns3::Create<ns3::Packet>(taken)) < 0)
        {
            return 0;
        }
        m_written += taken;
        return taken;
    }

    uint64_t Readable() const override
    {
        return m_socket->GetRxAvailable();
    }

    void Read(int64_t /* now */, uint64_t bytes) override
    {
        if (bytes > 0) // ns-3 takes 0 for an error
        {
            m_socket->Recv(static_cast<uint32_t>(bytes), 0);
        }
    }

    bool IsAtEof() const override
    {
        return m_hasPeerClosed && Readable() == 0;
    }

    void Close(int64_t /* now */) override
    {
        m_socket->Close();
    }

    /// Bytes that the socket has taken.
    uint64_t Written() const
    {
        return m_written;
    }

  private:
    void Tell(void (StreamUser::*event)(int64_t), Socket /* socket */)
    {
        if (m_user)
        {
            (m_user->*event)(ns3::Simulator::Now().GetNanoSeconds());
        }
    }

    void OnRoom(Socket socket, uint32_t /* bytes */)
    {
        Tell(&StreamUser::OnWritable, socket);
    }

    void OnPeerClosed(Socket socket)
    {
        m_hasPeerClosed = true;
        Tell(&StreamUser::OnReadable, socket);
    }

    Socket m_socket;
    const ns3::Address m_remote;
    uint64_t m_written{0};
    bool m_hasPeerClosed{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_SOCKET_STREAM_H
