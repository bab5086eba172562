/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NS3_ADAPTER_H
#define TUNNELCC_NS3_ADAPTER_H

#include "congestion/congestion-control.h"

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-rate-ops.h"
#include "ns3/tcp-socket-state.h"

#include <cstdint>
#include <string_view>

/**
 * \file
 * Runs any ns3::TcpCongestionOps (ns-3.44) unchanged behind our interface, for comparison and for
 * the algorithms that this project does not have.
 *
 * ns-3 counts the window in bytes and calls the operations from TcpSocketBase; the adapter keeps
 * one ns3::TcpSocketState per connection and makes the calls in the same order. Three things follow
 * Linux rather than TcpSocketBase: growth while the window is not the limit is undone, an ACK
 * counts the segments that it selectively acknowledges, and FlightSize includes lost segments
 * (RFC 5681). The operations read ns3::Simulator::Now(), so they run only inside a simulation.
 * An echo of a mark is passed on as TcpSocketState::m_ecnState. The events that tell a receiver's
 * operations of marks and delayed ACKs are not: what ns3::TcpDctcp does with them on a socket of
 * ns-3, our endpoint does itself. Nor are sequence numbers beyond what Vegas, CUBIC and DCTCP read.
 */

namespace tunnelcc
{

/// Runs a congestion control of ns-3 as one of ours.
class Ns3Adapter : public CongestionControl
{
  public:
    /**
     * \param typeId name of the TypeId, such as "ns3::TcpVegas"
     * \param parameters attributes by name; times in seconds
     * \param stream given to the `Stream` attribute of operations that have one
     * \throws std::invalid_argument on an unknown TypeId or attribute, or a value it refuses
     */
    Ns3Adapter(std::string_view typeId, const CongestionParameters& parameters, int64_t stream);

    bool HasCongControl() const override;
    bool NeedsEcn() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;

  private:
    void ImportWindow(const SenderState& state);
    void ImportPath(const SenderState& state);
    /// Count as sent what the window allowed before the ACK.
    /// \param acked segments that the ACK acknowledged
    void ImportUnsent(const SenderState& state, uint32_t acked);
    void Export(SenderState& state);
    void ExportSsThresh(SenderState& state);
    void CallCongControl(const SenderState& state, const AckEvent& event);
    void CallIncreaseWindow(const SenderState& state, const AckEvent& event);

    ns3::Ptr<ns3::TcpCongestionOps> m_ops;
    ns3::Ptr<ns3::TcpSocketState> m_tcb;
    ns3::TcpRateOps::TcpRateConnection m_connection;
    ns3::TcpRateOps::TcpRateSample m_sample;
    bool m_hasCongControl;
    bool m_needsEcn;
    uint32_t m_exportedCwnd{0}; //!< segments; differs from SenderState's once the transport set it
    uint32_t m_exportedSsThresh{0}; //!< segments
    uint64_t m_deliveredBefore{0};  //!< SenderState::delivered at the last OnAck()
};

} // namespace tunnelcc

#endif // TUNNELCC_NS3_ADAPTER_H
