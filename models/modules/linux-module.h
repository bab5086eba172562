/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_MODULE_H
#define TUNNELCC_LINUX_MODULE_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"
#include "modules/linux-abi.h"
#include "modules/module-image.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/**
 * \file
 * Runs a congestion control module of Linux (a `net/ipv4/tcp_*.c` of 4.4 to 6.18) unchanged behind
 * our interface: it brings the members of `struct tcp_sock` that modules read up to date, calls the
 * functions of `struct tcp_congestion_ops` where Linux's `tcp_input.c` and `tcp_output.c` do, and
 * takes back the window, the threshold and the pacing rate.
 *
 * Differs from Linux: `in_ack_event` comes after `pkts_acked`, as since 6.15 and in stable kernels
 * of 2025; before, it came first. CA_EVENT_CWND_RESTART is left out, because CA_EVENT_TX_START
 * follows it. Receiver's events of marks (CA_EVENT_ECN_IS_CE) are: our endpoint does itself what
 * DCTCP does with them. All ACKs are CA_ACK_SLOWPATH, which matters to Westwood's `in_ack_event`
 * alone. `sacked_out` leaves out as many segments as were sent again and are on their way;
 * `retrans_out` is 0. Of Google's v3 branch, `tso_segs`, CA_EVENT_TLP_RECOVERY and the marks of a
 * rate sample are left out.
 */

namespace tunnelcc
{

/// A loaded module: what it registers, with its parameters set.
class LinuxModuleImage
{
  public:
    /// \throws ModuleError, std::invalid_argument for an unknown parameter
    LinuxModuleImage(std::unique_ptr<ModuleImage> image, const CongestionParameters& values);

    /// Parameters of the module with their defaults. \pre `image` is of a module of Linux
    static std::vector<CongestionParameterInfo> GetParameters(const ModuleImage& image);

    ModuleImage& Image()
    {
        return *m_image;
    }

    const kernel::tcp_congestion_ops* Ops() const
    {
        return m_ops;
    }

    const kernel::tunnelcc_linux_module& Module() const
    {
        return *m_module;
    }

  private:
    void Set(const kernel::tunnelcc_parameter& parameter, int64_t value);

    std::unique_ptr<ModuleImage> m_image;
    const kernel::tunnelcc_linux_module* m_module;
    const kernel::tcp_congestion_ops* m_ops{nullptr};
};

/// A connection with a module of Linux.
class LinuxModule : public CongestionControl
{
  public:
    /// \param stream seed of the random numbers that it draws
    LinuxModule(std::shared_ptr<LinuxModuleImage> module, int64_t stream);
    ~LinuxModule() override;

    LinuxModule(const LinuxModule&) = delete;
    LinuxModule& operator=(const LinuxModule&) = delete;

    bool HasCongControl() const override;
    bool WantsLosses() const override;
    bool WantsDeliveries() const override;
    bool NeedsEcn() const override;
    void SetReduction(WindowReduction& reduction) override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnDelivered(SenderState& state, const AckEvent& event) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnSegmentLost(SenderState& state, const LostSegment& segment, int64_t now) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnReductionEnd(SenderState& state, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;
    uint32_t GetSendBufferFactor() const override;
    uint32_t MinTsoSegments(const SenderState& state) const override;

  private:
    kernel::sock* Socket()
    {
        return &m_tcp.inet_conn.sk;
    }

    /// The operations now: a module may change them (DCTCP without ECN).
    const kernel::tcp_congestion_ops& Ops() const
    {
        return *m_tcp.inet_conn.icsk_ca_ops;
    }

    void SetTime(int64_t now);
    void Import(const SenderState& state, int64_t now);
    void ImportWindow(const SenderState& state);
    void Export(SenderState& state);
    void UpdatePacingRate();
    void TakeOptions(const AckEvent& event);
    void CallOnDelivered(const SenderState& state, const AckEvent& event);
    void CallCongControl(const AckEvent& event);

    std::shared_ptr<LinuxModuleImage> m_module;
    kernel::tunnelcc_host& m_host;
    kernel::tcp_sock m_tcp{};
    WindowReduction* m_reduction{nullptr};
    void* m_memory{nullptr}; //!< private state, and the page behind it
    kernel::u64 m_random;
    bool m_hasCongControl;
    bool m_wantsDeliveries;
    bool m_isInitialised{false};
    bool m_hasNewThreshold{false}; //!< since the last change of the recovery state
    uint32_t m_sendBufferFactor{2};
    mutable uint32_t m_minTsoSegments{0}; //!< 0: ask
};

} // namespace tunnelcc

#endif // TUNNELCC_LINUX_MODULE_H
