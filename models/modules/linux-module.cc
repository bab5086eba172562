/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/linux-module.h"

#include "congestion/congestion-parameters.h"
#include "event/time-units.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <variant>

namespace tunnelcc
{

namespace
{

/// The host has been up for so long when a simulation begins: no clock of it is at 0, which modules
/// take for "never", but the clock of timestamps, of 32 bits, has come round to it.
constexpr int64_t HOST_UPTIME = (1LL << 32) * MS;

constexpr int64_t MODULE_JIFFY = SECOND / LINUX_HZ;

/// Value of tcp_min_rtt() before the first sample.
constexpr uint32_t NO_RTT = ~0U;

constexpr uint8_t PACING_SHIFT = 10;     // sk_pacing_shift of a new socket
constexpr uint32_t GSO_BYTES = 65536;    // sk_gso_max_size
constexpr uint8_t STATE_ESTABLISHED = 1; // TCP_ESTABLISHED

uint64_t
ToHostMicroseconds(int64_t time)
{
    return static_cast<uint64_t>((time + HOST_UPTIME) / US);
}

uint32_t
ToHostJiffies(int64_t time)
{
    return static_cast<uint32_t>((time + HOST_UPTIME) / MODULE_JIFFY);
}

template <typename T>
int64_t
ReadVariable(const void* variable)
{
    T value;
    std::memcpy(&value, variable, sizeof value);
    return static_cast<int64_t>(value);
}

template <typename T>
void
WriteVariable(void* variable, int64_t value)
{
    const T written = static_cast<T>(value);
    std::memcpy(variable, &written, sizeof written);
}

/// Calls \p visit with a value of the parameter's type.
template <typename V>
void
VisitModuleParameter(const kernel::tunnelcc_parameter& parameter, V&& visit)
{
    const bool isSigned = parameter.type == kernel::TUNNELCC_SIGNED;
    switch (parameter.bytes)
    {
    case 1:
        isSigned ? visit(int8_t{}) : visit(uint8_t{});
        break;
    case 2:
        isSigned ? visit(int16_t{}) : visit(uint16_t{});
        break;
    case 4:
        isSigned ? visit(int32_t{}) : visit(uint32_t{});
        break;
    default:
        isSigned ? visit(int64_t{}) : visit(uint64_t{});
    }
}

CongestionParameterInfo
DescribeModuleParameter(const kernel::tunnelcc_linux_module& module,
                        const kernel::tunnelcc_parameter& parameter)
{
    CongestionParameterInfo info;
    info.name = parameter.name;
    info.source = "module_param";
    for (const auto* text = module.descriptions; text != module.descriptions_end; ++text)
    {
        if (info.name == text->name)
        {
            info.doc = text->text;
        }
    }
    if (parameter.type == kernel::TUNNELCC_BOOL)
    {
        info.kind = ParameterKind::SWITCH;
        info.defaultValue = ReadVariable<uint8_t>(parameter.variable) != 0;
        return info;
    }
    info.kind = ParameterKind::COUNT;
    VisitModuleParameter(parameter, [&](auto zero) {
        using T = decltype(zero);
        info.minimum = static_cast<double>(std::numeric_limits<T>::min());
        // A double holds whole numbers up to this one.
        info.maximum = std::min(static_cast<double>(std::numeric_limits<T>::max()), 0x1p53);
        info.minimum = std::max(info.minimum, -0x1p53);
        info.defaultValue = ReadVariable<T>(parameter.variable);
    });
    return info;
}

const kernel::tunnelcc_linux_module&
FindLinuxModule(const ModuleImage& image)
{
    const auto* module =
        static_cast<const kernel::tunnelcc_linux_module*>(image.Find("tunnelcc_linux_module"));
    if (!module)
    {
        image.Throw("it has no module_init(), which would register a congestion control");
    }
    if (module->interface != LINUX_INTERFACE)
    {
        image.Throw("it was compiled for another version of tunnelcc");
    }
    return *module;
}

} // namespace

// The module -----------------------------------------------------------------------------------

std::vector<CongestionParameterInfo>
LinuxModuleImage::GetParameters(const ModuleImage& image)
{
    const auto& module = FindLinuxModule(image);
    std::vector<CongestionParameterInfo> infos;
    for (const auto* it = module.parameters; it != module.parameters_end; ++it)
    {
        infos.push_back(DescribeModuleParameter(module, *it));
    }
    return infos;
}

LinuxModuleImage::LinuxModuleImage(std::unique_ptr<ModuleImage> image,
                                   const CongestionParameters& values)
    : m_image(std::move(image)),
      m_module(&FindLinuxModule(*m_image))
{
    const auto known = GetParameters(*m_image);
    for (const auto& [name, value] : values)
    {
        // A copy: before Clang 16, a lambda cannot refer to a structured binding.
        const auto info = std::find_if(known.begin(), known.end(), [name = name](const auto& it) {
            return it.name == name;
        });
        if (info == known.end())
        {
            throw std::invalid_argument(DescribeUnknownParameter(m_image->Name(), name, known));
        }
        CheckParameter(m_image->Name(), *info, value);
        const auto* isOn = std::get_if<bool>(&value);
        Set(m_module->parameters[info - known.begin()], isOn ? *isOn : std::get<int64_t>(value));
    }
    int result = 0;
    m_image->Call([&] { result = m_module->init(); });
    if (result != 0)
    {
        m_image->Throw("its module_init() returned " + std::to_string(result));
    }
    if (*m_module->registrations != 1)
    {
        m_image->Throw("it registers " + std::to_string(*m_module->registrations) +
                       " congestion controls; one is expected");
    }
    m_ops = m_module->registered[0];
    // tcp_validate_congestion_control()
    if (!m_ops->ssthresh || !m_ops->undo_cwnd || !(m_ops->cong_avoid || m_ops->cong_control))
    {
        m_image->Throw("its tcp_congestion_ops lack ssthresh, undo_cwnd, or cong_avoid and "
                       "cong_control; Linux refuses them, too");
    }
}

void
LinuxModuleImage::Set(const kernel::tunnelcc_parameter& parameter, int64_t value)
{
    if (!parameter.set)
    {
        VisitModuleParameter(parameter, [&](auto zero) {
            WriteVariable<decltype(zero)>(parameter.variable, value);
        });
        return;
    }
    const std::string text = std::to_string(value);
    int result = 0;
    m_image->Call([&] { result = parameter.set(text.c_str(), &parameter); });
    if (result != 0)
    {
        m_image->Throw(std::string("parameter '") + parameter.name + "' = " + text +
                       " is refused by the module");
    }
}

// A connection ---------------------------------------------------------------------------------

LinuxModule::LinuxModule(std::shared_ptr<LinuxModuleImage> module, int64_t stream)
    : m_module(std::move(module)),
      m_host(*m_module->Module().host),
      m_random(static_cast<uint64_t>(stream)),
      m_hasCongControl(m_module->Ops()->cong_control != nullptr),
      m_wantsDeliveries(m_module->Ops()->pkts_acked || m_module->Ops()->in_ack_event)
{
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* memory =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
    {
        throw std::bad_alloc();
    }
    m_memory = memory;
    char* end = static_cast<char*>(memory) + page;
    mprotect(end, page, PROT_NONE);
    auto& connection = m_tcp.inet_conn;
    connection.icsk_ca_priv = reinterpret_cast<kernel::u64*>(end - m_module->Module().state_bytes);
    connection.icsk_ca_ops = m_module->Ops();
    connection.sk.sk_pacing_rate = connection.sk.sk_max_pacing_rate = ~0UL;
    connection.sk.sk_pacing_shift = PACING_SHIFT;
    connection.sk.sk_gso_max_size = GSO_BYTES;
    connection.sk.sk_state = STATE_ESTABLISHED;
    m_tcp.snd_cwnd_clamp = ~0U;
    if (Ops().sndbuf_expand)
    {
        m_module->Image().Call([&] { m_sendBufferFactor = Ops().sndbuf_expand(Socket()); });
    }
}

LinuxModule::~LinuxModule()
{
    if (m_isInitialised && Ops().release)
    {
        m_module->Image().Call([&] { Ops().release(Socket()); });
    }
    munmap(m_memory, 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

bool
LinuxModule::HasCongControl() const
{
    return m_hasCongControl;
}

bool
LinuxModule::NeedsEcn() const
{
    return (m_module->Ops()->flags & TCP_CONG_NEEDS_ECN) != 0;
}

void
LinuxModule::SetReduction(WindowReduction& reduction)
{
    m_reduction = &reduction;
}

uint32_t
LinuxModule::GetSendBufferFactor() const
{
    return m_sendBufferFactor;
}

uint32_t
LinuxModule::MinTsoSegments(const SenderState& /* state */) const
{
    if (!Ops().min_tso_segs)
    {
        return 2; // net.ipv4.tcp_min_tso_segs
    }
    if (m_minTsoSegments == 0)
    {
        auto* self = const_cast<LinuxModule*>(this);
        m_module->Image().Call([&] { m_minTsoSegments = Ops().min_tso_segs(self->Socket()); });
    }
    return m_minTsoSegments;
}

void
LinuxModule::SetTime(int64_t now)
{
    m_host.ticks = static_cast<uint64_t>((now + HOST_UPTIME) / MODULE_JIFFY);
    m_host.nanoseconds = static_cast<uint64_t>(now + HOST_UPTIME);
    m_host.random = &m_random;
}

void
LinuxModule::Import(const SenderState& state, int64_t now)
{
    SetTime(now);
    m_tcp.mss_cache = state.mss;
    m_tcp.snd_una = static_cast<kernel::u32>(state.sndUna * state.mss);
    m_tcp.snd_nxt = static_cast<kernel::u32>(state.sndNxt * state.mss);
    m_tcp.max_packets_out = state.maxPacketsOut;
    m_tcp.delivered = static_cast<kernel::u32>(state.delivered);
    m_tcp.delivered_mstamp = ToHostMicroseconds(state.deliveredTime);
    m_tcp.srtt_us = static_cast<kernel::u32>(8 * state.srtt / US);
    m_tcp.rtt_min.s[0].v =
        state.minRtt == NEVER ? NO_RTT : static_cast<kernel::u32>(state.minRtt / US);
    m_tcp.tcp_mstamp = ToHostMicroseconds(now);
    m_tcp.tcp_clock_cache = m_host.nanoseconds;
    const int64_t nextSendTime = state.nextSendTime + HOST_UPTIME;
    m_tcp.tcp_wstamp_ns = static_cast<kernel::u64>(nextSendTime);
    m_minTsoSegments = 0;
    ImportWindow(state);
}

void
LinuxModule::ImportWindow(const SenderState& state)
{
    const auto packetsOut = static_cast<uint32_t>(state.sndNxt - state.sndUna);
    const uint32_t notInFlight = packetsOut - std::min(packetsOut, state.inFlight);
    m_tcp.inet_conn.icsk_ca_state = static_cast<kernel::u8>(state.caState);
    m_tcp.snd_cwnd = state.cwnd;
    m_tcp.snd_ssthresh = state.ssthresh;
    m_tcp.packets_out = packetsOut;
    m_tcp.lost_out = std::min(state.lostOut, notInFlight);
    m_tcp.sacked_out = notInFlight - m_tcp.lost_out;
    m_tcp.is_cwnd_limited = state.isCwndLimited;
    m_tcp.app_limited = static_cast<kernel::u32>(state.appLimitedUntil);
    m_tcp.lost = static_cast<kernel::u32>(state.lost);
}

void
LinuxModule::Export(SenderState& state)
{
    if (m_tcp.snd_cwnd == 0 || m_tcp.snd_cwnd > MAX_WINDOW)
    {
        m_module->Image().Throw("it set a congestion window of " + std::to_string(m_tcp.snd_cwnd) +
                                " segments");
    }
    state.cwnd = m_tcp.snd_cwnd;
    state.ssthresh = std::min(m_tcp.snd_ssthresh, INFINITE_SSTHRESH);
    if (m_tcp.app_limited != static_cast<kernel::u32>(state.appLimitedUntil))
    {
        // BBR marks what it sends in PROBE_RTT. Both count deliveries, the module's modulo 2^32.
        const auto now = static_cast<kernel::u32>(state.delivered);
        state.appLimitedUntil =
            m_tcp.app_limited == 0 ? 0 : state.delivered + (m_tcp.app_limited - now);
    }
    const kernel::sock& socket = m_tcp.inet_conn.sk;
    state.pacingRate = socket.sk_pacing_status == LINUX_SK_PACING_NONE
                           ? 0
                           : static_cast<double>(socket.sk_pacing_rate);
}

void
LinuxModule::UpdatePacingRate()
{
    // tcp_update_pacing_rate(), with the defaults of tcp_pacing_ss_ratio and tcp_pacing_ca_ratio
    kernel::u64 rate = m_tcp.mss_cache * kernel::u64{8} * (SECOND / US / 100);
    rate *= m_tcp.snd_cwnd < m_tcp.snd_ssthresh / 2 ? 200 : 120;
    rate *= std::max(m_tcp.snd_cwnd, m_tcp.packets_out);
    if (m_tcp.srtt_us > 0)
    {
        rate /= m_tcp.srtt_us;
    }
    kernel::sock& socket = m_tcp.inet_conn.sk;
    socket.sk_pacing_rate = std::min<kernel::u64>(rate, socket.sk_max_pacing_rate);
}

void
LinuxModule::Init(SenderState& state, int64_t now)
{
    if (NeedsEcn())
    {
        m_tcp.ecn_flags = LINUX_TCP_ECN_OK;
    }
    Import(state, now);
    m_tcp.lsndtime = ToHostJiffies(now);
    if (!m_hasCongControl)
    {
        UpdatePacingRate();
    }
    m_isInitialised = true;
    if (Ops().init)
    {
        m_module->Image().Call([&] { Ops().init(Socket()); });
    }
    Export(state);
}

uint32_t
LinuxModule::GetSsThresh(SenderState& state, int64_t now)
{
    Import(state, now);
    m_tcp.prior_cwnd = state.cwnd;
    m_tcp.snd_cwnd_cnt = 0; // tcp_init_cwnd_reduction()
    uint32_t threshold = 0;
    m_module->Image().Call([&] { threshold = Ops().ssthresh(Socket()); });
    m_hasNewThreshold = true;
    Export(state);
    return threshold;
}

bool
LinuxModule::WantsLosses() const
{
    return Ops().skb_marked_lost != nullptr;
}

void
LinuxModule::OnSegmentLost(SenderState& state, const LostSegment& segment, int64_t now)
{
    Import(state, now);
    kernel::sk_buff packet{};
    packet.cb.seq = static_cast<kernel::u32>(segment.number * m_tcp.mss_cache);
    packet.cb.end_seq = packet.cb.seq + m_tcp.mss_cache;
    packet.cb.tcp_gso_segs = 1;
    packet.cb.tx.delivered_mstamp = m_tcp.delivered_mstamp;
    packet.cb.tx.in_flight = segment.txInFlight;
    packet.cb.tx.lost = static_cast<kernel::u32>(segment.priorLost);
    packet.cb.tx.is_app_limited = segment.isAppLimited;
    m_module->Image().Call([&] { Ops().skb_marked_lost(Socket(), &packet); });
    Export(state);
}

bool
LinuxModule::WantsDeliveries() const
{
    return m_wantsDeliveries;
}

void
LinuxModule::OnDelivered(SenderState& state, const AckEvent& event)
{
    Import(state, event.now);
    TakeOptions(event);
    m_module->Image().Call([&] { CallOnDelivered(state, event); });
    Export(state);
}

void
LinuxModule::TakeOptions(const AckEvent& event)
{
    m_tcp.rx_opt.saw_tstamp = event.echo != 0;
    m_tcp.rx_opt.rcv_tsval = event.timestamp;
    m_tcp.rx_opt.rcv_tsecr = event.echo;
    if (event.hasEcnEcho)
    {
        m_tcp.delivered_ce += event.ackedSacked; // tcp_newly_delivered()
    }
}

void
LinuxModule::CallOnDelivered(const SenderState& state, const AckEvent& event)
{
    const kernel::tcp_congestion_ops& ops = Ops();
    if (ops.pkts_acked)
    {
        kernel::ack_sample sample;
        sample.pkts_acked = event.cumAcked;
        sample.rtt_us = event.rtt < 0 ? -1 : static_cast<kernel::s32>(event.rtt / US);
        sample.in_flight =
            event.rate.IsValid()
                ? static_cast<kernel::u32>(m_tcp.mss_cache *
                                           (state.delivered - event.rate.priorDelivered))
                : 0;
        if (m_module->Module().pkts_acked_has_count)
        {
            using Before47 = void (*)(kernel::sock*, kernel::u32, kernel::s32);
            reinterpret_cast<Before47>(ops.pkts_acked)(Socket(), sample.pkts_acked, sample.rtt_us);
        }
        else
        {
            using Since47 = void (*)(kernel::sock*, const kernel::ack_sample*);
            reinterpret_cast<Since47>(ops.pkts_acked)(Socket(), &sample);
        }
    }
    if (ops.in_ack_event)
    {
        ops.in_ack_event(Socket(),
                         kernel::CA_ACK_SLOWPATH | (event.hasEcnEcho ? kernel::CA_ACK_ECE : 0));
    }
}

void
LinuxModule::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    m_hasNewThreshold = false;
    if (m_wantsDeliveries)
    {
        ImportWindow(state); // the ACK can have changed no more since OnDelivered()
    }
    else
    {
        Import(state, event.now);
        TakeOptions(event);
    }
    if (m_hasCongControl)
    {
        m_module->Image().Call([&] { CallCongControl(event); });
    }
    else
    {
        if (mayGrow)
        {
            m_module->Image().Call(
                [&] { Ops().cong_avoid(Socket(), m_tcp.snd_una, event.ackedSacked); });
        }
        UpdatePacingRate();
    }
    Export(state);
    if (std::exchange(m_host.wants_cwr, 0) != 0 && m_reduction)
    {
        m_reduction->EnterCwr(event.now);
    }
}

void
LinuxModule::CallCongControl(const AckEvent& event)
{
    const kernel::tcp_congestion_ops& ops = Ops();
    kernel::rate_sample rate{};
    const RateSample& sample = event.rate;
    rate.prior_delivered = static_cast<kernel::u32>(sample.priorDelivered);
    rate.delivered = sample.IsValid() ? static_cast<kernel::s32>(sample.delivered) : -1;
    rate.interval_us = sample.IsValid() ? static_cast<long>(sample.interval / US) : -1;
    rate.prior_mstamp = sample.IsValid() ? ToHostMicroseconds(event.now - sample.interval) : 0;
    rate.rtt_us = event.rtt < 0 ? -1 : static_cast<long>(event.rtt / US);
    rate.losses = static_cast<int>(event.newlyLost);
    rate.acked_sacked = event.ackedSacked;
    rate.prior_in_flight = event.priorInFlight;
    rate.tx_in_flight = sample.txInFlight;
    rate.prior_lost = static_cast<kernel::u32>(sample.priorLost);
    rate.lost = static_cast<kernel::s32>(m_tcp.lost - rate.prior_lost);
    rate.is_app_limited = sample.isAppLimited;
    rate.is_ack_delayed = event.isAckDelayed;
    rate.is_ece = event.hasEcnEcho;
    if (m_module->Module().cong_control_has_ack)
    {
        using Since610 = void (*)(kernel::sock*, kernel::u32, int, const kernel::rate_sample*);
        reinterpret_cast<Since610>(ops.cong_control)(Socket(), m_tcp.snd_una, 0, &rate);
    }
    else
    {
        using Before610 = void (*)(kernel::sock*, const kernel::rate_sample*);
        reinterpret_cast<Before610>(ops.cong_control)(Socket(), &rate);
    }
}

void
LinuxModule::OnCaState(SenderState& state, CaState next, int64_t now)
{
    const uint32_t before = m_tcp.prior_cwnd;
    Import(state, now);
    const bool isNewEpisode = std::exchange(m_hasNewThreshold, false);
    m_module->Image().Call([&] {
        const kernel::tcp_congestion_ops& ops = Ops();
        if (next == CaState::LOSS && isNewEpisode && ops.cwnd_event)
        {
            // tcp_enter_loss() sets the window after this event.
            m_tcp.snd_cwnd = before;
            ops.cwnd_event(Socket(), kernel::CA_EVENT_LOSS);
            m_tcp.snd_cwnd = state.cwnd;
        }
        if (next == CaState::LOSS)
        {
            m_tcp.snd_cwnd_cnt = 0;
        }
        if (ops.set_state)
        {
            ops.set_state(Socket(), static_cast<kernel::u8>(next));
        }
    });
    Export(state);
}

void
LinuxModule::OnReductionEnd(SenderState& state, int64_t now)
{
    if (Ops().cwnd_event)
    {
        Import(state, now);
        m_module->Image().Call([&] { Ops().cwnd_event(Socket(), kernel::CA_EVENT_COMPLETE_CWR); });
        Export(state);
    }
}

void
LinuxModule::OnTransmitStart(SenderState& state, int64_t now, int64_t idle)
{
    Import(state, now);
    m_tcp.lsndtime = ToHostJiffies(now - idle);
    m_module->Image().Call([&] {
        if (Ops().cwnd_event)
        {
            Ops().cwnd_event(Socket(), kernel::CA_EVENT_TX_START);
        }
        if (Ops().cwnd_event_tx_start)
        {
            Ops().cwnd_event_tx_start(Socket());
        }
    });
    Export(state);
}

uint32_t
LinuxModule::GetUndoCwnd(SenderState& state, uint32_t priorCwnd)
{
    m_tcp.snd_cwnd = state.cwnd;
    m_tcp.snd_ssthresh = state.ssthresh;
    m_tcp.prior_cwnd = priorCwnd;
    uint32_t cwnd = 0;
    m_module->Image().Call([&] { cwnd = Ops().undo_cwnd(Socket()); });
    return std::clamp(cwnd, 1U, MAX_WINDOW);
}

} // namespace tunnelcc
