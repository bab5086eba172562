/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MPTCP_ENDPOINT_H
#define TUNNELCC_MPTCP_ENDPOINT_H

#include "congestion/coupled.h"
#include "data-receiver.h"
#include "event/timer.h"
#include "scheduler.h"
#include "spec/end.h"
#include "spec/multipath-spec.h"
#include "spec/tcp-spec.h"
#include "subflow.h"
#include "transport/byte-stream.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace tunnelcc
{

/**
 * One end of an MPTCP connection (RFC 8684), after Linux 7.3, net/mptcp/protocol.c: a byte stream
 * whose bytes go over several TCP connections.
 *
 * The connection begins on its first path. The client opens the other subflows once the first one
 * has carried data and their ACK (Linux mptcp_pm_fully_established()), and uses each once its
 * MP_JOIN is acknowledged.
 *
 * The send buffer is as large as those of its subflows together (__mptcp_sync_sndbuf()); bytes stay
 * in it until the connection's own ACK comes. Whenever an ACK of a subflow arrives, a scheduler
 * gives subflows the bytes that wait, as far as the receiver's window reaches.
 *
 * A retransmission timer, with the longest time-out of subflows that make progress, runs while
 * bytes are not acknowledged. When it ends, the first of them go again over a subflow that has
 * nothing to do (__mptcp_retrans()). A subflow of which nothing was heard for more than four of
 * these times is stale: all bytes that are not acknowledged go over the others, and new ones, too,
 * until something is heard of it (mptcp_pm_subflow_chk_stale(), sysctl stale_loss_cnt).
 *
 * Left out: ADD_ADDR, MP_PRIO, MP_FASTCLOSE, checksums, the fallback to TCP. DATA_FIN has no packet
 * of its own: an end closes its subflows when all its bytes are acknowledged.
 */
class MptcpEndpoint final : public ByteStream
{
  public:
    /// \param spec of its subflows; outlives it  \param multipath outlives it
    MptcpEndpoint(EventLoop& loop,
                  const TcpSpec& spec,
                  const MultipathSpec& multipath,
                  bool isClient);

    MptcpEndpoint(const MptcpEndpoint&) = delete;
    MptcpEndpoint& operator=(const MptcpEndpoint&) = delete;

    /// Add one end of a subflow; the first one is the initial one. Parameters as of Subflow.
    void AddSubflow(TcpEndpoint& tcp, MappingLog& sent, MappingLog& received, bool isBackup);

    void Connect(int64_t now) override
    {
        m_subflows.front().Tcp().Connect(now);
    }

    uint64_t Write(int64_t now, uint64_t bytes) override;
    void NoteIdle(int64_t now, SendLimit why) override;

    uint64_t Readable() const override
    {
        return m_data.Readable();
    }

    void Read(int64_t now, uint64_t bytes) override;
    bool IsAtEof() const override;
    void Close(int64_t now) override;

    bool IsClient() const
    {
        return m_isClient;
    }

    /// Whether it is the initial one.
    bool IsFirst(const Subflow& subflow) const
    {
        return &subflow == &m_subflows.front();
    }

    DataReceiver& Data()
    {
        return m_data;
    }

    /// Bytes that were given to a subflow again since the connection began.
    uint64_t Reinjected() const
    {
        return m_reinjected;
    }

    uint32_t Advertise()
    {
        return m_data.Advertise();
    }

    // Events of subflows
    void OnSubflowOpen(int64_t now, Subflow& subflow);
    void OnSubflowReadable(int64_t now);
    void OnSubflowWritable(int64_t now);
    void OnData(int64_t now, uint64_t begin, uint64_t end);
    void OnDataAck(int64_t now, Subflow& subflow, uint32_t dataAck, uint32_t window);

  private:
    /// Bytes that the send buffer holds at most.
    uint64_t Capacity() const;
    bool IsWriteable() const;
    void WakeWriter(int64_t now);
    /// Open the other subflows, if that is due.
    void Join(int64_t now);
    /// Give subflows what waits.
    void Push(int64_t now);
    uint64_t WholeFragments(const Subflow& subflow, uint64_t burst) const;
    void PushRedundantly(int64_t now);
    /// Tell subflows that have nothing to send why.
    void NoteLimits(int64_t now);
    void CloseSubflows(int64_t now);
    void OnTimer(int64_t now);
    void CheckStale(int64_t now);
    void Reinject(int64_t now);
    Subflow* IdleSubflow();
    void RestartTimer(int64_t now);

    const bool m_isClient;
    const int64_t m_minRto;
    MultipathChooser m_chooser;
    DataReceiver m_data;
    std::deque<Subflow> m_subflows;
    std::vector<Subflow*> m_paths; //!< the same
    CoupledGroup m_group;
    SendLimit m_idle{SendLimit::APPLICATION}; //!< why the program writes nothing
    bool m_isOpen{false};
    bool m_hasJoined{false};
    bool m_isWriterBlocked{false};
    bool m_isClosing{false};
    bool m_hasClosed{false};
    uint64_t m_written{0};   //!< bytes of the stream
    uint64_t m_next{0};      //!< place of the next byte to give to a subflow
    uint64_t m_sent{0};      //!< one past the last that a subflow was given (Linux snd_nxt)
    uint64_t m_acked{0};     //!< by the connection's own ACKs (snd_una)
    uint64_t m_windowEnd{0}; //!< right edge of the receiver's window (wnd_end)
    uint64_t m_reinjected{0};
    Timer<MptcpEndpoint, &MptcpEndpoint::OnTimer> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_MPTCP_ENDPOINT_H
