/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CARRIER_SIDE_H
#define TUNNELCC_CARRIER_SIDE_H

#include "message-stream.h"
#include "relay-side.h"

namespace tunnelcc
{

/// What one of a relay's messages is to its receiver.
struct RelayMessage
{
    uint32_t payload{0}; //!< application bytes
};

/**
 * One end of a carrier that a flow has to itself. Each chunk is a message, or with RUDP one for
 * each packet, wrapped by layers and written piece by piece; a message is taken only when it is
 * whole.
 */
class CarrierSide final : public RelaySide
{
  public:
    /// Messages under way in a carrier.
    using Logs = PerEnd<MessageLog<RelayMessage>>;

    /**
     * \param spec the tunnel
     * \param end which this is
     * \param carrier its socket
     * \param logs the carrier's, shared with the other end
     */
    CarrierSide(const RelaySpec& spec, End end, ByteStream& carrier, Logs& logs);

    void SetUser(StreamUser& user) override
    {
        m_stream.SetUser(user);
    }

    /// As MessageStream::SetWatcher().
    void SetWatcher(MessageWatcher<RelayMessage>* watcher)
    {
        m_stream.SetWatcher(watcher);
    }

    void Open(int64_t now) override;
    void Accept(int64_t now) override;
    Chunk Read(int64_t now, uint32_t limit) override;
    bool IsFinished() const override;
    double Prepare(uint32_t bytes) override;

    void OnComputing(int64_t now) override
    {
        m_stream.NoteIdle(now, SendLimit::CPU);
    }

    bool Write(int64_t now) override;
    void Close(int64_t now) override;

  private:
    MessageStream<RelayMessage> m_stream;
    const RelayWorkSpec m_sending;
    const RelayWorkSpec m_receiving;
    uint32_t m_prefix;     //!< bytes before the next message's payload
    const uint32_t m_most; //!< bytes of a message; 0: as many as a chunk has
};

} // namespace tunnelcc

#endif // TUNNELCC_CARRIER_SIDE_H
