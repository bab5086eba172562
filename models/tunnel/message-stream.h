/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MESSAGE_STREAM_H
#define TUNNELCC_MESSAGE_STREAM_H

#include "event/fifo.h"
#include "handshake.h"
#include "layer.h"
#include "spec/end.h"
#include "transport/byte-stream.h"
#include "write-queue.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tunnelcc
{

/// A message under way in a byte stream.
template <typename Content>
struct Message
{
    Content content{};  //!< what its receiver makes of its bytes
    uint64_t end{0};    //!< offset just past it, from the first byte after the handshake
    uint32_t wire{0};   //!< bytes that it takes in the stream
    uint32_t writes{0}; //!< in which it crosses
};

/// Messages under way in one direction of a byte stream: one end appends them, the other takes
/// them. Stands for the contents of the bytes, which have none.
template <typename Content>
using MessageLog = Fifo<Message<Content>>;

/// Told what messages one end appends, in their order in the stream, behind its handshake.
template <typename Content>
class MessageWatcher
{
  public:
    virtual ~MessageWatcher() = default;

    /// \param parts as of MessageStream::Append()
    virtual void OnMessage(const Message<Content>& message, std::span<const uint32_t> parts) = 0;
};

/// What both ends of a carrier know of how messages cross it.
struct MessageProtocol
{
    const std::vector<HandshakeTurn>& handshake;
    const std::vector<LayerSpec>& layers; //!< around what this end sends, innermost first
    bool confirms{false};                 //!< the server's handshake waits for Confirm()
};

/**
 * One end of a tunnel's carrier: a byte stream that carries messages.
 *
 * First comes the handshake. Then each message is wrapped by layers, which may make several writes
 * of it, and leaves as the send buffer takes them. It arrives with its last byte.
 *
 * \tparam Content what a message is to its receiver
 */
template <typename Content>
class MessageStream final : private StreamUser
{
  public:
    /**
     * \param carrier the byte stream
     * \param end which this is
     * \param protocol handshake and layers
     * \param logs of both directions, shared with the other end
     */
    MessageStream(ByteStream& carrier,
                  End end,
                  const MessageProtocol& protocol,
                  PerEnd<MessageLog<Content>>& logs)
        : m_carrier(carrier),
          m_handshake(protocol.handshake, carrier, end, protocol.confirms),
          m_layers(protocol.layers),
          m_sent(logs[end]),
          m_received(logs[Other(end)])
    {
        carrier.SetUser(this);
    }

    MessageStream(const MessageStream&) = delete;
    MessageStream& operator=(const MessageStream&) = delete;

    /// \param user whom to tell of events; comes before all other calls
    void SetUser(StreamUser& user)
    {
        m_user = &user;
    }

    /// \param watcher of what is appended here; null: nobody
    void SetWatcher(MessageWatcher<Content>* watcher)
    {
        m_watcher = watcher;
    }

    /// Connect to the other end. StreamUser::OnOpen() follows.
    void Connect(int64_t now)
    {
        m_carrier.Connect(now);
    }

    /// Let a handshake go on that waits for this.
    void Confirm(int64_t now)
    {
        m_handshake.Confirm();
        AdvanceHandshake(now);
    }

    /// As ByteStream::NoteIdle().
    void NoteIdle(int64_t now, SendLimit why)
    {
        m_carrier.NoteIdle(now, why);
    }

    /// Whether messages can cross.
    bool IsOpen() const
    {
        return m_isOpen;
    }

    /**
     * Send a message after all that was appended before; Flush() writes it.
     * \param content what its receiver is to get
     * \param parts bytes of the writes that it consists of, each to be wrapped
     * \returns the message, until the next is appended
     */
    const Message<Content>& Append(const Content& content, std::span<const uint32_t> parts)
    {
        Message<Content>& message = m_sent.Append();
        message.content = content;
        message.wire = 0;
        message.writes = 0;
        for (uint32_t part : parts)
        {
            if (m_layers.IsEmpty())
            {
                m_writes.Append(part);
                ++message.writes;
                message.wire += part;
                continue;
            }
            const std::vector<uint32_t>& writes = m_layers.Wrap(part);
            m_writes.Append(writes);
            message.writes += static_cast<uint32_t>(writes.size());
            message.wire = std::accumulate(writes.begin(), writes.end(), message.wire);
        }
        m_bytesSent += message.wire;
        message.end = m_bytesSent;
        if (m_watcher) [[unlikely]]
        {
            TellWatcher(message, parts);
        }
        return message;
    }

    /// As above, of a message of `bytes` that is one write.
    const Message<Content>& Append(const Content& content, uint32_t bytes)
    {
        return Append(content, std::span(&bytes, 1));
    }

    /// Write as much as the carrier takes, and nothing before it is open. \returns whether that is
    ///          all; if not, StreamUser::OnWritable() follows
    bool Flush(int64_t now)
    {
        return m_isOpen && m_writes.Flush(now, m_carrier);
    }

    /// Read on in the next message. \returns the message once all of it was read, until Pop();
    ///          null: not yet
    const Message<Content>* Read(int64_t now)
    {
        if (m_received.IsEmpty())
        {
            return nullptr;
        }
        const Message<Content>& message = m_received.Front();
        uint64_t missing = message.end - m_bytesRead;
        uint64_t bytes = std::min(missing, m_carrier.Readable());
        if (bytes > 0)
        {
            m_carrier.Read(now, bytes);
            m_bytesRead += bytes;
        }
        return bytes == missing ? &message : nullptr;
    }

    /// The message that Read() returned.
    const Message<Content>& Front() const
    {
        return m_received.Front();
    }

    /// Have done with it.
    void Pop()
    {
        m_received.Pop();
    }

    /// Whether the peer has closed and everything was read.
    bool IsAtEof() const
    {
        return m_carrier.IsAtEof();
    }

    /// Nothing more will be sent.
    void Close(int64_t now)
    {
        m_carrier.Close(now);
    }

  private:
    void OnOpen(int64_t now) override
    {
        AdvanceHandshake(now);
    }

    void OnReadable(int64_t now) override
    {
        if (AdvanceHandshake(now))
        {
            m_user->OnReadable(now);
        }
    }

    void OnWritable(int64_t now) override
    {
        if (AdvanceHandshake(now))
        {
            m_user->OnWritable(now);
        }
    }

    /// Not inline, or streams that nobody watches would pay for its registers.
    [[gnu::noinline]] void TellWatcher(const Message<Content>& message,
                                       std::span<const uint32_t> parts)
    {
        m_watcher->OnMessage(message, parts);
    }

    /// Go on with the handshake. \returns whether it is over
    bool AdvanceHandshake(int64_t now)
    {
        if (!m_isOpen)
        {
            m_handshake.Advance(now);
            m_isOpen = m_handshake.IsDone();
            if (!m_hasToldOpen && (m_isOpen || m_handshake.AwaitsConfirmation()))
            {
                m_hasToldOpen = true;
                m_user->OnOpen(now);
            }
        }
        return m_isOpen;
    }

    StreamUser* m_user{nullptr};
    ByteStream& m_carrier;
    Handshake m_handshake;
    LayerStack m_layers;
    MessageLog<Content>& m_sent;
    MessageLog<Content>& m_received;
    WriteQueue m_writes;     //!< of messages, not written yet
    uint64_t m_bytesSent{0}; //!< of messages, written or not
    uint64_t m_bytesRead{0}; //!< of messages
    MessageWatcher<Content>* m_watcher{nullptr};
    bool m_isOpen{false};
    bool m_hasToldOpen{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_MESSAGE_STREAM_H
