/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "linux-tcp-settings.h"

#include <algorithm>
#include <bit>

namespace tunnelcc
{

namespace
{

// Linux 6.18, as tunnelcc/hosts/kernels.toml has it, with the source of each number.
constexpr double RECEIVE_FRACTION = 0.625; // of the receive buffer: the window
constexpr uint32_t SEND_OVERHEAD = 512;    // beside a segment's payload, by which send buffers grow
constexpr uint32_t SK_BUFF = 256;          // sizeof(struct sk_buff) in whole cache lines
constexpr uint32_t BUFFER_OVERHEAD = 832;  // of one of the send buffer's, beside its payload
constexpr uint32_t RMEM_MAX = 4 << 20;     // net.core.rmem_max
constexpr uint32_t RMEM_INITIAL = 131'072; // tcp_rmem[1]

constexpr uint32_t SYN_BYTES = 40;         // TCP: MSS, SACK permitted, timestamps, window scale
constexpr uint64_t LARGEST = 65'535 << 14; // RFC 7323, section 2.3

uint32_t
WindowScale(uint32_t rcvBufSize)
{
    // tcp_select_initial_window()
    const uint64_t largest = std::min<uint64_t>(std::max(rcvBufSize, RMEM_MAX), LARGEST);
    return static_cast<uint32_t>(
        std::clamp<int>(static_cast<int>(std::bit_width(largest)) - 16, 0, 14));
}

} // namespace

TcpSpec
MakeLinuxTcpSpec(const LinuxTcpSettings& settings, uint32_t mss, uint32_t ipHeader, bool isClient)
{
    TcpSpec tcp;
    tcp.mss = mss;
    tcp.headerBytes = ipHeader + LINUX_TCP_HEADER;
    tcp.synBytes = ipHeader + SYN_BYTES;
    tcp.receiveWindow = static_cast<uint64_t>(settings.rcvBufSize * RECEIVE_FRACTION);
    // As tcp_select_initial_window(): full segments. A client does not know yet that they will have
    // timestamps.
    const uint32_t segment = mss + (isClient ? TCP_TIMESTAMPS : 0);
    tcp.initialReceiveWindow = std::max(UNSCALED_WINDOW / segment, 1U) * segment;
    tcp.initialReceiveRoom = static_cast<uint64_t>(RMEM_INITIAL * RECEIVE_FRACTION);
    tcp.receiveGrowth = ReceiveGrowth::OUT_OF_ORDER;
    tcp.windowScale = WindowScale(settings.rcvBufSize);
    tcp.sendBuffer = settings.sndBufSize;
    const uint32_t head = std::bit_ceil(mss + TCP_TIMESTAMPS + SEND_OVERHEAD);
    tcp.sendBufferPerSegment = head + SK_BUFF;
    tcp.bufferOverhead = BUFFER_OVERHEAD;
    tcp.initialWindow = settings.initialCwnd;
    tcp.synLinearTimeouts = 4;
    tcp.minRto = settings.minRto;
    tcp.delayedAck = settings.delAckTimeout;
    tcp.jiffy = 4'000'000;
    tcp.ackEvery = settings.delAckCount;
    tcp.pingPongAnswers = 1;
    tcp.pushedAcks = true;
    tcp.pacingQuantum = 1'000'000;
    tcp.tsoRttStep = 512'000;
    tcp.tsoDeferralLimit = 1'000'000;
    tcp.prrSlowStart = PrrSlowStart::PROGRESS;
    tcp.nodelay = settings.noDelay;
    tcp.serverNodelay = true; // each end has settings of its own
    tcp.writes = WriteMode::NONBLOCKING;
    return tcp;
}

} // namespace tunnelcc
