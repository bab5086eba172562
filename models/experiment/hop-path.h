/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HOP_PATH_H
#define TUNNELCC_HOP_PATH_H

#include "path/path.h"
#include "spec/end.h"

#include <cstdint>

namespace tunnelcc
{

/// The path across one hop. Specification and results speak of the directions of data and of ACKs,
/// all that uses the path of its ends: here the two meet.
class HopPath
{
  public:
    /**
     * \param spec the path
     * \param seed of the experiment
     * \param hop its number, from 0
     * \param dataSender the end that sends data
     */
    HopPath(const PathSpec& spec, uint64_t seed, uint32_t hop, End dataSender)
        : m_dataSender(dataSender),
          m_forward(spec.forward, PathStreams::Forward(seed, hop)),
          m_reverse(spec.reverse, PathStreams::Reverse(seed, hop))
    {
    }

    /// Where data queues.
    Bottleneck& Forward()
    {
        return *m_forward.GetBottleneck();
    }

    /// Where ACKs queue.
    Bottleneck& Reverse()
    {
        return *m_reverse.GetBottleneck();
    }

    /// The direction from one end to the other.
    PathDirection& From(End sender)
    {
        return sender == m_dataSender ? m_forward : m_reverse;
    }

    /// Delay from one end to the other, ns. \param rtt base RTT of the connection, ns
    int64_t Delay(End sender, int64_t rtt) const
    {
        int64_t forward = rtt / 2;
        return sender == m_dataSender ? forward : rtt - forward;
    }

    /// What one end of a connection sends into. \param rtt as for Delay()
    Channel ChannelFrom(End sender, int64_t rtt)
    {
        return Channel(From(sender), Delay(sender, rtt));
    }

    /// What each end of a connection sends into. \param rtt as for Delay()
    PerEnd<Channel> Channels(int64_t rtt)
    {
        return MakePerEnd(m_dataSender, [=, this](End sender) { return ChannelFrom(sender, rtt); });
    }

  private:
    const End m_dataSender;
    PathDirection m_forward;
    PathDirection m_reverse;
};

} // namespace tunnelcc

#endif // TUNNELCC_HOP_PATH_H
