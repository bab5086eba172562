/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BULK_SENDER_H
#define TUNNELCC_BULK_SENDER_H

#include "event/timer.h"
#include "host/cpu.h"
#include "spec/traffic-spec.h"
#include "transport/byte-stream.h"

namespace tunnelcc
{

/**
 * Application that writes as much as its socket takes, or no more than a given rate, as iperf3
 * does, FlowSpec::writeSize bytes at a time, through a socket that blocks. What it could not write
 * in time it writes as soon as its socket takes it.
 *
 * A client sends its preamble on connecting and bulk data from FlowSpec::dataStart on; a server
 * waits for a request first. At FlowSpec::stop it writes no more and closes; what its socket has
 * taken by then still goes out. With a cost per byte, each write occupies the application's thread.
 */
class BulkSender final : public StreamUser, private CpuUser
{
  public:
    /**
     * \param socket that it writes to
     * \param flow what to send and when; outlives it
     * \param isClient whether it opened the connection
     * \param thread that runs its writes
     * \param costPerByte CPU ns per byte written
     */
    BulkSender(ByteStream& socket,
               const FlowSpec& flow,
               bool isClient,
               CpuThread& thread,
               double costPerByte);
    BulkSender(ByteStream&, FlowSpec&&, bool, CpuThread&, double) = delete;

    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;

    /// When message number `index` is due, ns: the writes of an application with a rate of its own.
    int64_t MessageDue(uint64_t index) const
    {
        return m_begin + static_cast<int64_t>(index) * m_interval;
    }

    /// Number of these messages that are due from `since` to `until`, both included, ns.
    uint64_t MessagesDue(int64_t since, int64_t until) const;

    /// Whether there are such messages.
    bool WritesMessages() const
    {
        return m_interval > 0;
    }

  private:
    /// Of a program that polls: those of iperf3 3.12, iperf_send().
    uint32_t WritesPerPoll() const
    {
        return m_interval > 0 ? 1 : 10;
    }

    void OnTimer(int64_t now);
    void OnStop(int64_t now);
    void WritePreamble(int64_t now);
    void ContinueWriting(int64_t now);
    bool MayWrite(int64_t now);
    bool PrepareNext(int64_t now);
    void OnComputed(int64_t now) override;

    ByteStream& m_socket;
    const FlowSpec& m_flow;
    bool m_isClient;
    CpuThread& m_thread;
    double m_costPerByte;
    int64_t m_interval;         //!< between writes, ns; 0: as fast as possible
    int64_t m_begin{0};         //!< when the first write was due, ns
    int64_t m_nextWrite{0};     //!< when the next one is, ns
    uint64_t m_preambleLeft{0}; //!< bytes of it still to write
    uint64_t m_left;            //!< bytes still to write
    uint64_t m_prepared{0};     //!< of these, bytes that the CPU has already handled
    uint32_t m_writesLeft{0};   //!< before a program that polls does so again
    bool m_hasBegun{false};
    bool m_isWriting{false}; //!< the CPU is busy with a write
    bool m_isBlocked{false}; //!< the latest write waits for room
    Timer<BulkSender, &BulkSender::OnTimer> m_timer;
    Timer<BulkSender, &BulkSender::OnStop> m_stopTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_BULK_SENDER_H
