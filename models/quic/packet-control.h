/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_CONTROL_H
#define TUNNELCC_PACKET_CONTROL_H

#include "congestion/congestion-control.h"
#include "packet-history.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * A congestion control that is called for each packet and counts bytes; others count full packets
 * (SenderState). The size of packets grows during a connection, so the two are not the same.
 */
class PacketControl : public CongestionControl
{
  public:
    /// What an ACK, or the loss timer, shows. Numbers are in rising order; the history has them.
    struct Event
    {
        int64_t now;                        //!< ns
        const PacketHistory& history;       //!< packets outstanding after the event
        uint64_t priorInFlight;             //!< bytes before it
        const std::vector<uint64_t>& acked; //!< packets, by number
        const std::vector<uint64_t>& lost;  //!< likewise
    };

    /// The newest packet of the history is sent. \param asks it asks for an ACK
    virtual void OnSent(int64_t now, const PacketHistory& history, bool asks) = 0;

    /// Packets were acknowledged or lost. SenderState::minRtt is the connection's.
    virtual void OnEvent(SenderState& state, const Event& event) = 0;

    /// The size of a full packet has changed, bytes.
    virtual void OnPacketBytes(uint32_t bytes) = 0;

    /// Congestion window, bytes.
    virtual uint64_t Window() const = 0;

    bool HasCongControl() const final
    {
        return true;
    }

    uint32_t GetSsThresh(SenderState& state, int64_t /* now */) final
    {
        return state.ssthresh;
    }

    void OnAck(SenderState& /* state */, const AckEvent& /* event */, bool /* mayGrow */) final
    {
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_CONTROL_H
