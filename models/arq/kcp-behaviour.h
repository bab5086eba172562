/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_BEHAVIOUR_H
#define TUNNELCC_KCP_BEHAVIOUR_H

#include "spec/kcp-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// In what the generations of kcp-go differ. Left out is what none of the programs uses that are in
/// the catalogue.
struct KcpBehaviour
{
    bool writesFlush;     //!< a write sends at once what the window allows (kcptun since Sep 2018)
    bool advanceFlushes;  //!< so does an ACK that moves the window (since Jul 2020)
    bool resendFlushes;   //!< so does one after which a segment counts as lost (since Nov 2025)
    bool fullListFlushes; //!< ACKs leave when a datagram is full of them (since Nov 2025)
    bool clockHeedsTimeouts; //!< the clock's flush comes as early as the next time-out (since 2018)
    bool inputWakesWriter;   //!< a blocked writer goes on with a datagram, not only with the clock
    bool countsEachAck;   //!< each ACK counts for a resend; else the highest of a datagram, which
                          //!< also may have been sent before the segment it counts for (Dec 2018)
    bool resendsOnce;     //!< after a resend by count only a time-out counts anew (since Nov 2025)
    bool timeoutFirst;    //!< a segment that timed out is no resend, whatever its count
    bool keepsAcked;      //!< what was acknowledged occupies the window until all before it is, too
    bool peerGatesWrites; //!< a write also waits for room in the peer's window (2019 to 2025)
    bool roundsWindowUp;  //!< a congestion window of whole segments has room for all of its bytes
    uint32_t firstProbe;  //!< time without a window before the first probe, ms

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
