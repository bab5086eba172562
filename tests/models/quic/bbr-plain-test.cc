/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks BBR of Chromium's QUIC against one that is written in the order of its source (hysteria
 * cb70589, core/internal/congestion/bbr: bbr_sender.go, bandwidth_sampler.go), function by
 * function, over random paths, losses, pauses and sizes of packets.
 */
#include "congestion/flow-random.h"
#include "congestion/windowed-max-filter.h"
#include "quic/chromium-bbr.h"
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-bbr-plain");

/// What a connection was like when a packet was sent (connectionStateOnSentPacket).
struct PlainSent
{
    int64_t sentTime;
    uint64_t size;
    uint64_t totalBytesSent;
    uint64_t totalBytesSentAtLastAcked;
    std::optional<int64_t> lastAckedSentTime;
    int64_t lastAckedAckTime;
    bool isAppLimited;
    uint64_t bytesInFlight;
    uint64_t totalBytesAcked;
};

/// bandwidth_sampler.go, with its names.
class PlainSampler
{
  public:
    struct Sample
    {
        double bandwidth;
        int64_t rtt;
    };

    /// OnPacketSent()
    void Sent(int64_t now, uint64_t number, uint64_t bytes, uint64_t inFlight, bool asks)
    {
        m_lastSent = number;
        if (asks)
        {
            totalBytesSent += bytes;
            packets[number] = {now,
                               bytes,
                               totalBytesSent,
                               m_totalBytesSentAtLastAcked,
                               m_lastAckedSentTime,
                               m_lastAckedAckTime,
                               m_isAppLimited,
                               inFlight + bytes,
                               totalBytesAcked};
        }
    }

    /// onPacketAcknowledgedInner()
    std::optional<Sample> Acked(int64_t now, uint64_t number)
    {
        if (!packets.contains(number))
        {
            return {};
        }
        const PlainSent& sent = packets.at(number);
        totalBytesAcked += sent.size;
        m_totalBytesSentAtLastAcked = sent.totalBytesSent;
        m_lastAckedSentTime = sent.sentTime;
        m_lastAckedAckTime = now;
        if (m_isAppLimited && (!m_endOfAppLimited || number > *m_endOfAppLimited))
        {
            m_isAppLimited = false;
        }
        if (!sent.lastAckedSentTime || now <= sent.lastAckedAckTime)
        {
            return {};
        }
        double rate = static_cast<double>(totalBytesAcked - sent.totalBytesAcked) * 1e9 /
                      static_cast<double>(now - sent.lastAckedAckTime);
        if (sent.sentTime > *sent.lastAckedSentTime)
        {
            const double sending =
                static_cast<double>(sent.totalBytesSent - sent.totalBytesSentAtLastAcked) * 1e9 /
                static_cast<double>(sent.sentTime - *sent.lastAckedSentTime);
            rate = std::min(rate, sending);
        }
        return Sample{rate, now - sent.sentTime};
    }

    /// OnAppLimited()
    void AppLimited()
    {
        m_isAppLimited = true;
        m_endOfAppLimited = m_lastSent;
    }

    /// onAckEventEnd(), and maxAckHeightTracker.Update()
    void AckEventEnd(double bandwidth, uint32_t round)
    {
        const uint64_t newlyAcked = totalBytesAcked - m_totalBytesAckedAfterLastEvent;
        if (newlyAcked == 0)
        {
            return;
        }
        m_totalBytesAckedAfterLastEvent = totalBytesAcked;
        const int64_t ackTime = m_lastAckedAckTime;
        uint64_t expected = 0;
        if (m_epochStart)
        {
            const auto time = static_cast<double>(ackTime - *m_epochStart);
            expected = static_cast<uint64_t>(bandwidth * time * 1e-9);
        }
        if (!m_epochStart || m_epochBytes <= expected)
        {
            m_epochBytes = newlyAcked;
            m_epochStart = ackTime;
            return;
        }
        m_epochBytes += newlyAcked;
        maxAckHeight.Update(m_epochBytes - expected, round, 10); // bandwidthWindowSize
    }

    std::map<uint64_t, PlainSent> packets;
    uint64_t totalBytesSent{0};
    uint64_t totalBytesAcked{0};
    uint64_t totalBytesLost{0};
    WindowedMaxFilter<uint64_t> maxAckHeight;

  private:
    uint64_t m_totalBytesSentAtLastAcked{0};
    std::optional<int64_t> m_lastAckedSentTime;
    int64_t m_lastAckedAckTime{0};
    uint64_t m_lastSent{0};
    bool m_isAppLimited{false};
    std::optional<uint64_t> m_endOfAppLimited;
    uint64_t m_totalBytesAckedAfterLastEvent{0};
    std::optional<int64_t> m_epochStart;
    uint64_t m_epochBytes{0};
};

/// bbr_sender.go, with its names.
class PlainSender
{
  public:
    using Mode = Bbr::Mode;
    enum class Recovery
    {
        NOT_IN,
        CONSERVATION,
        GROWTH
    };

    PlainSender(uint64_t packets, uint64_t bytes, int64_t stream)
        : maxDatagramSize(bytes),
          initialWindow(packets * bytes),
          congestionWindow(initialWindow),
          m_random(stream)
    {
    }

    /// OnPacketSent()
    void Sent(int64_t now, uint64_t number, uint64_t bytes, uint64_t inFlight, bool asks)
    {
        m_lastSent = number;
        if (inFlight == 0)
        {
            m_exitingQuiescence = true;
        }
        sampler.Sent(now, number, bytes, inFlight, asks);
        m_sizes[number] = bytes;
        m_bytesInFlight = inFlight;
    }

    /// SetMaxDatagramSize()
    void SetMaxDatagramSize(uint64_t bytes)
    {
        const bool wasLeast = congestionWindow == 4 * maxDatagramSize;
        const bool wasInitial = congestionWindow == initialWindow;
        initialWindow = initialWindow * bytes / maxDatagramSize;
        maxDatagramSize = bytes;
        if (wasLeast)
        {
            congestionWindow = MinWindow();
        }
        else if (wasInitial)
        {
            congestionWindow = initialWindow;
        }
        congestionWindow = std::max(congestionWindow, MinWindow());
    }

    /// OnCongestionEventEx()
    void CongestionEvent(int64_t now,
                         uint64_t priorInFlight,
                         uint64_t inFlight,
                         const std::vector<uint64_t>& acked,
                         const std::vector<uint64_t>& lost)
    {
        const uint64_t ackedBefore = sampler.totalBytesAcked;
        const uint64_t lostBefore = sampler.totalBytesLost;
        if (priorInFlight < TargetWindow(1)) // maybeAppLimited()
        {
            sampler.AppLimited();
        }
        m_bytesInFlight = inFlight;
        bool isRoundStart = false;
        bool minRttExpired = false;
        if (!acked.empty())
        {
            isRoundStart = UpdateRoundTripCounter(acked.back());
            UpdateRecoveryState(acked.back(), !lost.empty(), isRoundStart);
        }
        // bandwidthSampler.OnCongestionEvent()
        const PlainSent* lastLost = nullptr;
        for (uint64_t number : lost)
        {
            sampler.totalBytesLost += m_sizes.at(number);
            const auto sent = sampler.packets.find(number);
            lastLost = sent != sampler.packets.end() ? &sent->second : lastLost;
        }
        const PlainSent* lastAcked = nullptr;
        double sampleBandwidth = 0;
        bool isSampleLimited = false;
        std::optional<int64_t> sampleRtt;
        for (uint64_t number : acked)
        {
            if (const auto sample = sampler.Acked(now, number))
            {
                lastAcked = &sampler.packets.at(number);
                sampleRtt = std::min(sampleRtt.value_or(sample->rtt), sample->rtt);
                if (sample->bandwidth > sampleBandwidth)
                {
                    sampleBandwidth = sample->bandwidth;
                    isSampleLimited = lastAcked->isAppLimited;
                }
            }
        }
        const PlainSent* last = lastAcked;
        if (lastLost && (!lastAcked || acked.empty() || lost.back() > acked.back()))
        {
            last = lastLost;
        }
        sampler.AckEventEnd(std::max(bandwidth.Get(), sampleBandwidth), m_roundTripCount);

        if (last)
        {
            m_lastSampleIsAppLimited = last->isAppLimited;
        }
        const uint64_t bytesAcked = sampler.totalBytesAcked - ackedBefore;
        if (bytesAcked > 0 && (!isSampleLimited || sampleBandwidth > bandwidth.Get()))
        {
            bandwidth.Update(sampleBandwidth, m_roundTripCount, 10);
        }
        if (sampleRtt)
        {
            minRttExpired = MaybeUpdateMinRtt(now, *sampleRtt);
        }
        const uint64_t bytesLost = sampler.totalBytesLost - lostBefore;
        if (!lost.empty())
        {
            ++m_numLossEventsInRound;
            m_bytesLostInRound += bytesLost;
        }
        if (mode == Mode::PROBE_BW)
        {
            UpdateGainCyclePhase(now, priorInFlight, !lost.empty());
        }
        if (isRoundStart && !m_isAtFullBandwidth)
        {
            CheckIfFullBandwidthReached(last);
        }
        MaybeExitStartupOrDrain(now);
        MaybeEnterOrExitProbeRtt(now, isRoundStart, minRttExpired);
        CalculatePacingRate();
        CalculateCongestionWindow(bytesAcked);
        CalculateRecoveryWindow(bytesAcked, bytesLost);
        // RemoveObsoletePackets(): two numbers below the largest acknowledged are kept.
        const uint64_t leastUnacked = acked.empty()      ? lost.back() + 1
                                      : acked.back() > 2 ? acked.back() - 2
                                                         : 0;
        sampler.packets.erase(sampler.packets.begin(), sampler.packets.lower_bound(leastUnacked));
        if (isRoundStart)
        {
            m_numLossEventsInRound = 0;
            m_bytesLostInRound = 0;
        }
    }

    /// GetCongestionWindow()
    uint64_t Window() const
    {
        if (mode == Mode::PROBE_RTT)
        {
            return MinWindow();
        }
        return recovery == Recovery::NOT_IN ? congestionWindow
                                            : std::min(congestionWindow, m_recoveryWindow);
    }

    /// PacingRate(), bytes/s; no less than minBps, 65536
    double PacingRate() const
    {
        const double rate = m_pacingRate > 0 ? m_pacingRate
                                             : 2.885 * static_cast<double>(initialWindow) * 1e9 /
                                                   static_cast<double>(GetMinRtt());
        return std::max(rate, 65'536.0);
    }

    Mode mode{Mode::STARTUP};
    Recovery recovery{Recovery::NOT_IN};
    uint64_t maxDatagramSize;
    uint64_t initialWindow;
    uint64_t congestionWindow;
    int64_t connectionMinRtt{0}; //!< rttStats.MinRTT(); 0: none
    WindowedMaxFilter<double> bandwidth;
    PlainSampler sampler;

  private:
    static constexpr int64_t SECONDS = 1'000'000'000;

    uint64_t MinWindow() const
    {
        return 4 * maxDatagramSize;
    }

    int64_t GetMinRtt() const
    {
        if (m_minRtt > 0)
        {
            return m_minRtt;
        }
        return connectionMinRtt > 0 ? connectionMinRtt : SECONDS / 10;
    }

    uint64_t TargetWindow(double gain) const
    {
        const double bdp = bandwidth.Get() * static_cast<double>(GetMinRtt()) * 1e-9;
        const double wanted = gain * (bdp > 0 ? bdp : static_cast<double>(initialWindow));
        return std::max(static_cast<uint64_t>(wanted), MinWindow());
    }

    bool UpdateRoundTripCounter(uint64_t lastAcked)
    {
        if (!m_currentRoundTripEnd || lastAcked > *m_currentRoundTripEnd)
        {
            ++m_roundTripCount;
            m_currentRoundTripEnd = m_lastSent;
            return true;
        }
        return false;
    }

    void UpdateRecoveryState(uint64_t lastAcked, bool hasLosses, bool isRoundStart)
    {
        if (!m_isAtFullBandwidth)
        {
            return;
        }
        if (hasLosses)
        {
            m_endRecoveryAt = m_lastSent;
        }
        switch (recovery)
        {
        case Recovery::NOT_IN:
            if (hasLosses)
            {
                recovery = Recovery::CONSERVATION;
                m_recoveryWindow = 0;
                m_currentRoundTripEnd = m_lastSent;
            }
            break;
        case Recovery::CONSERVATION:
            if (isRoundStart)
            {
                recovery = Recovery::GROWTH;
            }
            [[fallthrough]];
        case Recovery::GROWTH:
            if (!hasLosses && lastAcked > m_endRecoveryAt)
            {
                recovery = Recovery::NOT_IN;
            }
            break;
        }
    }

    bool MaybeUpdateMinRtt(int64_t now, int64_t sample)
    {
        const bool isExpired = m_minRtt > 0 && now > m_minRttTimestamp + 10 * SECONDS;
        if (isExpired || m_minRtt == 0 || sample < m_minRtt)
        {
            m_minRtt = sample;
            m_minRttTimestamp = now;
        }
        return isExpired;
    }

    void UpdateGainCyclePhase(int64_t now, uint64_t priorInFlight, bool hasLosses)
    {
        static constexpr double GAINS[] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
        bool advances = now - m_lastCycleStart > GetMinRtt();
        if (m_pacingGain > 1 && !hasLosses && priorInFlight < TargetWindow(m_pacingGain))
        {
            advances = false;
        }
        if (m_pacingGain < 1 && m_bytesInFlight <= TargetWindow(1))
        {
            advances = true;
        }
        if (advances)
        {
            m_cycleOffset = (m_cycleOffset + 1) % 8;
            m_lastCycleStart = now;
            m_pacingGain = GAINS[m_cycleOffset];
        }
    }

    void CheckIfFullBandwidthReached(const PlainSent* last)
    {
        if (m_lastSampleIsAppLimited)
        {
            return;
        }
        if (bandwidth.Get() >= m_bandwidthAtLastRound * 1.25)
        {
            m_bandwidthAtLastRound = bandwidth.Get();
            m_roundsWithoutGain = 0;
            return;
        }
        ++m_roundsWithoutGain;
        // shouldExitStartupDueToLoss()
        const bool hasLostTooMuch = m_numLossEventsInRound >= 8 && last && m_bytesLostInRound > 0 &&
                                    static_cast<double>(m_bytesLostInRound) >
                                        0.02 * static_cast<double>(last->bytesInFlight);
        m_isAtFullBandwidth = m_roundsWithoutGain >= 3 || hasLostTooMuch;
    }

    void MaybeExitStartupOrDrain(int64_t now)
    {
        if (mode == Mode::STARTUP && m_isAtFullBandwidth)
        {
            mode = Mode::DRAIN;
            m_pacingGain = 1 / m_highGain;
            m_windowGain = 2;
        }
        if (mode == Mode::DRAIN && m_bytesInFlight <= TargetWindow(1))
        {
            EnterProbeBandwidth(now);
        }
    }

    void EnterProbeBandwidth(int64_t now)
    {
        mode = Mode::PROBE_BW;
        m_windowGain = 2;
        m_cycleOffset = m_random.DrawBelow(7);
        if (m_cycleOffset >= 1)
        {
            ++m_cycleOffset;
        }
        m_lastCycleStart = now;
        m_pacingGain = m_cycleOffset == 0 ? 1.25 : 1;
    }

    void MaybeEnterOrExitProbeRtt(int64_t now, bool isRoundStart, bool minRttExpired)
    {
        if (minRttExpired && !m_exitingQuiescence && mode != Mode::PROBE_RTT)
        {
            mode = Mode::PROBE_RTT;
            m_pacingGain = 1;
            m_exitProbeRttAt = 0;
        }
        if (mode == Mode::PROBE_RTT)
        {
            sampler.AppLimited();
            if (m_exitProbeRttAt == 0)
            {
                if (m_bytesInFlight < MinWindow() + 1452) // MaxPacketBufferSize
                {
                    m_exitProbeRttAt = now + SECONDS / 5;
                    m_probeRttRoundPassed = false;
                }
            }
            else
            {
                if (isRoundStart)
                {
                    m_probeRttRoundPassed = true;
                }
                if (now >= m_exitProbeRttAt && m_probeRttRoundPassed)
                {
                    m_minRttTimestamp = now;
                    if (m_isAtFullBandwidth)
                    {
                        EnterProbeBandwidth(now);
                    }
                    else
                    {
                        mode = Mode::STARTUP;
                        m_pacingGain = m_highGain;
                        m_windowGain = 2;
                    }
                }
            }
        }
        m_exitingQuiescence = false;
    }

    void CalculatePacingRate()
    {
        if (bandwidth.Get() == 0)
        {
            return;
        }
        const double target = m_pacingGain * bandwidth.Get();
        if (m_isAtFullBandwidth)
        {
            m_pacingRate = target;
        }
        else if (m_pacingRate == 0 && connectionMinRtt > 0)
        {
            m_pacingRate =
                static_cast<double>(initialWindow) * 1e9 / static_cast<double>(connectionMinRtt);
        }
        else
        {
            m_pacingRate = std::max(m_pacingRate, target);
        }
    }

    void CalculateCongestionWindow(uint64_t bytesAcked)
    {
        if (mode == Mode::PROBE_RTT)
        {
            return;
        }
        const uint64_t target = TargetWindow(m_windowGain);
        if (m_isAtFullBandwidth)
        {
            congestionWindow =
                std::min(target + sampler.maxAckHeight.Get(), congestionWindow + bytesAcked);
        }
        else if (congestionWindow < target || sampler.totalBytesAcked < initialWindow)
        {
            congestionWindow += bytesAcked;
        }
        congestionWindow = std::max(congestionWindow, MinWindow());
    }

    void CalculateRecoveryWindow(uint64_t bytesAcked, uint64_t bytesLost)
    {
        if (recovery == Recovery::NOT_IN)
        {
            return;
        }
        if (m_recoveryWindow == 0)
        {
            m_recoveryWindow = std::max(m_bytesInFlight + bytesAcked, MinWindow());
            return;
        }
        m_recoveryWindow =
            m_recoveryWindow >= bytesLost ? m_recoveryWindow - bytesLost : maxDatagramSize;
        if (recovery == Recovery::GROWTH)
        {
            m_recoveryWindow += bytesAcked;
        }
        m_recoveryWindow = std::max({m_recoveryWindow, m_bytesInFlight + bytesAcked, MinWindow()});
    }

    std::map<uint64_t, uint64_t> m_sizes;
    const double m_highGain{2.885};
    double m_pacingGain{m_highGain};
    double m_windowGain{2};
    double m_pacingRate{0};
    uint64_t m_lastSent{0};
    uint64_t m_bytesInFlight{0};
    bool m_exitingQuiescence{false};
    uint32_t m_roundTripCount{0};
    std::optional<uint64_t> m_currentRoundTripEnd;
    uint64_t m_endRecoveryAt{0};
    uint64_t m_recoveryWindow{0};
    int64_t m_minRtt{0};
    int64_t m_minRttTimestamp{0};
    uint32_t m_numLossEventsInRound{0};
    uint64_t m_bytesLostInRound{0};
    bool m_lastSampleIsAppLimited{false};
    double m_bandwidthAtLastRound{0};
    uint32_t m_roundsWithoutGain{0};
    bool m_isAtFullBandwidth{false};
    uint32_t m_cycleOffset{0};
    int64_t m_lastCycleStart{0};
    int64_t m_exitProbeRttAt{0};
    bool m_probeRttRoundPassed{false};
    FlowRandom m_random;
};

/// Runs both over a path with random losses, batches of ACKs, pauses and reordering.
class ChromiumPlainTest : public ns3::TestCase
{
  public:
    ChromiumPlainTest(uint32_t seed, double loss)
        : ns3::TestCase("BBR of Chromium is that of its source, seed " + std::to_string(seed) +
                        ", loss " + std::to_string(loss)),
          m_seed(seed),
          m_loss(loss)
    {
    }

  private:
    struct Flying
    {
        uint64_t number;
        int64_t arrival;
        bool isLost;
    };

    void DoRun() override
    {
        constexpr uint32_t PACKETS = 32;
        constexpr int64_t STREAM = 11;
        std::mt19937 random(m_seed);
        std::uniform_real_distribution<> uniform;
        uint32_t bytes = 1200;
        BbrParameters parameters;
        parameters.startupGain = 2.885;
        ChromiumBbr bbr({2, 8, 0.02, 65'536}, parameters, PACKETS, bytes, STREAM);
        PlainSender plain(PACKETS, bytes, STREAM);
        PacketHistory history;
        SenderState state;
        const bool hasRtt = m_seed % 2 == 0;
        state.minRtt = hasRtt ? 40 * MS : NEVER;
        plain.connectionMinRtt = hasRtt ? 40 * MS : 0;
        bbr.Init(state, 0);
        std::vector<Flying> flying;
        int64_t linkFree = 0;
        double rate = 2e6; // bytes/s
        int events = 0;
        std::map<Bbr::Mode, int> modes;
        int recoveries = 0;
        for (int64_t now = MS; now < 45 * SECOND; now += MS + static_cast<int64_t>(random() % MS))
        {
            if (random() % 3000 == 0)
            {
                rate = 3e5 * (1 + random() % 20);
            }
            if (now > 7 * SECOND && bytes < 1400 && random() % 500 == 0)
            {
                bytes += 100;
                bbr.OnPacketBytes(bytes);
                plain.SetMaxDatagramSize(bytes);
            }
            const bool isEvent = Settle(now, bbr, plain, history, state, flying);
            events += isEvent;
            ++modes[bbr.GetMode()];
            recoveries += plain.recovery == PlainSender::Recovery::GROWTH;
            NS_TEST_ASSERT_MSG_EQ(bbr.Window(), plain.Window(), "window at " << now);
            NS_TEST_ASSERT_MSG_EQ((bbr.GetMode() == plain.mode), true, "mode at " << now);
            NS_TEST_ASSERT_MSG_EQ(bbr.GetBandwidth(), plain.bandwidth.Get(), "rate at " << now);
            if (isEvent)
            {
                const uint64_t size = plain.maxDatagramSize;
                NS_TEST_ASSERT_MSG_EQ_TOL(state.pacingRate, plain.PacingRate(), 1e-6, "at " << now);
                NS_TEST_ASSERT_MSG_EQ(state.cwnd, (plain.Window() + size - 1) / size, "packets");
            }
            // Pauses of the application: some of them until nothing is in flight.
            const bool pauses = (now / (700 * MS)) % 5 == 4 && m_seed % 3 > 0;
            if (pauses)
            {
                if (history.InFlight() == 0 && random() % 4 == 0)
                {
                    Send(now, false, 60, bbr, plain, history); // a lone ACK
                }
                continue;
            }
            for (int left = 12; left > 0 && history.BytesInFlight() + bytes <= plain.Window();
                 --left)
            {
                const uint64_t number = Send(now, true, bytes, bbr, plain, history);
                const double service = bytes / rate * 1e9;
                linkFree = std::max(linkFree, now) + static_cast<int64_t>(service);
                const bool isTail = linkFree - now > 150 * MS;
                const int64_t late = random() % 50 == 0 ? 5 * MS : 0;
                const int64_t rtt = 40 * MS + 10 * MS * static_cast<int64_t>(now / (13 * SECOND));
                flying.push_back(
                    {number, linkFree + rtt + late, isTail || uniform(random) < m_loss});
            }
        }
        NS_TEST_EXPECT_MSG_GT(events, 2'000, "events");
        NS_TEST_EXPECT_MSG_GT(modes[Bbr::Mode::PROBE_BW], 1'000, "it probed for bandwidth");
        const int longest = m_seed % 3 == 0 ? 50 : -1; // pauses renew the least RTT
        NS_TEST_EXPECT_MSG_GT(modes[Bbr::Mode::PROBE_RTT], longest, "and for the RTT");
        NS_TEST_EXPECT_MSG_GT(recoveries, (m_loss > 0 ? 50 : -1), "and recovered");
    }

    static uint64_t Send(int64_t now,
                         bool asks,
                         uint32_t bytes,
                         ChromiumBbr& bbr,
                         PlainSender& plain,
                         PacketHistory& history)
    {
        if (asks)
        {
            history.AddFrame({});
        }
        QuicPacket& packet = history.Send();
        packet.bytes = static_cast<uint16_t>(bytes);
        packet.sample.sentTime = now;
        if (asks)
        {
            history.CountInFlight(packet);
        }
        const uint64_t number = history.Next() - 1;
        bbr.OnSent(now, history, asks);
        plain.Sent(now, number, bytes, history.BytesInFlight(), asks);
        return number;
    }

    /// \returns whether anything was settled
    static bool Settle(int64_t now,
                       ChromiumBbr& bbr,
                       PlainSender& plain,
                       PacketHistory& history,
                       SenderState& state,
                       std::vector<Flying>& flying)
    {
        std::vector<uint64_t> acked;
        std::vector<uint64_t> lost;
        for (const Flying& it : flying)
        {
            if (it.arrival <= now)
            {
                (it.isLost ? lost : acked).push_back(it.number);
            }
        }
        if (acked.empty() && lost.empty())
        {
            return false;
        }
        std::erase_if(flying, [=](const Flying& it) { return it.arrival <= now; });
        const uint64_t before = history.BytesInFlight();
        for (uint64_t number : acked)
        {
            history.Settle(history.At(number), QuicPacketFate::ACKED);
        }
        for (uint64_t number : lost)
        {
            history.Settle(history.At(number), QuicPacketFate::LOST);
        }
        if (!acked.empty() && state.minRtt == NEVER)
        {
            state.minRtt = 40 * MS;
            plain.connectionMinRtt = 40 * MS;
        }
        bbr.OnEvent(state, {now, history, before, acked, lost});
        plain.CongestionEvent(now, before, history.BytesInFlight(), acked, lost);
        return true;
    }

    const uint32_t m_seed;
    const double m_loss;
};

ADD_CASES
{
    for (uint32_t seed = 0; seed < 4; ++seed)
    {
        for (double loss : {0.0, 0.003, 0.03})
        {
            AddCase(new ChromiumPlainTest(seed, loss));
        }
    }
}

} // namespace
