/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_SESSION_H
#define TUNNELCC_MUX_SESSION_H

#include "mux-receiver.h"
#include "mux-sender.h"
#include "mux-stream.h"

#include <memory>
#include <vector>

namespace tunnelcc
{

/**
 * One end of a carrier that streams share: dials or answers, shakes hands once, then passes frames
 * between the carrier and its streams. A stream has the same number at both ends.
 *
 * Stands for smux (versions 1 and 2), for HTTP/2 (RFC 9113) and for SSH channels (RFC 4254); they
 * differ in the sizes and windows of MuxSpec. Left out: keepalives, priorities, resets, and the
 * end of the session itself.
 */
class MuxSession final : private StreamUser, private MuxFrameUser
{
  public:
    /**
     * \param spec the tunnel
     * \param end which this is; the client dials
     * \param carrier its socket
     * \param cpu the host's
     * \param logs the carrier's, shared with the other end
     */
    MuxSession(const RelaySpec& spec, End end, ByteStream& carrier, Cpu& cpu, MuxLogs& logs);

    MuxSession(const MuxSession&) = delete;
    MuxSession& operator=(const MuxSession&) = delete;

    /// As MessageStream::SetWatcher().
    void SetWatcher(MessageWatcher<MuxFrame>* watcher)
    {
        m_carrier.SetWatcher(watcher);
    }

    /// Make one more stream, numbered in order. It must live as long as the session.
    std::unique_ptr<MuxStream> AddStream();

    /// Connect if nobody has yet.
    void Dial(int64_t now);

    /// Unread bytes of all streams.
    uint64_t Unread() const
    {
        return m_receiver.Unread();
    }

  private:
    friend class MuxStream;

    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;
    void OnFrameWritten(int64_t now, const MuxFrame& frame) override;
    void OnIdle(int64_t now) override;
    void OnFrame(int64_t now, const MuxFrame& frame) override;
    uint64_t ConsumeWindow(MuxStream& stream, uint64_t bytes);
    void AddWindow(int64_t now, uint64_t bytes);

    const MuxSpec m_spec;
    const MuxDirectionSpec m_out;
    const MuxDirectionSpec m_in;
    const RelayWorkSpec m_read; //!< of our copy loops on each chunk that they read
    const uint32_t m_prefix;    //!< bytes before the first data of a stream of ours
    MuxCarrier m_carrier;
    MuxSender m_sender;
    MuxReceiver m_receiver;
    std::vector<MuxStream*> m_streams;
    Fifo<MuxStream*> m_opening;   //!< wait for the handshake
    Fifo<MuxStream*> m_blocked;   //!< wait for the session's window
    uint32_t m_awaitingCredit{0}; //!< streams that wait for room in their own window
    uint64_t m_window;       //!< bytes that all streams together may send; UINT64_MAX: no limit
    CreditAccount m_account; //!< of what the readers of all streams took
    bool m_hasDialled{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_MUX_SESSION_H
