/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QLOG_H
#define TUNNELCC_QLOG_H

#include "record-file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunnelcc
{

/**
 * A log of one end of a connection in the format qlog (draft-ietf-quic-qlog-main-schema-04 and
 * draft-ietf-quic-qlog-quic-events-04, version 0.3), which qvis opens: JSON text sequences
 * (RFC 7464), one event each.
 */
class Qlog
{
  public:
    /// What a log is of.
    struct Subject
    {
        std::string title;
        std::string_view protocol; //!< QUIC, TCP
        bool isClient{false};      //!< the end
    };

    /// \param name,limit as of RecordFile
    /// \throws std::system_error if the file cannot be opened
    Qlog(const std::string& name, uint64_t limit, const Subject& subject);

    /// As RecordFile::Flush().
    void Finish()
    {
        m_file.Flush();
    }

    const RecordFile& File() const
    {
        return m_file;
    }

  protected:
    ~Qlog() = default;

    /// What recovery:metrics_updated tells. Bytes, ns, bytes/s.
    struct Metrics
    {
        uint64_t window{0};
        uint64_t inFlight{0};
        int64_t smoothed{0}; //!< 0: no sample yet
        int64_t latest{0};
        int64_t least{0};
        std::optional<uint64_t> threshold;  //!< of slow start
        std::optional<uint64_t> pacingRate; //!< of payload

        bool operator==(const Metrics&) const = default;
    };

    /// Whether events are still written.
    bool IsWriting() const
    {
        return m_file.IsWriting();
    }

    /// Begin an event, whose data follow. \param now ns
    void Begin(int64_t now, std::string_view event);
    void End();
    void Add(std::string_view text);
    void Add(uint64_t number);
    /// Add a time in milliseconds. \param time ns
    void AddMs(int64_t time);
    /// Tell of metrics, if they have changed.
    void AddMetrics(int64_t now, const Metrics& metrics);
    /// Tell of a packet that counts as lost.
    void AddLoss(int64_t now, uint64_t number);

  private:
    RecordFile m_file;
    Metrics m_metrics;
};

} // namespace tunnelcc

#endif // TUNNELCC_QLOG_H
