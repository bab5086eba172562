/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_STREAM_H
#define TUNNELCC_MUX_STREAM_H

#include "mux-frame.h"
#include "relay-side.h"

#include <utility>

namespace tunnelcc
{

class MuxSession;

/// Counts bytes that a reader took and that the peer has not been credited with yet.
class CreditAccount
{
  public:
    /// A reader took `bytes`. \returns what to credit: all that is owed once it is `step`, else 0
    uint32_t Take(uint32_t bytes, uint64_t step)
    {
        m_owed += bytes;
        return m_owed >= step ? std::exchange(m_owed, 0) : 0;
    }

  private:
    uint32_t m_owed{0};
};

/**
 * One end of a flow's stream on a shared carrier. A write becomes frames, the next submitted when
 * the one before is written (smux writeFrameInternal()): streams that all have data to send take
 * turns.
 *
 * Turns are not strictly equal. Between two frames of a stream its copy loop reads a chunk, while
 * the session's thread writes frames of others. A read of 32 KiB takes longer than small frames,
 * so their streams may have several turns before the next large frame. A copy loop that was woken
 * runs first (Go's scheduler, runtime/proc.go, ready(): it is the next to run), and so comes back
 * before a read that began earlier. Left out: that threads wait for each other's time slices.
 *
 * Where streams have windows, a frame waits for room in its own; what the reader takes is credited
 * to the peer in steps, to the stream and to the session each on its own account.
 */
class MuxStream final : public RelaySide
{
  public:
    /// \param session one end of the carrier  \param number of the stream on it
    MuxStream(MuxSession& session, uint32_t number);

    void SetUser(StreamUser& user) override
    {
        m_user = &user;
    }

    bool HasWriter() const override
    {
        return true;
    }

    void OnComputing(int64_t now) override;
    void Open(int64_t now) override;
    void Accept(int64_t now) override;
    Chunk Read(int64_t now, uint32_t limit) override;
    bool IsFinished() const override;
    double Prepare(uint32_t bytes) override;
    bool Write(int64_t now) override;
    void Close(int64_t now) override;

    const SendLimits* Limits() const override
    {
        return &m_limits;
    }

    /// Application bytes that wait for the reader.
    uint64_t Unread() const
    {
        return m_unread;
    }

  private:
    friend class MuxSession;

    /// What the chunk being written waits for.
    enum class WaitsFor
    {
        NOTHING,
        CARRIER, //!< a frame is to be written
        STREAM_WINDOW,
        SESSION_WINDOW
    };

    void OnSessionOpen(int64_t now);
    void OnFrameWritten(int64_t now, uint32_t bytes);
    void OnFrame(int64_t now, const MuxFrame& frame);
    void OnCredit(int64_t now, uint32_t bytes);
    void SendNext(int64_t now);
    /// Wait for room in a window.
    void Await(int64_t now, WaitsFor window);
    void Credit(int64_t now, uint32_t bytes);
    void Submit(int64_t now, MuxFrameKind kind, uint32_t size, uint32_t bytes = 0);

    MuxSession& m_session;
    StreamUser* m_user{nullptr};
    const uint32_t m_number;
    bool m_isOpen{false};

    uint32_t m_left{0}; //!< bytes of the chunk not written yet
    WaitsFor m_waitsFor{WaitsFor::NOTHING};
    uint32_t m_prefix;       //!< bytes before our first data
    uint64_t m_sent{0};      //!< application bytes put into frames
    uint64_t m_credited{0};  //!< of those, bytes that the peer's reader took, as far as we know
    uint64_t m_window;       //!< how far m_sent may be ahead of that
    uint64_t m_unread{0};    //!< received
    bool m_hasRead{false};   //!< the reader took something
    CreditAccount m_account; //!< of what the reader took
    bool m_hasPeerClosed{false};
    SendLimits m_limits;
};

} // namespace tunnelcc

#endif // TUNNELCC_MUX_STREAM_H
