/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/ns3-adapter.h"

#include "congestion/congestion-parameters.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/integer.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tunnelcc
{

namespace
{

using Tcb = ns3::TcpSocketState;

/// Value of TcpSocketState::m_ssThresh before the first loss.
constexpr uint32_t NS3_INFINITE_SSTHRESH = std::numeric_limits<uint32_t>::max();

/// Upper bound of the pacing rate, bit/s: none in effect.
constexpr uint64_t MAX_PACING_RATE = 100'000'000'000'000ULL;

/// Name of the attribute that selects a random stream.
constexpr std::string_view STREAM_ATTRIBUTE = "Stream";

/// Least and greatest integers that a double holds exactly.
constexpr double MAX_EXACT = 9007199254740992.;

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

ns3::Time
ToTime(int64_t nanoseconds)
{
    return nanoseconds >= NEVER ? ns3::Time::Max() : ns3::NanoSeconds(nanoseconds);
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

bool
FindTypeId(std::string_view name, ns3::TypeId& typeId)
{
    return ns3::TypeId::LookupByNameFailSafe(std::string(name), &typeId) &&
           typeId.IsChildOf(ns3::TcpCongestionOps::GetTypeId()) &&
           typeId != ns3::TcpCongestionOps::GetTypeId() && typeId.HasConstructor();
}

/// What a number means to an attribute.
enum class AttributeKind
{
    NOT_A_NUMBER,
    BOOLEAN,
    INTEGER,
    UNSIGNED,
    REAL,
    TIME
};

AttributeKind
GetKind(const ns3::TypeId::AttributeInformation& attribute)
{
    const std::string type = attribute.checker->GetValueTypeName();
    if (type == "ns3::BooleanValue")
    {
        return AttributeKind::BOOLEAN;
    }
    if (type == "ns3::IntegerValue")
    {
        return AttributeKind::INTEGER;
    }
    if (type == "ns3::UintegerValue")
    {
        return AttributeKind::UNSIGNED;
    }
    if (type == "ns3::DoubleValue")
    {
        return AttributeKind::REAL;
    }
    return type == "ns3::TimeValue" ? AttributeKind::TIME : AttributeKind::NOT_A_NUMBER;
}

ns3::Ptr<ns3::AttributeValue>
MakeValue(AttributeKind kind, double value)
{
    switch (kind)
    {
    case AttributeKind::BOOLEAN:
        return ns3::Create<ns3::BooleanValue>(value != 0);
    case AttributeKind::INTEGER:
        return ns3::Create<ns3::IntegerValue>(static_cast<int64_t>(value));
    case AttributeKind::UNSIGNED:
        return ns3::Create<ns3::UintegerValue>(static_cast<uint64_t>(value));
    case AttributeKind::TIME:
        return ns3::Create<ns3::TimeValue>(ns3::Seconds(value));
    default:
        return ns3::Create<ns3::DoubleValue>(value);
    }
}

double
GetNumber(AttributeKind kind, const ns3::AttributeValue& value)
{
    switch (kind)
    {
    case AttributeKind::BOOLEAN:
        return dynamic_cast<const ns3::BooleanValue&>(value).Get() ? 1 : 0;
    case AttributeKind::INTEGER:
        return static_cast<double>(dynamic_cast<const ns3::IntegerValue&>(value).Get());
    case AttributeKind::UNSIGNED:
        return static_cast<double>(dynamic_cast<const ns3::UintegerValue&>(value).Get());
    case AttributeKind::TIME:
        return dynamic_cast<const ns3::TimeValue&>(value).Get().GetSeconds();
    default:
        return dynamic_cast<const ns3::DoubleValue&>(value).Get();
    }
}

CongestionParameterInfo
Describe(const ns3::TypeId::AttributeInformation& attribute, AttributeKind kind)
{
    CongestionParameterInfo info;
    info.name = attribute.name;
    info.defaultValue = GetNumber(kind, *attribute.initialValue);
    info.unit = kind == AttributeKind::TIME ? "s" : kind == AttributeKind::BOOLEAN ? "bool" : "";
    info.minimum = kind == AttributeKind::INTEGER || kind == AttributeKind::REAL ? -MAX_EXACT : 0;
    info.maximum = kind == AttributeKind::BOOLEAN ? 1 : MAX_EXACT;
    info.doc = attribute.help;
    info.source = "ns-3.44";
    return info;
}

/// Attributes of a TypeId and of those it derives from, as numbers where they are.
template <typename F>
void
ForEachNumber(ns3::TypeId typeId, F visit)
{
    for (;; typeId = typeId.GetParent())
    {
        for (std::size_t i = 0; i < typeId.GetAttributeN(); ++i)
        {
            const auto attribute = typeId.GetAttribute(i);
            const AttributeKind kind = GetKind(attribute);
            if (kind != AttributeKind::NOT_A_NUMBER &&
                attribute.supportLevel == ns3::TypeId::SupportLevel::SUPPORTED)
            {
                visit(attribute, kind);
            }
        }
        if (typeId == ns3::TcpCongestionOps::GetTypeId() || !typeId.HasParent())
        {
            return;
        }
    }
}

void
SetNumber(ns3::Ptr<ns3::TcpCongestionOps> ops,
          std::string_view typeId,
          const std::string& name,
          double value)
{
    bool found = false;
    ForEachNumber(ops->GetInstanceTypeId(), [&](const auto& attribute, AttributeKind kind) {
        if (found || attribute.name != name)
        {
            return;
        }
        found = true;
        CheckParameterRange(typeId, Describe(attribute, kind), value);
        if (!ops->SetAttributeFailSafe(name, *MakeValue(kind, value)))
        {
            throw std::invalid_argument(std::string(typeId) + ": parameter '" + name +
                                        "' = " + FormatParameterValue(value) +
                                        " is refused by ns-3 (" + attribute.help + ")");
        }
    });
    if (!found)
    {
        throw std::invalid_argument(
            DescribeUnknownParameter(typeId, name, Ns3Adapter::GetParameters(typeId)));
    }
}

void
SetStream(ns3::Ptr<ns3::TcpCongestionOps> ops, int64_t stream)
{
    const auto bits = static_cast<uint64_t>(stream);
    const auto folded = static_cast<uint32_t>(bits ^ (bits >> 32));
    ops->SetAttributeFailSafe(std::string(STREAM_ATTRIBUTE), ns3::UintegerValue(folded));
}

} // namespace

Ns3Adapter::Ns3Adapter(std::string_view typeId,
                       const CongestionParameters& parameters,
                       int64_t stream)
{
    ns3::TypeId found;
    if (!FindTypeId(typeId, found))
    {
        throw std::invalid_argument("'" + std::string(typeId) + "' is no ns-3 congestion control");
    }
    ns3::ObjectFactory factory;
    factory.SetTypeId(found);
    m_ops = factory.Create<ns3::TcpCongestionOps>();
    SetStream(m_ops, stream);
    for (const auto& [name, value] : parameters)
    {
        SetNumber(m_ops, typeId, name, value);
    }
    m_hasCongControl = m_ops->HasCongControl();
}

bool
Ns3Adapter::HasTypeId(std::string_view name)
{
    ns3::TypeId typeId;
    return FindTypeId(name, typeId);
}

std::vector<std::string>
Ns3Adapter::ListTypeIds()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        const std::string name = ns3::TypeId::GetRegistered(i).GetName();
        if (HasTypeId(name))
        {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<CongestionParameterInfo>
Ns3Adapter::GetParameters(std::string_view typeId)
{
    ns3::TypeId found;
    std::vector<CongestionParameterInfo> infos;
    if (FindTypeId(typeId, found))
    {
        ForEachNumber(found, [&](const auto& attribute, AttributeKind kind) {
            infos.push_back(Describe(attribute, kind));
        });
    }
    return infos;
}

bool
Ns3Adapter::HasCongControl() const
{
    return m_hasCongControl;
}

void
Ns3Adapter::Init(TcpState& state, int64_t /* now */)
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
Ns3Adapter::GetSsThresh(TcpState& state, int64_t /* now */)
{
    ImportWindow(state);
    ImportPath(state);
    const uint32_t flight = ToBytes(uint64_t{state.inFlight} + state.lostOut, state.mss);
    m_tcb->m_ssThresh = m_ops->GetSsThresh(m_tcb, flight);
    ExportSsThresh(state);
    return state.ssthresh;
}

void
Ns3Adapter::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
{
    ImportWindow(state);
    ImportPath(state);
    m_tcb->m_congState = ToNs3(state.caState);
    m_tcb->m_lastAckedSackedBytes = ToBytes(event.ackedSacked, state.mss);
    m_deliveredBefore = state.delivered;
    if (event.ackedSacked > 0)
    {
        m_ops->PktsAcked(m_tcb,
                         event.ackedSacked,
                         ns3::NanoSeconds(event.rtt >= 0 ? event.rtt : state.srtt));
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
Ns3Adapter::OnCaState(TcpState& state, CaState next, int64_t /* now */)
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
Ns3Adapter::OnTransmitStart(TcpState& state, int64_t /* now */, int64_t /* idle */)
{
    ImportWindow(state);
    ImportPath(state);
    m_ops->CwndEvent(m_tcb, Tcb::CA_EVENT_TX_START);
    Export(state);
}

void
Ns3Adapter::ImportWindow(const TcpState& state)
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
Ns3Adapter::ImportPath(const TcpState& state)
{
    m_tcb->m_bytesInFlight = ToBytes(state.inFlight, state.mss);
    m_tcb->m_isCwndLimited = state.isCwndLimited;
    m_tcb->m_srtt = ns3::NanoSeconds(state.srtt);
    m_tcb->m_minRtt = ToTime(state.minRtt);
    m_tcb->m_lastAckedSeq = ns3::SequenceNumber32(ToWrappedBytes(state.sndUna, state.mss));
    m_tcb->m_nextTxSequence = ns3::SequenceNumber32(ToWrappedBytes(state.sndNxt, state.mss));
    m_tcb->m_highTxMark = m_tcb->m_nextTxSequence.Get();
    if (state.lastRtt >= 0)
    {
        m_tcb->m_lastRtt = ns3::NanoSeconds(state.lastRtt);
    }
}

void
Ns3Adapter::Export(TcpState& state)
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
Ns3Adapter::ExportSsThresh(TcpState& state)
{
    const uint32_t bytes = m_tcb->m_ssThresh.Get();
    state.ssthresh =
        bytes == NS3_INFINITE_SSTHRESH ? INFINITE_SSTHRESH : std::max(bytes / state.mss, 1U);
    m_exportedSsThresh = state.ssthresh;
}

void
Ns3Adapter::CallCongControl(const TcpState& state, const AckEvent& event)
{
    const RateSample& rate = event.rate;
    m_connection.m_delivered = state.delivered * state.mss;
    m_connection.m_deliveredTime = ns3::NanoSeconds(state.deliveredTime);
    m_sample.m_ackedSacked = ToBytes(event.ackedSacked, state.mss);
    m_sample.m_bytesLoss = ToBytes(event.newlyLost, state.mss);
    m_sample.m_priorInFlight = ToBytes(event.priorInFlight, state.mss);
    m_sample.m_isAppLimited = rate.isAppLimited;
    m_sample.m_priorDelivered = ToWrappedBytes(rate.priorDelivered, state.mss);
    if (rate.IsValid())
    {
        m_sample.m_interval = ns3::NanoSeconds(rate.interval);
        m_sample.m_priorTime = ns3::NanoSeconds(event.now - rate.interval);
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
Ns3Adapter::CallIncreaseWindow(const TcpState& state, const AckEvent& event)
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
