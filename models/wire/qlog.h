/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QLOG_H
#define TUNNELCC_QLOG_H

#include "quic/quic-sender.h"
#include "record-file.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace tunnelcc
{

/**
 * What one end of a QUIC connection sends, receives, measures and counts as lost, in the format
 * qlog (draft-ietf-quic-qlog-main-schema-04 and draft-ietf-quic-qlog-quic-events-04, version 0.3),
 * which qvis opens: JSON text sequences (RFC 7464), one event each.
 */
class Qlog
{
  public:
    /// \param title of the trace  \param name,limit as of RecordFile
    /// \throws std::system_error if the file cannot be opened
    Qlog(const std::string& name, uint64_t limit, std::string_view title, bool isClient);

    /// The end sends a packet. \param now ns
    void OnSent(int64_t now, const QuicSender& sender, uint64_t number);

    /// A packet of the other end arrives. \param peer which has sent it
    void OnReceived(int64_t now, const QuicSender& peer, uint64_t number);

    /// The end may have learned something: log what it measures, if that has changed, and losses.
    void OnChange(int64_t now, const QuicSender& sender);

    /// As RecordFile::Flush().
    void Finish()
    {
        m_file.Flush();
    }

    const RecordFile& File() const
    {
        return m_file;
    }

  private:
    void AddPacket(int64_t now, std::string_view event, const QuicSender& sender, uint64_t number);
    void Begin(int64_t now, std::string_view event);
    void End();
    void Add(std::string_view text);
    void Add(uint64_t number);
    void AddMs(int64_t time);
    void AddFrames(const PacketHistory& history, const QuicPacket& packet);

    /// What metrics_updated tells.
    struct Metrics
    {
        uint64_t window{0};
        uint64_t inFlight{0};
        int64_t smoothed{0};
        int64_t latest{0};
        int64_t least{0};

        bool operator==(const Metrics&) const = default;
    };

    RecordFile m_file;
    Metrics m_metrics;
    std::deque<uint64_t> m_outstanding; //!< packets whose fate is open, as far as was looked
};

} // namespace tunnelcc

#endif // TUNNELCC_QLOG_H
