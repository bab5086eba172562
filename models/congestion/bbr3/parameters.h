/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_PARAMETERS_H
#define TUNNELCC_BBR3_PARAMETERS_H

/**
 * \file
 * The constants of BBRv3, with the values of draft-ietf-ccwg-bbr (August 2026). Where Linux's v3
 * branch has another value, the table that names them says so.
 */

namespace tunnelcc
{

/// Constants of BBRv3.
struct Bbr3Parameters
{
    double startupGain{2.77};      //!< pacing gain in STARTUP
    double drainGain{0.5};         //!< pacing gain in DRAIN
    double cwndGain{2};            //!< window gain outside PROBE_BW_UP and PROBE_RTT
    double probeUpGain{1.25};      //!< pacing gain in PROBE_BW_UP
    double probeUpCwndGain{2.25};  //!< window gain in PROBE_BW_UP
    double probeDownGain{0.9};     //!< pacing gain in PROBE_BW_DOWN
    double probeRttCwndGain{0.5};  //!< window gain in PROBE_RTT
    double pacingMargin{0.01};     //!< paced below the estimate by this part
    uint32_t minCwnd{4};           //!< segments
    double lossThreshold{0.02};    //!< lost/in flight that is too much
    double beta{0.7};              //!< left of the bounds after a round with loss
    double headroom{0.15};         //!< of the long-term volume, left to others
    double fullPipeGrowth{1.25};   //!< bandwidth growth that keeps accelerating
    uint32_t fullPipeRounds{3};    //!< rounds without it that end acceleration
    uint32_t startupLossRanges{6}; //!< gaps in a round that may end STARTUP
    uint32_t drainMaxRounds{3};    //!< rounds after which DRAIN ends anyway
    double probeWaitBase{2};       //!< s
    double probeWaitRandom{1};     //!< s
    uint32_t renoMaxRounds{63};    //!< rounds
    uint32_t renoRandomRounds{2};  //!< values that the count of rounds starts from
    double minRttWindow{10};       //!< s
    double probeRttInterval{5};    //!< s
    double probeRttDuration{0.2};  //!< s
    double extraAckedGain{1};      //!< 0: no allowance for ACK aggregation
    uint32_t extraAckedWindow{5};  //!< rounds; twice as many are remembered
    double extraAckedMax{0.1};     //!< s of bandwidth
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_PARAMETERS_H
