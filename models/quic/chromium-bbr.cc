/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chromium-bbr.h"

#include "congestion/congestion-parameters.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Phases of PROBE_BW's gain cycle.
constexpr uint32_t CYCLE_LENGTH = 8;

/// RTT assumed before there is a sample (getMinRtt()).
constexpr int64_t RTT_WITHOUT_SAMPLE = 100'000'000;

/// Room that PROBE_RTT leaves for a packet more than the least window (MaxPacketBufferSize).
constexpr uint64_t PACKET_BUFFER = 1452;

/// Packets below the largest acknowledged that may still be declared lost (OnCongestionEventEx()).
constexpr uint64_t KEPT_PACKETS = 2;

} // namespace

ChromiumBbr::ChromiumBbr(const QuicBbrSpec& spec,
                         const BbrParameters& parameters,
                         uint32_t packets,
                         uint32_t bytes,
                         int64_t stream)
    : m_spec(spec),
      m_parameters(parameters),
      m_random(stream),
      m_packetBytes(bytes),
      m_firstWindow(uint64_t{packets} * bytes),
      m_window(m_firstWindow)
{
    EnterStartup();
}

void
ChromiumBbr::Init(SenderState& state, int64_t /* now */)
{
    state.ssthresh = INFINITE_SSTHRESH;
    m_connectionMinRtt = state.minRtt;
    Publish(state);
}

void
ChromiumBbr::OnSent(int64_t now, const PacketHistory& history, bool asks)
{
    m_lastSent = history.Next() - 1;
    m_inFlight = history.BytesInFlight();
    m_isIdleRestart = m_isIdleRestart || m_inFlight == 0;
    m_sampler.OnSent(now, m_lastSent, history.At(m_lastSent).bytes, m_inFlight, asks);
}

void
ChromiumBbr::OnPacketBytes(uint32_t bytes)
{
    const uint64_t least = LeastWindow();
    const uint64_t first = m_firstWindow;
    m_firstWindow = m_firstWindow * bytes / m_packetBytes;
    m_packetBytes = bytes;
    if (m_window == least)
    {
        m_window = LeastWindow();
    }
    else if (m_window == first)
    {
        m_window = m_firstWindow;
    }
    m_window = std::max(m_window, LeastWindow());
}

uint64_t
ChromiumBbr::Window() const
{
    if (m_mode == Mode::PROBE_RTT)
    {
        return LeastWindow();
    }
    return m_recovery == Recovery::NONE ? m_window : std::min(m_window, m_recoveryWindow);
}

void
ChromiumBbr::OnEvent(SenderState& state, const Event& event)
{
    m_connectionMinRtt = state.minRtt;
    const uint64_t ackedBefore = m_sampler.Acked();
    const uint64_t lostBefore = m_sampler.Lost();
    const bool hasLosses = !event.lost.empty();
    if (event.priorInFlight < Target(1))
    {
        m_sampler.MarkAppLimited();
    }
    m_inFlight = event.history.BytesInFlight();
    bool isRoundStart = false;
    if (!event.acked.empty())
    {
        isRoundStart = StartRound(event.acked.back());
        UpdateRecovery(event.acked.back(), hasLosses, isRoundStart);
    }
    const EventSample sample = TakeSample(event);
    if (sample.last.isKnown)
    {
        m_isSampleLimited = sample.last.isAppLimited;
    }
    const uint64_t acked = m_sampler.Acked() - ackedBefore;
    const uint64_t lost = m_sampler.Lost() - lostBefore;
    if (acked > 0 && (!sample.isAppLimited || sample.bandwidth > m_bandwidth.Get()))
    {
        m_bandwidth.Update(sample.bandwidth, m_round, m_parameters.bandwidthWindow);
    }
    const bool isExpired = sample.rtt != NEVER && UpdateMinRtt(event.now, sample.rtt);
    if (hasLosses)
    {
        ++m_lossEvents;
        m_lostBytes += lost;
    }
    if (m_mode == Mode::PROBE_BW)
    {
        UpdatePhase(event);
    }
    if (isRoundStart && !m_isPipeFull)
    {
        CheckFullPipe(sample.last);
    }
    CheckDrain(event.now);
    RunProbeRtt(event.now, isRoundStart, isExpired);
    SetPacingRate();
    SetWindow(acked);
    SetRecoveryWindow(acked, lost);
    const uint64_t last = event.acked.empty() ? event.lost.back() + 1 : event.acked.back();
    m_sampler.Forget(event.acked.empty() ? last : last - std::min(last, KEPT_PACKETS));
    if (isRoundStart)
    {
        m_lossEvents = 0;
        m_lostBytes = 0;
    }
    Publish(state);
}

ChromiumBbr::EventSample
ChromiumBbr::TakeSample(const Event& event)
{
    EventSample result;
    ByteSampler::SentState lastLost;
    for (uint64_t number : event.lost)
    {
        const auto sent = m_sampler.OnLost(number, event.history.At(number).bytes);
        lastLost = sent.isKnown ? sent : lastLost;
    }
    for (uint64_t number : event.acked)
    {
        const ByteSampler::Sample sample = m_sampler.OnAcked(event.now, number);
        if (!sample.sent.isKnown)
        {
            continue;
        }
        result.last = sample.sent;
        result.rtt = std::min(result.rtt, sample.rtt);
        if (sample.bandwidth > result.bandwidth)
        {
            result.bandwidth = sample.bandwidth;
            result.isAppLimited = sample.sent.isAppLimited;
        }
    }
    const bool isLostLater =
        event.acked.empty() || (!event.lost.empty() && event.lost.back() > event.acked.back());
    if (lastLost.isKnown && (isLostLater || !result.last.isKnown))
    {
        result.last = lastLost;
    }
    m_sampler.OnEventEnd(std::max(m_bandwidth.Get(), result.bandwidth), m_round);
    return result;
}

bool
ChromiumBbr::StartRound(uint64_t lastAcked)
{
    if (m_roundEnd != NONE && lastAcked <= m_roundEnd)
    {
        return false;
    }
    ++m_round;
    m_roundEnd = m_lastSent;
    return true;
}

void
ChromiumBbr::UpdateRecovery(uint64_t lastAcked, bool hasLosses, bool isRoundStart)
{
    if (!m_isPipeFull)
    {
        return;
    }
    if (hasLosses)
    {
        m_recoveryEnd = m_lastSent;
    }
    if (m_recovery == Recovery::NONE)
    {
        if (hasLosses)
        {
            m_recovery = Recovery::CONSERVATION;
            m_recoveryWindow = 0;
            // Conservation lasts a whole round, which begins now.
            m_roundEnd = m_lastSent;
        }
        return;
    }
    if (m_recovery == Recovery::CONSERVATION && isRoundStart)
    {
        m_recovery = Recovery::GROWTH;
    }
    if (!hasLosses && lastAcked > m_recoveryEnd)
    {
        m_recovery = Recovery::NONE;
    }
}

bool
ChromiumBbr::UpdateMinRtt(int64_t now, int64_t rtt)
{
    const bool isExpired =
        m_minRtt != NEVER && now > m_minRttTime + ToNanoseconds(m_parameters.probeRttInterval);
    if (isExpired || rtt < m_minRtt)
    {
        m_minRtt = rtt;
        m_minRttTime = now;
    }
    return isExpired;
}

double
ChromiumBbr::Gain(uint32_t phase) const
{
    return phase == 0 ? m_parameters.probeUpGain : phase == 1 ? m_parameters.probeDownGain : 1;
}

void
ChromiumBbr::UpdatePhase(const Event& event)
{
    bool isOver = event.now > m_phaseStart + MinRtt();
    if (m_pacingGain > 1 && event.lost.empty() && event.priorInFlight < Target(m_pacingGain))
    {
        isOver = false; // raising what is in flight may take longer than an RTT
    }
    if (m_pacingGain < 1 && m_inFlight <= Target(1))
    {
        isOver = true;
    }
    if (isOver)
    {
        m_phase = (m_phase + 1) % CYCLE_LENGTH;
        m_phaseStart = event.now;
        m_pacingGain = Gain(m_phase);
    }
}

void
ChromiumBbr::CheckFullPipe(const ByteSampler::SentState& last)
{
    if (m_isSampleLimited)
    {
        return;
    }
    if (m_bandwidth.Get() >= m_fullBandwidth * m_parameters.fullPipeGrowth)
    {
        m_fullBandwidth = m_bandwidth.Get();
        m_fullPipeCount = 0;
        return;
    }
    ++m_fullPipeCount;
    m_isPipeFull = m_fullPipeCount >= m_parameters.fullPipeRounds || HasLostTooMuch(last);
}

bool
ChromiumBbr::HasLostTooMuch(const ByteSampler::SentState& last) const
{
    return m_lossEvents >= m_spec.lossEvents && last.isKnown &&
           static_cast<double>(m_lostBytes) > static_cast<double>(last.inFlight) * m_spec.lossShare;
}

void
ChromiumBbr::CheckDrain(int64_t now)
{
    if (m_mode == Mode::STARTUP && m_isPipeFull)
    {
        m_mode = Mode::DRAIN;
        m_pacingGain = 1 / m_parameters.startupGain;
        m_windowGain = m_spec.startupWindow;
    }
    if (m_mode == Mode::DRAIN && m_inFlight <= Target(1))
    {
        EnterProbeBw(now);
    }
}

void
ChromiumBbr::RunProbeRtt(int64_t now, bool isRoundStart, bool isExpired)
{
    if (isExpired && !m_isIdleRestart && m_mode != Mode::PROBE_RTT)
    {
        m_mode = Mode::PROBE_RTT;
        m_pacingGain = 1;
        m_probeRttEnd = 0;
    }
    m_isIdleRestart = false;
    if (m_mode != Mode::PROBE_RTT)
    {
        return;
    }
    m_sampler.MarkAppLimited();
    if (m_probeRttEnd == 0)
    {
        if (m_inFlight < LeastWindow() + PACKET_BUFFER)
        {
            m_probeRttEnd = now + ToNanoseconds(m_parameters.probeRttDuration);
            m_isProbeRttRoundDone = false;
        }
        return;
    }
    m_isProbeRttRoundDone = m_isProbeRttRoundDone || isRoundStart;
    if (now < m_probeRttEnd || !m_isProbeRttRoundDone)
    {
        return;
    }
    m_minRttTime = now;
    if (m_isPipeFull)
    {
        EnterProbeBw(now);
    }
    else
    {
        EnterStartup();
    }
}

void
ChromiumBbr::EnterStartup()
{
    m_mode = Mode::STARTUP;
    m_pacingGain = m_parameters.startupGain;
    m_windowGain = m_spec.startupWindow;
}

void
ChromiumBbr::EnterProbeBw(int64_t now)
{
    m_mode = Mode::PROBE_BW;
    m_windowGain = m_parameters.cwndGain;
    // Any phase but the second, which is to follow the first.
    m_phase = m_random.DrawBelow(CYCLE_LENGTH - 1);
    m_phase += m_phase >= 1 ? 1 : 0;
    m_phaseStart = now;
    m_pacingGain = Gain(m_phase);
}

void
ChromiumBbr::SetPacingRate()
{
    if (m_bandwidth.Get() == 0)
    {
        return;
    }
    const double target = m_pacingGain * m_bandwidth.Get();
    if (m_isPipeFull)
    {
        m_pacingRate = target;
    }
    else if (m_pacingRate == 0 && m_connectionMinRtt != NEVER)
    {
        m_pacingRate =
            static_cast<double>(m_firstWindow) * 1e9 / static_cast<double>(m_connectionMinRtt);
    }
    else
    {
        m_pacingRate = std::max(m_pacingRate, target);
    }
}

void
ChromiumBbr::SetWindow(uint64_t acked)
{
    if (m_mode == Mode::PROBE_RTT)
    {
        return;
    }
    const uint64_t target = Target(m_windowGain);
    if (m_isPipeFull)
    {
        m_window = std::min(target + m_sampler.AckHeight(), m_window + acked);
    }
    else if (m_window < target || m_sampler.Acked() < m_firstWindow)
    {
        m_window += acked;
    }
    m_window = std::max(m_window, LeastWindow());
}

void
ChromiumBbr::SetRecoveryWindow(uint64_t acked, uint64_t lost)
{
    if (m_recovery == Recovery::NONE)
    {
        return;
    }
    if (m_recoveryWindow == 0)
    {
        m_recoveryWindow = std::max(m_inFlight + acked, LeastWindow());
        return;
    }
    m_recoveryWindow = m_recoveryWindow >= lost ? m_recoveryWindow - lost : m_packetBytes;
    if (m_recovery == Recovery::GROWTH)
    {
        m_recoveryWindow += acked;
    }
    m_recoveryWindow = std::max({m_recoveryWindow, m_inFlight + acked, LeastWindow()});
}

void
ChromiumBbr::Publish(SenderState& state) const
{
    state.cwnd = static_cast<uint32_t>((Window() + m_packetBytes - 1) / m_packetBytes);
    state.pacingRate = PacingRate();
}

double
ChromiumBbr::PacingRate() const
{
    double rate = m_pacingRate;
    if (rate == 0)
    {
        rate = m_parameters.startupGain * static_cast<double>(m_firstWindow) * 1e9 /
               static_cast<double>(MinRtt());
    }
    return std::max(rate, m_spec.leastRate);
}

int64_t
ChromiumBbr::MinRtt() const
{
    if (m_minRtt != NEVER)
    {
        return m_minRtt;
    }
    return m_connectionMinRtt == NEVER ? RTT_WITHOUT_SAMPLE : m_connectionMinRtt;
}

uint64_t
ChromiumBbr::Target(double gain) const
{
    const double bdp = m_bandwidth.Get() * static_cast<double>(MinRtt()) * 1e-9;
    const double bytes = gain * (bdp > 0 ? bdp : static_cast<double>(m_firstWindow));
    return std::max(static_cast<uint64_t>(bytes), LeastWindow());
}

uint64_t
ChromiumBbr::LeastWindow() const
{
    return uint64_t{m_parameters.minCwnd} * m_packetBytes;
}

PathEstimate
ChromiumBbr::GetPathEstimate() const
{
    return {m_bandwidth.Get() / m_packetBytes, m_minRtt};
}

std::unique_ptr<CongestionControl>
MakeChromiumBbr(const QuicSpec& quic, End end, const CongestionSpec& cc, int64_t stream)
{
    if (!quic.bbr || cc.name != "bbr")
    {
        return nullptr;
    }
    return std::make_unique<ChromiumBbr>(
        *quic.bbr,
        ParseParameters(cc.name, Bbr::GetParameterTable(), cc.parameters),
        quic.window.first,
        quic.packets.first[end],
        stream);
}

} // namespace tunnelcc
