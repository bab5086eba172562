/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-adapter.h"

#include "congestion/congestion-registry.h"
#include "event/time-units.h"
#include "ns3-attributes.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

namespace
{

using Tcb = ns3::TcpSocketState;

/// Value of TcpSocketState::m_ssThresh before the first loss.
constexpr uint32_t NS3_INFINITE_SSTHRESH = std::numeric_limits<uint32_t>::max();

/// Where there is no RTT yet, what ns-3 takes for it (ns3::RttEstimator::InitialEstimation).
constexpr int64_t INITIAL_RTT = SECOND;

/// Upper bound of the pacing rate, bit/s: none in effect.
constexpr uint64_t MAX_PACING_RATE = 100'000'000'000'000ULL;

uint32_t
ToBytes(uint64_t segments, uint32_t mss)
{
    return static_cast<uint32_t>(
        std::min<uint64_t>(segments * mss, std::numeric_limits<uint32_t>::max()));
}

int32_t
ToSignedBytes(uint64_t segments, uint32_t mss)
{
    return static_cast<int32_t>(
        std::min<uint64_t>(segments * mss, std::numeric_limits<int32_t>::max()));
}

/// Sequence numbers and the counters of ns3::TcpRateSample wrap at 4 GiB, as in ns-3 itself.
uint32_t
ToWrappedBytes(uint64_t segments, uint32_t mss)
{
    return static_cast<uint32_t>(segments * mss);
}

int64_t
GetSrtt(const SenderState& state)
{
    return state.srtt > 0 ? state.srtt : INITIAL_RTT;
}

/// At ns-3's default resolution, which this program never changes, a time step is a nanosecond.
ns3::Time
ToTime(int64_t nanoseconds)
{
    return nanoseconds >= NEVER ? ns3::Time::Max() : ns3::Time(nanoseconds);
}

Tcb::TcpCongState_t
ToNs3(CaState state)
{
    switch (state)
    {
    case CaState::OPEN:
        return Tcb::CA_OPEN;
    case CaState::DISORDER:
        return Tcb::CA_DISORDER;
    case CaState::CWR:
        return Tcb::CA_CWR;
    case CaState::RECOVERY:
        return Tcb::CA_RECOVERY;
    case CaState::LOSS:
        return Tcb::CA_LOSS;
    }
    return Tcb::CA_OPEN;
}

/// All of ns-3's, by TypeId.
class Ns3Family final : public CongestionFamily
{
  public:
    std::vector<std::string> List() const override
    {
        return ListNs3CongestionOps();
    }

    bool Has(std::string_view name) const override
    {
        return HasNs3CongestionOps(name);
    }

    std::vector<CongestionParameterInfo> Describe(std::string_view name) const override
    {
        return DescribeNs3Attributes(name);
    }

    std::unique_ptr<CongestionControl> Make(std::string_view name,
                                            const CongestionParameters& parameters,
                                            int64_t stream) const override
    {
        return std::make_unique<Ns3Adapter>(name, parameters, stream);
    }
};

const Ns3Family FAMILY;
[[maybe_unused]] const bool IS_ADDED = AddCongestionFamily(FAMILY);

} // namespace

Ns3Adapter::Ns3Adapter(std::string_view typeId,
                       const CongestionParameters& parameters,
                       int64_t stream)
    : m_ops(MakeNs3CongestionOps(typeId, parameters, stream)),
      m_hasCongControl(m_ops->HasCongControl()),
      m_needsEcn(Ns3NeedsEcn(typeId))
{
}

bool
Ns3Adapter::HasCongControl() const
{
    return m_hasCongControl;
}

bool
Ns3Adapter::NeedsEcn() const
{
    return m_needsEcn;
}

void
Ns3Adapter::Init(SenderState& state, int64_t /* now */)
{
    m_tcb = ns3::CreateObject<Tcb>();
    m_tcb->m_segmentSize = state.mss;
    m_tcb->m_initialCWnd = state.cwnd; // in segments, unlike m_cWnd
    m_tcb->m_initialSsThresh = NS3_INFINITE_SSTHRESH;
    m_tcb->m_ssThresh = NS3_INFINITE_SSTHRESH;
    m_tcb->m_cWnd = ToBytes(state.cwnd, state.mss);
    m_tcb->m_pacing = true;
    m_tcb->m_maxPacingRate = ns3::DataRate(MAX_PACING_RATE);
    m_tcb->m_pacingRate = ns3::DataRate(MAX_PACING_RATE);
    m_exportedCwnd = state.cwnd;
    m_exportedSsThresh = state.ssthresh;
    m_deliveredBefore = state.delivered;
    state.pacingRate = 0;
    ImportPath(state);
    m_ops->Init(m_tcb);
    m_ops->CongestionStateSet(m_tcb, Tcb::CA_OPEN);
    Export(state);
}

uint32_t
Ns3Adapter::GetSsThresh(SenderState& state, int64_t /* now */)
{
    ImportWindow(state);
    ImportPath(state);
    const uint32_t flight = ToBytes(uint64_t{state.inFlight} + state.lostOut, state.mss);
    m_tcb->m_ssThresh = m_ops->GetSsThresh(m_tcb, flight);
    ExportSsThresh(state);
    return state.ssthresh;
}

void
Ns3Adapter::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    ImportWindow(state);
    ImportPath(state);
    m_tcb->m_congState = ToNs3(state.caState);
    m_tcb->m_ecnState = event.hasEcnEcho ? Tcb::ECN_ECE_RCVD : Tcb::ECN_IDLE;
    ImportUnsent(state, event.cumAcked);
    m_tcb->m_rcvTimestampValue = event.timestamp;
    m_tcb->m_rcvTimestampEchoReply = event.echo;
    m_tcb->m_lastAckedSackedBytes = ToBytes(event.ackedSacked, state.mss);
    m_deliveredBefore = state.delivered;
    if (event.ackedSacked > 0)
    {
        m_ops->PktsAcked(m_tcb,
                         event.ackedSacked,
                         ToTime(event.rtt >= 0 ? event.rtt : GetSrtt(state)));
    }
    if (m_hasCongControl)
    {
        CallCongControl(state, event);
    }
    else if (mayGrow && event.ackedSacked > 0)
    {
        CallIncreaseWindow(state, event);
    }
    Export(state);
}

void
Ns3Adapter::OnCaState(SenderState& state, CaState next, int64_t /* now */)
{
    ImportPath(state);
    const CaState previous = state.caState;
    if (next == CaState::LOSS)
    {
        // TcpSocketBase cuts the window after these calls; TcpBbr saves it in the second.
        m_ops->CwndEvent(m_tcb, Tcb::CA_EVENT_LOSS);
        m_ops->CongestionStateSet(m_tcb, Tcb::CA_LOSS);
        m_tcb->m_congState = Tcb::CA_LOSS;
        m_tcb->m_cWnd = ToBytes(state.cwnd, state.mss);
        m_exportedCwnd = state.cwnd;
        ExportSsThresh(state);
        return;
    }
    ImportWindow(state);
    const bool isRecovered = next < CaState::CWR && previous >= CaState::CWR &&
                             (previous != CaState::LOSS || m_hasCongControl);
    if (isRecovered)
    {
        m_ops->CwndEvent(m_tcb, Tcb::CA_EVENT_COMPLETE_CWR);
    }
    m_tcb->m_lastAckedSackedBytes = ToBytes(state.delivered - m_deliveredBefore, state.mss);
    m_ops->CongestionStateSet(m_tcb, ToNs3(next));
    m_tcb->m_congState = ToNs3(next);
    Export(state);
}

void
Ns3Adapter::OnTransmitStart(SenderState& state, int64_t /* now */, int64_t /* idle */)
{
    ImportWindow(state);
    ImportPath(state);
    m_ops->CwndEvent(m_tcb, Tcb::CA_EVENT_TX_START);
    Export(state);
}

void
Ns3Adapter::ImportWindow(const SenderState& state)
{
    // Parts of a segment survive unless the transport has set a window of its own, and the window
    // at the end of recovery is the threshold to the byte.
    if (state.ssthresh != m_exportedSsThresh)
    {
        m_tcb->m_ssThresh = state.ssthresh >= INFINITE_SSTHRESH
                                ? NS3_INFINITE_SSTHRESH
                                : ToBytes(state.ssthresh, state.mss);
    }
    if (state.cwnd != m_exportedCwnd)
    {
        m_tcb->m_cWnd =
            state.cwnd == state.ssthresh ? m_tcb->m_ssThresh.Get() : ToBytes(state.cwnd, state.mss);
    }
}

void
Ns3Adapter::ImportPath(const SenderState& state)
{
    m_tcb->m_bytesInFlight = ToBytes(state.inFlight, state.mss);
    m_tcb->m_isCwndLimited = state.isCwndLimited;
    m_tcb->m_srtt = ToTime(GetSrtt(state));
    m_tcb->m_minRtt = ToTime(state.minRtt);
    m_tcb->m_lastAckedSeq = ns3::SequenceNumber32(ToWrappedBytes(state.sndUna, state.mss));
    m_tcb->m_nextTxSequence = ns3::SequenceNumber32(ToWrappedBytes(state.sndNxt, state.mss));
    m_tcb->m_highTxMark = ns3::SequenceNumber32(ToWrappedBytes(state.sndNxt, state.mss));
    m_tcb->m_lastRtt = ToTime(state.lastRtt >= 0 ? state.lastRtt : INITIAL_RTT);
}

void
Ns3Adapter::ImportUnsent(const SenderState& state, uint32_t acked)
{
    // TcpSocketBase sends all that the window allows, our sender waits for whole bursts. TcpLedbat
    // bounds the window by what is out and would lose a little to each burst.
    const uint64_t full = state.sndUna + state.cwnd - std::min(state.cwnd, acked);
    if (state.isCwndLimited && full > state.sndNxt)
    {
        m_tcb->m_highTxMark = ns3::SequenceNumber32(ToWrappedBytes(full, state.mss));
    }
}

void
Ns3Adapter::Export(SenderState& state)
{
    ExportSsThresh(state);
    state.cwnd = std::max(m_tcb->m_cWnd.Get() / state.mss, 1U);
    m_exportedCwnd = state.cwnd;
    if (m_hasCongControl)
    {
        state.pacingRate = static_cast<double>(m_tcb->m_pacingRate.Get().GetBitRate()) / 8;
    }
}

void
Ns3Adapter::ExportSsThresh(SenderState& state)
{
    const uint32_t bytes = m_tcb->m_ssThresh.Get();
    state.ssthresh =
        bytes == NS3_INFINITE_SSTHRESH ? INFINITE_SSTHRESH : std::max(bytes / state.mss, 1U);
    m_exportedSsThresh = state.ssthresh;
}

void
Ns3Adapter::CallCongControl(const SenderState& state, const AckEvent& event)
{
    const RateSample& rate = event.rate;
    m_connection.m_delivered = state.delivered * state.mss;
    m_connection.m_deliveredTime = ToTime(state.deliveredTime);
    m_sample.m_ackedSacked = ToBytes(event.ackedSacked, state.mss);
    m_sample.m_bytesLoss = ToBytes(event.newlyLost, state.mss);
    m_sample.m_priorInFlight = ToBytes(event.priorInFlight, state.mss);
    m_sample.m_isAppLimited = rate.isAppLimited;
    m_sample.m_priorDelivered = ToWrappedBytes(rate.priorDelivered, state.mss);
    if (rate.IsValid())
    {
        m_sample.m_interval = ToTime(rate.interval);
        m_sample.m_priorTime = ToTime(event.now - rate.interval);
        m_sample.m_delivered = ToSignedBytes(rate.delivered, state.mss);
        const double bytes = static_cast<double>(rate.delivered) * state.mss;
        m_sample.m_deliveryRate =
            ns3::DataRate(static_cast<uint64_t>(bytes * 8e9 / static_cast<double>(rate.interval)));
    }
    else
    {
        m_sample.m_interval = ns3::Time(0);
        m_sample.m_priorTime = ns3::Time(0);
        m_sample.m_delivered = -1;
    }
    m_ops->CongControl(m_tcb, m_connection, m_sample);
}

void
Ns3Adapter::CallIncreaseWindow(const SenderState& state, const AckEvent& event)
{
    // Most operations of ns-3 don't look at m_isCwndLimited and would grow for ever behind a small
    // receive window. They are called all the same: Vegas may want to shrink.
    const uint32_t before = m_tcb->m_cWnd.Get();
    m_ops->IncreaseWindow(m_tcb, event.ackedSacked);
    if (!state.isCwndLimited && m_tcb->m_cWnd.Get() > before)
    {
        m_tcb->m_cWnd = before;
    }
}

} // namespace tunnelcc
