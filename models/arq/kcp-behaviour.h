/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_BEHAVIOUR_H
#define TUNNELCC_KCP_BEHAVIOUR_H

#include "spec/kcp-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// How a generation of kcp-go behaves, where the generations differ. Left out are differences that
/// no program in the catalogue shows.
struct KcpBehaviour
{
    bool writesFlush;     //!< a write sends at once what the window allows (kcptun since Sep 2018)
    bool advanceFlushes;  //!< an ACK that moves the window flushes, too (since Jul 2020)
    bool resendFlushes;   //!< so does an ACK that shows a segment as lost (since Nov 2025)
    bool fullListFlushes; //!< ACKs are sent once they fill a datagram (since Nov 2025)
    bool clockHeedsTimeouts; //!< the clock's flush comes as early as the next time-out (since 2018)
    bool inputWakesWriter;   //!< an arriving datagram wakes a blocked writer, not only the clock
    bool countsEachAck; //!< each ACK counts for a resend; else only the highest of a datagram, even
                        //!< if that was sent before the segment for which it counts (Dec 2018)
    bool resendsOnce;   //!< after a resend by count, only a time-out resends (since Nov 2025)
    bool timeoutFirst;  //!< a segment that timed out does not count as a resend by count
    bool keepsAcked;    //!< an acknowledged segment keeps its place in the window until all before
                        //!< it are acknowledged
    bool peerGatesWrites; //!< a write also waits for room in the peer's window (2019 to 2025)
    bool roundsWindowUp;  //!< the congestion window is rounded up to whole segments
    uint32_t firstProbe;  //!< time that a window is closed before the first probe, ms

    static constexpr KcpBehaviour Of(KcpGeneration generation)
    {
        bool is2017 = generation == KcpGeneration::OF_2017;
        bool is2020 = generation == KcpGeneration::OF_2020;
        bool is2025 = generation == KcpGeneration::OF_2025;
        return {.writesFlush = !is2017,
                .advanceFlushes = !is2017,
                .resendFlushes = is2025,
                .fullListFlushes = is2025,
                .clockHeedsTimeouts = !is2017,
                .inputWakesWriter = !is2017,
                .countsEachAck = !is2017,
                .resendsOnce = is2025,
                .timeoutFirst = is2017,
                .keepsAcked = !is2017,
                .peerGatesWrites = is2020,
                .roundsWindowUp = !is2017,
                .firstProbe = is2025 ? 500U : 7000U};
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_BEHAVIOUR_H
