/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BULK_RECEIVER_H
#define TUNNELCC_BULK_RECEIVER_H

#include "bulk-sender.h"
#include "host/cpu.h"
#include "path/histogram.h"
#include "spec/traffic-spec.h"
#include "transport/byte-stream.h"

#include <optional>

namespace tunnelcc
{

/**
 * Application that reads all that arrives. A client asks for it first, with FlowSpec::preamble
 * bytes. With a cost per byte, each read occupies the application's thread.
 */
class BulkReceiver final : public StreamUser, private CpuUser
{
  public:
    /// Parameters as those of BulkSender.
    BulkReceiver(ByteStream& socket,
                 const FlowSpec& flow,
                 bool isClient,
                 CpuThread& thread,
                 double costPerByte);
    BulkReceiver(ByteStream&, FlowSpec&&, bool, CpuThread&, double) = delete;

    /// Application bytes read.
    uint64_t Total() const
    {
        return m_total;
    }

    /// When the first byte was read, ns; −1: not yet.
    int64_t FirstByteTime() const
    {
        return m_firstByteTime;
    }

    /// When the last byte was read: of a finite flow that byte, else the end of the stream, also of
    /// a finite flow that was stopped before; ns; −1: not yet.
    int64_t CompletionTime() const
    {
        return m_lastByteTime >= 0 ? m_lastByteTime : m_endTime;
    }

    /// From now on, measure the latency of the messages of `sender`, if it writes any: from when
    /// they are due until their last byte is read.
    void TimeMessages(int64_t now, const BulkSender& sender);

    /// Latencies of messages; null if there are none.
    const Histogram* MessageLatency() const
    {
        return m_messageLatency ? &*m_messageLatency : nullptr;
    }

    /// Mean latency of the messages that arrived since the last call, ns; NaN: none did.
    double TakeLatencySample()
    {
        const double mean = static_cast<double>(m_sampledLatency) / static_cast<double>(m_sampled);
        m_sampledLatency = 0;
        m_sampled = 0;
        return mean;
    }

    /// Messages that were due until `now`, ns, since their latency is measured. \pre it is
    uint64_t MessagesDue(int64_t now) const
    {
        return m_sender->MessagesDue(m_timedSince, now);
    }

    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;

  private:
    void RecordMessages(int64_t now);
    void ReadNext(int64_t now);
    void OnRead(int64_t now, uint64_t bytes);
    /// Not inline: nearly all reads are of a flow without end, and would pay for its registers.
    [[gnu::noinline]] void Look(int64_t now, uint64_t bytes);
    bool HasAll() const;
    void OnComputed(int64_t now) override;

    ByteStream& m_socket;
    const FlowSpec& m_flow;
    bool m_isClient;
    CpuThread& m_thread;
    double m_costPerByte;
    const bool m_ends;          //!< the sender closes some time
    bool m_looks{true};         //!< the first byte, messages or the end are to be noticed
    uint64_t m_total{0};        //!< application bytes read
    uint64_t m_preambleLeft{0}; //!< bytes of it still to write
    uint64_t m_reading{0};      //!< bytes of the read under way
    int64_t m_firstByteTime{-1};
    int64_t m_lastByteTime{-1}; //!< of a finite flow
    int64_t m_endTime{-1};
    const BulkSender* m_sender{nullptr}; //!< the sender of the messages that are timed
    int64_t m_timedSince{0};
    uint64_t m_messages{0};      //!< that arrived whole, timed or not
    int64_t m_sampledLatency{0}; //!< sum since the last sample, ns
    uint64_t m_sampled{0};
    std::optional<Histogram> m_messageLatency;
};

} // namespace tunnelcc

#endif // TUNNELCC_BULK_RECEIVER_H
