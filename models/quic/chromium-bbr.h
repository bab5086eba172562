/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CHROMIUM_BBR_H
#define TUNNELCC_CHROMIUM_BBR_H

#include "byte-sampler.h"
#include "congestion/bbr.h"
#include "congestion/flow-random.h"
#include "congestion/windowed-max-filter.h"
#include "packet-control.h"
#include "spec/quic-spec.h"
#include "spec/tcp-spec.h"

#include <cstdint>
#include <memory>

/**
 * \file
 * BBRv1 as Chromium's QUIC has it, and Hysteria 2 after it (hysteria cb70589,
 * core/internal/congestion/bbr/bbr_sender.go, profile "standard"). It has the states of Linux's
 * (congestion/bbr.h), but differs in:
 *
 * - It paces at the estimate, where Linux stays 1 % below it. A maximum of noisy samples is a
 * little too high, so the queue grows from one PROBE_RTT to the next.
 * - In start-up the window is 2 BDP, not 2.885, and losses may end start-up.
 * - The window has no room for bursts in the hosts.
 * - Recovery limits the window only after start-up. It lasts as long as there are losses in each
 *   round, conserves packets in its first, and lets two bytes leave for each one afterwards.
 * - Less than a BDP in flight is a limit of the application.
 * - Samples and windows are of bytes (ByteSampler).
 *
 * Not modelled: the other profiles ("conservative" and "aggressive").
 */

namespace tunnelcc
{

/// BBRv1 of Chromium's QUIC.
class ChromiumBbr final : public PacketControl
{
  public:
    using Mode = Bbr::Mode;

    /**
     * \param spec constants that Linux's BBRv1 has not
     * \param parameters constants of Linux's BBRv1; those of policers, bursts, margin and ACK
     * aggregation are not used
     * \param packets first window, packets
     * \param bytes size of a full packet
     * \param stream seeds the random phase at which PROBE_BW starts
     */
    ChromiumBbr(const QuicBbrSpec& spec,
                const BbrParameters& parameters,
                uint32_t packets,
                uint32_t bytes,
                int64_t stream);

    void Init(SenderState& state, int64_t now) override;
    void OnSent(int64_t now, const PacketHistory& history, bool asks) override;
    void OnEvent(SenderState& state, const Event& event) override;
    void OnPacketBytes(uint32_t bytes) override;
    uint64_t Window() const override;

    std::string_view GetPhase() const override
    {
        return Bbr::NameOf(m_mode);
    }

    PathEstimate GetPathEstimate() const override;

    Mode GetMode() const
    {
        return m_mode;
    }

    /// Largest bandwidth of the last rounds, bytes/s.
    double GetBandwidth() const
    {
        return m_bandwidth.Get();
    }

  private:
    /// States of recovery, as in updateRecoveryState().
    enum class Recovery : uint8_t
    {
        NONE,
        CONSERVATION,
        GROWTH
    };

    static constexpr uint64_t NONE = UINT64_MAX; //!< no packet

    /// The bandwidth and the RTT that an event shows.
    struct EventSample
    {
        double bandwidth{0};
        bool isAppLimited{false};
        int64_t rtt{NEVER};
        ByteSampler::SentState last; //!< of the last packet acknowledged, or lost if that is later
    };

    EventSample TakeSample(const Event& event);
    bool StartRound(uint64_t lastAcked);
    void UpdateRecovery(uint64_t lastAcked, bool hasLosses, bool isRoundStart);
    bool UpdateMinRtt(int64_t now, int64_t rtt);
    void UpdatePhase(const Event& event);
    void CheckFullPipe(const ByteSampler::SentState& last);
    bool HasLostTooMuch(const ByteSampler::SentState& last) const;
    void CheckDrain(int64_t now);
    void RunProbeRtt(int64_t now, bool isRoundStart, bool isExpired);
    void EnterStartup();
    void EnterProbeBw(int64_t now);
    void SetPacingRate();
    void SetWindow(uint64_t acked);
    void SetRecoveryWindow(uint64_t acked, uint64_t lost);
    void Publish(SenderState& state) const;

    double PacingRate() const;
    double Gain(uint32_t phase) const;
    int64_t MinRtt() const;
    uint64_t Target(double gain) const;
    uint64_t LeastWindow() const;

    const QuicBbrSpec m_spec;
    const BbrParameters m_parameters;
    FlowRandom m_random;
    uint32_t m_packetBytes;
    uint64_t m_firstWindow;

    ByteSampler m_sampler;
    WindowedMaxFilter<double> m_bandwidth; //!< bytes/s, by round
    int64_t m_connectionMinRtt{NEVER};     //!< the connection's, used before the first sample; ns
    int64_t m_minRtt{NEVER};
    int64_t m_minRttTime{0};

    // Rounds.
    uint64_t m_lastSent{NONE};
    uint64_t m_roundEnd{NONE};
    uint32_t m_round{0};
    uint32_t m_lossEvents{0}; //!< in the round
    uint64_t m_lostBytes{0};  //!< in the round

    // States.
    Mode m_mode{Mode::STARTUP};
    double m_pacingGain{1};
    double m_windowGain{1};
    bool m_isPipeFull{false};
    uint32_t m_fullPipeCount{0};
    double m_fullBandwidth{0};
    bool m_isSampleLimited{false}; //!< the latest sample was limited by the application
    uint32_t m_phase{0};
    int64_t m_phaseStart{0};
    int64_t m_probeRttEnd{0}; //!< 0: not yet down to the least window
    bool m_isProbeRttRoundDone{false};
    bool m_isIdleRestart{false};

    // Windows and pacing.
    uint64_t m_inFlight{0};
    uint64_t m_window{0};
    double m_pacingRate{0}; //!< 0: before an estimate
    Recovery m_recovery{Recovery::NONE};
    uint64_t m_recoveryEnd{NONE};
    uint64_t m_recoveryWindow{0};
};

/// The BBR of a program that has Chromium's; null: it has another algorithm.
/// \param quic settings of the connection  \param end whose it is  \param cc name and parameters
/// \param stream as of ChromiumBbr
std::unique_ptr<CongestionControl> MakeChromiumBbr(const QuicSpec& quic,
                                                   End end,
                                                   const CongestionSpec& cc,
                                                   int64_t stream);

} // namespace tunnelcc

#endif // TUNNELCC_CHROMIUM_BBR_H
