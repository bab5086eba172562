/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_SPECS_H
#define TUNNELCC_TCP_SPECS_H

#include "spec/tcp-spec.h"

/**
 * \file
 * Settings of TCP for the tests.
 */
namespace tunnelcc
{

/// A connection as Linux 6.18 sets it up over Ethernet, but for its buffers, which a test chooses.
inline TcpSpec
MakeTcpSpec()
{
    TcpSpec tcp;
    tcp.mss = 1'448; // MTU 1500, timestamps
    tcp.headerBytes = 52;
    tcp.synBytes = 60;
    tcp.receiveGrowth = ReceiveGrowth::OUT_OF_ORDER;
    tcp.initialWindow = 10;
    tcp.minRto = 200'000'000;
    tcp.delayedAck = 40'000'000;
    tcp.ackEvery = 2;
    tcp.pingPongAnswers = 1;
    tcp.pushedAcks = true;
    tcp.pacingQuantum = 1'000'000;
    tcp.tsoDeferralLimit = 1'000'000;
    tcp.prrSlowStart = PrrSlowStart::PROGRESS;
    tcp.serverNodelay = true;
    return tcp;
}

} // namespace tunnelcc

#endif // TUNNELCC_TCP_SPECS_H
