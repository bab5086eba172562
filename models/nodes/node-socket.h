/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_SOCKET_H
#define TUNNELCC_NODE_SOCKET_H

#include "transport/byte-stream.h"

#include "ns3/packet.h"
#include "ns3/socket.h"

#include <cstdint>
#include <functional>

namespace tunnelcc
{

/**
 * A TCP socket of ns-3 as a byte stream: a LinuxTcpSocket, or one of stock ns-3.
 *
 * Byte streams have no contents, packets of ns-3 have. Functions give those that are written and
 * take those that are read.
 */
class NodeSocket final : public ByteStream
{
  public:
    using Socket = ns3::Ptr<ns3::Socket>;
    using Bytes = ns3::Ptr<ns3::Packet>;
    /// Make so many bytes to be written.
    using Source = std::function<Bytes(uint32_t bytes)>;
    /// Take bytes that were read.
    using Drain = std::function<void(Bytes bytes)>;

    NodeSocket() = default;
    ~NodeSocket() override;
    NodeSocket(const NodeSocket&) = delete;
    NodeSocket& operator=(const NodeSocket&) = delete;

    /// Set what is written and read; zeros and nobody otherwise.
    void SetContents(Source source, Drain drain);

    /// \param failed called once if the connection cannot be opened, or breaks
    void SetFailed(std::function<void()> failed);

    /// Use a socket that is to be connected. \param remote where to
    void SetSocket(Socket socket, const ns3::Address& remote);

    /// Use a socket that is connected, and tell the user.
    void SetConnected(Socket socket);

    /// The socket; null: there is none yet.
    const Socket& GetSocket() const
    {
        return m_socket;
    }

    /// Give the connection up: tell nobody of anything any more, and close the socket.
    void Abandon();

    void Connect(int64_t now) override;
    uint64_t Write(int64_t now, uint64_t bytes) override;
    uint64_t Readable() const override;
    void Read(int64_t now, uint64_t bytes) override;

    bool IsAtEof() const override
    {
        return m_hasPeerClosed && Readable() == 0;
    }

    void Close(int64_t now) override;

    /// Bytes that the socket has taken.
    uint64_t Written() const
    {
        return m_written;
    }

  private:
    void Listen();
    void Ignore();
    void Tell(void (StreamUser::*event)(int64_t));
    void OnConnected(Socket socket);
    void OnReadable(Socket socket);
    void OnRoom(Socket socket, uint32_t bytes);
    void OnPeerClosed(Socket socket);
    void OnFailed(Socket socket);

    Socket m_socket;
    ns3::Address m_remote;
    Source m_source;
    Drain m_drain;
    std::function<void()> m_failed;
    Bytes m_refused; //!< bytes of which the socket took none; null: there are none
    uint64_t m_written{0};
    uint32_t m_most{0}; //!< bytes that a socket takes if it has any room; 0: as much as there is
    bool m_hasPeerClosed{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_SOCKET_H
