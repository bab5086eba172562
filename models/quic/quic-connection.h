/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_CONNECTION_H
#define TUNNELCC_QUIC_CONNECTION_H

#include "congestion/coupled.h"
#include "event/fifo.h"
#include "event/random-stream.h"
#include "event/timer.h"
#include "flow-window.h"
#include "multipath/path-chooser.h"
#include "multipath/reassembly.h"
#include "quic-datagrams.h"
#include "quic-path.h"
#include "quic-stream.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

/**
 * One end of a QUIC connection: streams that share packets, a handshake, flow control. Each stream
 * is delivered in order by itself, so a lost packet delays only the streams whose data it carried.
 *
 * Lost data is sent before new data. Streams with new data take turns, packet by packet. Where a
 * packet has one frame of a stream, streams with lost data take turns with them (quic-go v0.60.0,
 * framer.go).
 *
 * The threads of an end may sleep. It then reads a packet a little after it arrived, together with
 * those that arrived in the meantime.
 *
 * It may use several paths at once (draft-ietf-quic-multipath-21). Once the handshake is over, each
 * end tells the other a connection ID for each further path; then the client opens these, and each
 * end uses one when the other has answered its PATH_CHALLENGE. A scheduler says which path sends
 * the next packet, of those with room: lowest RTT, if no other is asked for, as xquic and mp-quic
 * have it (xqc_scheduler_minrtt.c; scheduler.go, selectPathLowLatency()). What was lost goes over
 * any path. The redundant scheduler sends frames of streams once more on each other path, unless an
 * ACK has come before that has room. PATH_ACK frames leave on the path that they are for
 * (section 5.5 lets implementations choose).
 *
 * If no ACK comes before a path's PTO, all that it has in flight is sent again over the others
 * (section 5.7), and it gets nothing but probes until an ACK comes: mp-quic calls that potentially
 * failed.
 *
 * Left out: abandoning a path, telling the peer that a path is a backup (both ends know it), and
 * more than one connection ID for each. A PATH_CHALLENGE without an answer is sent again and again.
 */
class QuicConnection final : private QuicContents
{
  public:
    /**
     * \param spec settings of the connection
     * \param end which end this is
     * \param channel carries the packets
     * \param algorithm congestion control
     * \param draws random stream for how late a thread wakes up
     */
    QuicConnection(EventLoop& loop,
                   const QuicSpec& spec,
                   End end,
                   const Channel& channel,
                   std::unique_ptr<CongestionControl> algorithm,
                   const RandomStream& draws);

    QuicConnection(const QuicConnection&) = delete;
    QuicConnection& operator=(const QuicConnection&) = delete;

    /// Use several paths. Call before AddPath(). \param scheduler of packets
    /// \param isFirstBackup the first one is used only while no other works
    void UsePaths(MultipathScheduler scheduler, bool isFirstBackup);

    /// Add one more path; the peer adds its end. Parameters as for the first one; call before
    /// Join() and AddStream().
    void AddPath(const Channel& channel,
                 std::unique_ptr<CongestionControl> algorithm,
                 bool isBackup);

    /// Make two objects the two ends of a connection. Call before Connect().
    static void Join(QuicConnection& a, QuicConnection& b);

    /// Add this end of the next stream; the peer adds the other end.
    QuicStream& AddStream();

    /// Send and receive datagrams, too. Call before Connect(). \param datagrams outlives it
    void SetDatagrams(QuicDatagrams& datagrams)
    {
        m_datagrams = &datagrams;
    }

    /// QuicDatagrams has more to send.
    void SendDatagrams(int64_t now)
    {
        Send(now);
    }

    /// Begin the handshake, if it has not begun.
    void Connect(int64_t now);

    /// Whether streams may send.
    bool IsOpen() const
    {
        return m_establishedTime >= 0;
    }

    /// A packet came over a path. \param segment low half of its number
    void Receive(int64_t now, QuicPath& path, uint32_t segment);

    // Called by streams

    /// Bytes that a write may take now. \param unsent bytes of the stream that wait to be sent
    uint64_t RoomFor(uint64_t unsent) const;
    bool IsApart(uint64_t unsent, uint64_t bytes) const;

    /// A stream has `bytes` more to send; or, with 0 bytes, its end.
    void OnWritten(int64_t now, QuicStream& stream, uint64_t bytes);

    /// A write was not taken as a whole: the stream waits for room in the send buffer, if that has
    /// a limit.
    void OnBlocked(QuicStream& stream);

    /// A stream's user has read.
    void OnRead(int64_t now, QuicStream& stream, uint64_t bytes);

    void NoteIdle(int64_t now, SendLimit why);

    // For probes and tests

    /// What sends on the first path.
    const QuicSender& GetSender() const
    {
        return m_first.sender;
    }

    /// All paths, in order.
    const std::vector<QuicPath*>& Paths() const
    {
        return m_paths;
    }

    /// What was sent on all paths.
    QuicCounters Counters() const;

    /// UDP payload of a packet that is full on any path.
    uint32_t PacketBytes() const;

    /// Bytes of streams that were sent over a second path, although they may still arrive.
    uint64_t Reinjected() const
    {
        return m_reinjected;
    }

    bool HasStreams() const
    {
        return !m_streams.empty();
    }

    /// Count what the order of arrival costs, with several paths, from now on.
    void StartMeasuring(int64_t now);

    /// Counts of all streams together until now.
    ReorderingCounters Reordering(int64_t now);

    /// Flow control of all streams together, at the receiver.
    const FlowWindow& GetReceiver() const
    {
        return m_window;
    }

    const SendLimits& Limits() const
    {
        return m_first.Limits();
    }

    /// When streams could first send here, ns; −1: not yet.
    int64_t EstablishedTime() const
    {
        return m_establishedTime;
    }

    /// When the peer had acknowledged all of all streams, and their ends, ns; −1: not yet.
    int64_t FinishedTime() const
    {
        return m_finishedTime;
    }

  private:
    /// A stream adds a frame only if so much room is left (quic-go v0.60.0, MinStreamFrameSize).
    static constexpr uint32_t LEAST_ROOM = 128;

    bool IsOver() const
    {
        return m_finishedTime >= 0;
    }

    /// A packet that arrived, as PacketHistory::Find() has it.
    struct Arrival
    {
        uint32_t segment;
        uint32_t path;
    };

    /// Whether it uses several paths.
    bool HasPaths() const
    {
        return m_hasPaths;
    }

    /// A path by its number: of a connection with one, without a look at the list.
    QuicPath& PathOf(uint32_t number)
    {
        return m_hasPaths ? *m_paths[number] : m_first;
    }

    void Start();
    void OnWake(int64_t now);
    bool Read(int64_t now, QuicPath& path, uint32_t segment);
    void OnFrame(int64_t now, QuicPath& path, const QuicFrame& frame);
    void OnStreamFrame(int64_t now, QuicPath& path, const QuicFrame& frame);
    void OpenPath(int64_t now, QuicPath& path);
    void OpenIfDone(int64_t now);
    void TellUsers(int64_t now);
    void Send(int64_t now);
    [[gnu::noinline]] void SendOverPaths(int64_t now);
    void SeePaths(int64_t now);
    bool HasData() const;

    bool TellsIds() const
    {
        return std::ranges::any_of(m_others, [](const QuicPath& it) { return it.tellsId; });
    }

    bool FitsElsewhere(const QuicPath& path) const;
    int64_t SlowestRtt() const;
    void Activate(QuicStream& stream);
    bool WantsTurn(const QuicStream& stream) const;
    void TellLimit(QuicStream& stream);
    uint64_t Credit() const;

    // QuicContents. What only connections over several paths do stays out of its line.
    uint32_t AddFrames(int64_t now, uint32_t path, uint32_t room, bool hasAck) override;
    bool TakesAckAlong() const override;
    [[gnu::noinline]] uint32_t AddPathFrames(QuicPath& path, uint32_t room);
    [[gnu::noinline]] uint32_t AddIds(QuicPath& path, uint32_t room);
    bool HasCopies(QuicPath& path) const;
    [[gnu::noinline]] uint32_t AddCopies(QuicPath& path, uint32_t room);
    [[gnu::noinline]] void CopyToOthers(QuicPath& path);
    uint32_t AddLimits(int64_t now, QuicPath& path, uint32_t room);
    void OnPacketSent(int64_t now) override;
    void OnFrameAcked(const QuicFrame& frame) override;
    void OnFrameLost(uint32_t path, const QuicFrame& frame) override;
    SendLimit LimitOfData(uint32_t path) const override;
    [[gnu::noinline]] SendLimit LimitOfPath(const QuicPath& path) const;
    SendLimit LimitOfAll() const;
    void OnProbeTimeout(uint32_t path) override;

    void SendMore(int64_t now) override
    {
        Send(now);
    }

    EventLoop& m_loop;
    const QuicSpec m_spec;
    const End m_end;
    QuicConnection* m_peer{nullptr};
    bool m_hasPaths{false};
    bool m_isRedundant{false}; //!< each path sends all of streams
    QuicPath m_first;
    FlowWindow m_window; //!< flow control of what is received
    RandomStream m_draws;
    Fifo<Arrival> m_arrived; //!< packets that no thread has read yet
    Timer<QuicConnection, &QuicConnection::OnWake> m_wakeTimer;
    std::vector<QuicPath*> m_paths; //!< the first one, and those of m_others
    std::deque<QuicPath> m_others;
    PathChooser<QuicPath> m_chooser{MultipathScheduler::DEFAULT};
    CoupledGroup m_group;
    bool m_isSending{false}; //!< over several paths
    uint64_t m_reinjected{0};
    std::deque<QuicStream> m_streams;
    std::deque<Reassembly> m_orders;     //!< with several paths, of each stream
    QuicDatagrams* m_datagrams{nullptr}; //!< null: there are none
    bool m_hasStarted{false};
    bool m_isReceiving{false}; //!< nothing is sent before that is over
    int64_t m_establishedTime{-1};
    int64_t m_finishedTime{-1};
    size_t m_endsAcked{0}; //!< streams of which the peer has acknowledged the end

    uint64_t m_limit;                    //!< bytes of all streams that the peer lets this end send
    uint64_t m_sent{0};                  //!< bytes of it that are used up
    uint64_t m_unsent{0};                //!< bytes written, but in no packet yet
    uint64_t m_unacked{0};               //!< bytes written and not acknowledged
    bool m_tellsLimit{false};            //!< the peer gets a new limit of the connection
    Fifo<QuicStream*> m_active;          //!< streams that have data, in turn
    Fifo<QuicStream*> m_lossy;           //!< streams whose data were lost, if they go first
    Fifo<QuicStream*> m_telling;         //!< streams whose peers get a new limit
    Fifo<QuicStream*> m_blocked;         //!< streams whose writers wait for the send buffer
    std::vector<QuicStream*> m_touched;  //!< streams whose users are to be told
    std::vector<QuicStream*> m_wakeable; //!< streams with new data in the latest packet
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_CONNECTION_H
