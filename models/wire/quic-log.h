/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_LOG_H
#define TUNNELCC_QUIC_LOG_H

#include "qlog.h"
#include "quic/quic-sender.h"

#include <deque>

namespace tunnelcc
{

/// What one end of a QUIC connection sends, receives, measures and counts as lost.
class QuicLog final : public Qlog
{
  public:
    using Qlog::Qlog;

    /// The end sends a packet. \param now ns
    void OnSent(int64_t now, const QuicSender& sender, uint64_t number);

    /// A packet of the other end arrives. \param peer which has sent it
    void OnReceived(int64_t now, const QuicSender& peer, uint64_t number);

    /// The end may have learned something: log what it measures, if that has changed, and losses.
    void OnChange(int64_t now, const QuicSender& sender);

  private:
    void AddPacket(int64_t now, std::string_view event, const QuicSender& sender, uint64_t number);
    void AddFrames(const PacketHistory& history, const QuicPacket& packet);

    std::deque<uint64_t> m_outstanding; //!< packets whose fate is open, as far as was looked
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_LOG_H
