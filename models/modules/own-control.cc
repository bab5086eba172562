/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/own-control.h"

#include "congestion/congestion-parameters.h"
#include "spec/refuse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

namespace tunnelcc
{

namespace
{

constexpr double UNKNOWN = std::numeric_limits<double>::quiet_NaN();
constexpr double BITS = 8;

/// Least and greatest pacing rate, bit/s: between them, the time to the next segment is a number of
/// nanoseconds that 64 bits hold.
constexpr double LEAST_RATE = 8;
constexpr double GREATEST_RATE = 1e15;

double
ToSeconds(int64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) * 1e-9;
}

std::string
ToText(double number)
{
    std::ostringstream text;
    text << number;
    return text.str();
}

/// Lists parameters, and sets those that have a value.
class ParameterVisitor final : public tc::Parameters
{
  public:
    explicit ParameterVisitor(const CongestionParameters& values)
        : m_values(values)
    {
    }

    void Add(const char* name,
             double& value,
             const char* meaning,
             double least,
             double most,
             const char* unit) override
    {
        Visit(value, name, ParameterKind::NUMBER, meaning, least, most, unit);
    }

    void Add(const char* name,
             int64_t& value,
             const char* meaning,
             int64_t least,
             int64_t most) override
    {
        Visit(value,
              name,
              ParameterKind::COUNT,
              meaning,
              static_cast<double>(least),
              static_cast<double>(most),
              "");
    }

    void Add(const char* name, bool& value, const char* meaning) override
    {
        Visit(value, name, ParameterKind::SWITCH, meaning, 0, 0, "");
    }

    std::vector<CongestionParameterInfo> infos;
    std::string refused; //!< why a value is; an exception must not pass through a file

  private:
    template <typename T>
    void Visit(T& value,
               const char* name,
               ParameterKind kind,
               const char* meaning,
               double least,
               double most,
               const char* unit)
    {
        infos.push_back({.name = name,
                         .kind = kind,
                         .unit = unit,
                         .minimum = least,
                         .maximum = most,
                         .doc = meaning,
                         .source = "",
                         .defaultValue = value});
        const auto found = m_values.find(name);
        if (found == m_values.end())
        {
            return;
        }
        try
        {
            CheckParameter("", infos.back(), found->second);
        }
        catch (const std::invalid_argument& error)
        {
            refused = error.what();
            return;
        }
        if constexpr (std::is_same_v<T, bool>)
        {
            value = std::get<bool>(found->second);
        }
        else
        {
            value = static_cast<T>(ToDouble(found->second));
        }
    }

    const CongestionParameters& m_values;
};

} // namespace

// The algorithm --------------------------------------------------------------------------------

OwnAlgorithm::OwnAlgorithm(std::string itsName,
                           std::shared_ptr<ModuleImage> itsImage,
                           std::unique_ptr<tc::CongestionControl> itsAlgorithm)
    : name(std::move(itsName)),
      image(std::move(itsImage)),
      algorithm(std::move(itsAlgorithm))
{
}

OwnAlgorithm::~OwnAlgorithm()
{
    if (image && algorithm)
    {
        image->Call([this] { algorithm.reset(); });
    }
}

void
OwnAlgorithm::Throw(const std::string& what) const
{
    throw ModuleError(name + ": " + what);
}

std::string
OwnAlgorithm::NameCall(const char* call) const
{
    std::string text;
    for (; *call != '\0'; ++call)
    {
        const bool isUpper = !image && *call >= 'A' && *call <= 'Z';
        text += isUpper && !text.empty() ? "_" : "";
        text += static_cast<char>(isUpper ? *call - 'A' + 'a' : *call);
    }
    return text;
}

std::vector<CongestionParameterInfo>
OwnAlgorithm::GetParameters() const
{
    const CongestionParameters none;
    ParameterVisitor visitor(none);
    Call([&] { algorithm->Describe(visitor); });
    return std::move(visitor.infos);
}

void
OwnAlgorithm::Configure(const CongestionParameters& values, int64_t stream)
{
    ParameterVisitor visitor(values);
    Call([&] { algorithm->Describe(visitor); });
    for (const auto& [parameter, value] : values)
    {
        if (std::ranges::none_of(visitor.infos, [&parameter = parameter](const auto& it) {
                return it.name == parameter;
            }))
        {
            Refuse(DescribeUnknownParameter(name, parameter, visitor.infos));
        }
    }
    if (!visitor.refused.empty())
    {
        Refuse(name + ": " + visitor.refused);
    }
    Call([&] { algorithm->Configure(static_cast<uint64_t>(stream)); });
    const double interval = algorithm->interval;
    const bool isLength = interval >= 1e-6 && interval <= 1e6;
    if (interval != 0 && interval != tc::EVERY_RTT && !isLength)
    {
        Throw("its interval is " + ToText(interval) +
              "; expected: a time from 1us to 1e6s, every RTT, or 0 for each ACK");
    }
}

// A connection ---------------------------------------------------------------------------------

OwnControl::OwnControl(OwnAlgorithm own)
    : m_own(std::move(own))
{
}

bool
OwnControl::HasCongControl() const
{
    return m_own.algorithm->ownsWindow;
}

bool
OwnControl::NeedsEcn() const
{
    return m_own.algorithm->needsEcn;
}

void
OwnControl::Import(const SenderState& state, int64_t now)
{
    if (state.cwnd != m_given)
    {
        m_state.cwnd = state.cwnd; // else it may have a fraction
    }
    m_state.ssthresh = state.ssthresh < INFINITE_SSTHRESH ? state.ssthresh
                                                          : std::numeric_limits<double>::infinity();
    m_state.pacingRate = state.pacingRate * BITS;
    m_state.now = ToSeconds(now);
    m_state.mss = state.mss;
    m_state.inFlight = state.inFlight;
    m_state.delivered = static_cast<double>(state.delivered);
    m_state.lost = static_cast<double>(state.lost);
    m_state.srtt = state.srtt > 0 ? ToSeconds(state.srtt) : UNKNOWN;
    m_state.minRtt = state.minRtt == NEVER ? UNKNOWN : ToSeconds(state.minRtt);
    m_state.isCwndLimited = state.isCwndLimited;
    m_state.isRecovering = state.caState >= CaState::CWR;
}

/// \throws ModuleError \param call as C++ names it
void
OwnControl::CheckState(const char* call) const
{
    const auto refuse = [&](const char* what, double value, const char* expected) {
        m_own.Throw(m_own.NameCall(call) + " set a " + what + " of " + ToText(value) +
                    "; expected: " + expected);
    };
    if (!(m_state.cwnd > 0 && m_state.cwnd <= MAX_WINDOW))
    {
        refuse("congestion window", m_state.cwnd, "more than 0 segments, at most 1e9");
    }
    if (!(m_state.ssthresh >= 0))
    {
        refuse("slow start threshold", m_state.ssthresh, "0 segments or more");
    }
    const double rate = m_state.pacingRate;
    if (rate != 0 && !(rate >= LEAST_RATE && rate <= GREATEST_RATE))
    {
        refuse("pacing rate", rate, "8 to 1e15 bit/s, or 0 for none");
    }
}

void
OwnControl::Export(SenderState& state, const char* call)
{
    CheckState(call);
    m_given = std::max(static_cast<uint32_t>(m_state.cwnd), 1U);
    state.cwnd = m_given;
    state.ssthresh = m_state.ssthresh < INFINITE_SSTHRESH ? static_cast<uint32_t>(m_state.ssthresh)
                                                          : INFINITE_SSTHRESH;
    state.pacingRate = m_state.pacingRate / BITS;
}

void
OwnControl::Init(SenderState& state, int64_t now)
{
    Import(state, now);
    m_own.Call([&] { m_own.algorithm->OnStart(m_state); });
    Export(state, "OnStart()");
    m_roundEnd = state.delivered;
    StartInterval(state, now);
}

uint32_t
OwnControl::GetSsThresh(SenderState& state, int64_t now)
{
    Import(state, now);
    m_own.Call([&] { m_own.algorithm->OnLoss(m_state); });
    CheckState("OnLoss()");
    const auto window = static_cast<uint32_t>(m_state.cwnd);
    if (HasCongControl())
    {
        Export(state, "OnLoss()");
    }
    else
    {
        state.pacingRate = m_state.pacingRate / BITS;
        m_given = 0; // the transport goes there in whole segments
    }
    return std::max(window, MIN_SSTHRESH);
}

void
OwnControl::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    const bool isOn = mayGrow || m_own.algorithm->ownsWindow;
    if (m_own.algorithm->interval != 0)
    {
        Count(event);
        if (isOn && event.now - m_started >= m_length)
        {
            EndInterval(state, event.now);
        }
        return;
    }
    const bool isNewRound = IsNewRound(state, event.rate);
    if (!isOn)
    {
        return;
    }
    Import(state, event.now);
    const RateSample& sample = event.rate;
    tc::Ack ack;
    ack.acked = event.ackedSacked;
    ack.lost = event.newlyLost;
    ack.rtt = event.rtt < 0 ? UNKNOWN : ToSeconds(event.rtt);
    ack.deliveryRate = sample.IsValid()
                           ? sample.delivered * m_state.mss * BITS / ToSeconds(sample.interval)
                           : UNKNOWN;
    ack.priorInFlight = event.priorInFlight;
    ack.isAppLimited = sample.isAppLimited;
    ack.isMarked = event.hasEcnEcho;
    ack.isNewRound = isNewRound;
    m_own.Call([&] { m_own.algorithm->OnAck(m_state, ack); });
    Export(state, "OnAck()");
}

/// As in BBR (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1.1.3): a segment that was
/// sent after the round began is delivered.
bool
OwnControl::IsNewRound(const SenderState& state, const RateSample& sample)
{
    if (!sample.IsValid() || sample.priorDelivered < m_roundEnd)
    {
        return false;
    }
    m_roundEnd = state.delivered;
    return true;
}

void
OwnControl::Count(const AckEvent& event)
{
    m_marks += event.hasEcnEcho;
    if (event.rtt >= 0)
    {
        ++m_rtts;
        m_sumOfRtts += event.rtt;
        m_leastRtt = std::min(m_leastRtt, event.rtt);
    }
}

void
OwnControl::EndInterval(SenderState& state, int64_t now)
{
    Import(state, now);
    tc::Interval interval;
    interval.duration = ToSeconds(now - m_started);
    interval.acked = static_cast<double>(state.delivered - m_deliveredBefore);
    interval.lost = static_cast<double>(state.lost - m_lostBefore);
    interval.marked = m_marks;
    interval.rate = interval.acked * m_state.mss * BITS / interval.duration;
    interval.meanRtt = m_rtts > 0 ? ToSeconds(m_sumOfRtts) / m_rtts : UNKNOWN;
    interval.minRtt = m_rtts > 0 ? ToSeconds(m_leastRtt) : UNKNOWN;
    m_own.Call([&] { m_own.algorithm->OnInterval(m_state, interval); });
    Export(state, "OnInterval()");
    StartInterval(state, now);
}

void
OwnControl::StartInterval(const SenderState& state, int64_t now)
{
    const double length = m_own.algorithm->interval;
    m_started = now;
    m_length = length < 0 ? std::max<int64_t>(state.srtt, 1)
                          : static_cast<int64_t>(std::llround(length * 1e9));
    m_deliveredBefore = state.delivered;
    m_lostBefore = state.lost;
    m_marks = m_rtts = 0;
    m_sumOfRtts = 0;
    m_leastRtt = NEVER;
}

void
OwnControl::OnCaState(SenderState& state, CaState next, int64_t now)
{
    if (next != CaState::LOSS)
    {
        return;
    }
    m_given = 0;
    Import(state, now);
    m_own.Call([&] { m_own.algorithm->OnTimeout(m_state); });
    Export(state, "OnTimeout()");
}

uint32_t
OwnControl::GetUndoCwnd(SenderState& state, uint32_t priorCwnd)
{
    m_given = 0;
    return CongestionControl::GetUndoCwnd(state, priorCwnd);
}

} // namespace tunnelcc
