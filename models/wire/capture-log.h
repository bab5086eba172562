/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAPTURE_LOG_H
#define TUNNELCC_CAPTURE_LOG_H

#include "packet-image.h"
#include "path/link-watcher.h"
#include "pcapng-file.h"
#include "spec/capture-spec.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// Interfaces of a place: a link has the first only.
enum class CaptureInterface : uint8_t
{
    LINK,
    LOOPBACK,
    DEVICE //!< of tunnels
};

/**
 * Puts captured packets into the order of their times, and writes them once it is known what became
 * of them. Packets may come a little late, or ahead of simulated time.
 */
class CaptureLog
{
  public:
    /// A packet that was seen.
    struct Record
    {
        CapturedPacket packet;
        uint64_t number; //!< in order of coming
        uint32_t place;
        CaptureInterface interface;
        PacketFate fate;
        bool isSettled;
    };

    /// \throws std::system_error if the file cannot be opened
    explicit CaptureLog(const CaptureSpec& spec);

    /// Let packets come so late, ns.
    void AllowLateness(int64_t lateness)
    {
        m_lateness = std::max(m_lateness, lateness);
    }

    /// Whether packets are still written.
    bool IsWriting() const
    {
        return m_file.File().IsWriting();
    }

    /// A packet is seen. \param time ns  \returns it, until it is settled
    Record& Add(int64_t time,
                uint32_t place,
                CaptureInterface interface,
                CaptureDirection direction,
                const PacketImage& image);

    /// Nothing more will happen to a packet. \param now simulated time, ns
    void Settle(Record& record, int64_t now)
    {
        record.isSettled = true;
        WriteUntil(now - m_lateness);
    }

    /// Write all that is left.
    void Finish();

    const PcapngFile& File() const
    {
        return m_file;
    }

  private:
    void WriteUntil(int64_t time);
    void WriteFirst();
    static bool IsLater(const Record* a, const Record* b);

    const CaptureSpec& m_spec;
    PcapngFile m_file;
    std::map<std::pair<uint32_t, CaptureInterface>, uint32_t> m_interfaces; //!< numbers in the file
    std::deque<Record> m_store;
    std::vector<Record*> m_free;
    std::vector<Record*> m_heap; //!< the first is the earliest
    uint64_t m_seen{0};
    int64_t m_lateness{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_CAPTURE_LOG_H
