/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SUBFLOW_H
#define TUNNELCC_SUBFLOW_H

#include "handshake-options.h"
#include "mapping-log.h"
#include "transport/data-level.h"
#include "transport/endpoint.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

class MptcpEndpoint;

/// One end of a subflow: a TCP connection over one path, and what its MPTCP connection knows of it.
class Subflow final : public StreamUser, public DataLevel
{
  public:
    /**
     * \param connection that it belongs to
     * \param tcp its socket
     * \param sent,received the mappings of each direction
     * \param isBackup used only while no other works
     */
    Subflow(MptcpEndpoint& connection,
            TcpEndpoint& tcp,
            MappingLog& sent,
            MappingLog& received,
            bool isBackup)
        : m_connection(connection),
          m_tcp(tcp),
          m_sent(sent),
          m_received(received),
          m_isBackup(isBackup)
    {
        tcp.SetUser(this);
        tcp.SetDataLevel(*this);
    }

    Subflow(const Subflow&) = delete;
    Subflow& operator=(const Subflow&) = delete;

    TcpEndpoint& Tcp()
    {
        return m_tcp;
    }

    const TcpEndpoint& Tcp() const
    {
        return m_tcp;
    }

    bool IsBackup() const
    {
        return m_isBackup;
    }

    /// Whether it may carry data.
    bool IsOpen() const
    {
        return m_isOpen;
    }

    void Open()
    {
        m_isOpen = true;
    }

    /// Whether new data may go there: it is open, and not stale (Linux mptcp_subflow_active()).
    bool IsUsable() const
    {
        return m_isOpen && !(m_isStale && m_stamp == m_lastHeard);
    }

    /// Bytes that it holds and that are not acknowledged.
    uint64_t Queued() const
    {
        return m_tcp.GetSender().Buffer().Queued();
    }

    bool HasBufferRoom() const
    {
        return m_tcp.GetSender().Buffer().Room() > 0;
    }

    /// Bytes that its window lets it send beyond what waits in it.
    uint64_t WindowRoom() const
    {
        const Sender& sender = m_tcp.GetSender();
        const SenderState& state = sender.State();
        const uint32_t inFlight = sender.Board().InFlight();
        const uint64_t room =
            state.cwnd > inFlight ? uint64_t{state.cwnd - inFlight} * state.mss : 0;
        const uint64_t unsent = sender.Buffer().Unsent();
        return HasBufferRoom() && room > unsent ? room - unsent : 0;
    }

    /// Whether a full segment may leave at once.
    bool HasRoom() const
    {
        return WindowRoom() >= m_tcp.GetSender().Mss();
    }

    /// Congestion window, segments.
    double CongestionWindow() const
    {
        return m_tcp.GetSender().State().cwnd;
    }

    /// Segments in flight.
    double InFlight() const
    {
        return m_tcp.GetSender().Board().InFlight();
    }

    /// Payload of a full segment.
    uint32_t PacketBytes() const
    {
        return m_tcp.GetSender().State().mss;
    }

    /// Smoothed RTT, ns; 0: no sample yet.
    int64_t Srtt() const
    {
        return m_tcp.GetSender().State().srtt;
    }

    /// The rate at which it would send now, bytes/s (Linux sk_pacing_rate); 0: not known.
    double Rate() const;

    /// Mean of these rates over the bytes that it was given (Linux avg_pacing_rate).
    double meanRate{0};

    /// Write bytes of the connection's stream. \returns how many its send buffer took
    uint64_t Write(int64_t now, uint64_t begin, uint64_t bytes);

    /// What is left of the window that its latest ACK told, bytes.
    uint64_t WindowLeft() const
    {
        const uint64_t since = m_tcp.GetReceiver().Received() - m_receivedThen;
        return m_told - std::min(m_told, since);
    }

    /// A period of the connection's retransmission timer is over (Linux mptcp_pm_chk_stale()).
    void CheckProgress();

    /// Such periods without a sign of life.
    uint32_t StalePeriods() const
    {
        return m_stalePeriods;
    }

    bool IsStale() const
    {
        return m_isStale;
    }

    void SetStale()
    {
        m_isStale = true;
    }

    /// Redundant: place of the next byte that it is given.
    uint64_t cursor{0};

    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;
    uint32_t DataAck() const override;
    uint32_t Window() override;
    uint32_t HandshakeBytes(const Packet& packet) const override;
    void OnDataAck(int64_t now, uint32_t dataAck, uint32_t window) override;

  private:
    MptcpEndpoint& m_connection;
    TcpEndpoint& m_tcp;
    MappingLog& m_sent;
    MappingLog& m_received;
    const bool m_isBackup;
    uint64_t m_end{0}; //!< place behind the latest byte that it was given
    bool m_isOpen{false};
    bool m_isStale{false};
    uint32_t m_stalePeriods{0};
    uint64_t m_told{UINT64_MAX}; //!< window of its latest ACK, bytes
    uint64_t m_receivedThen{0};  //!< payload that had arrived over it, bytes
    int64_t m_lastHeard{-1};     //!< when its latest ACK came, ns (Linux rcv_tstamp)
    int64_t m_stamp{-1};         //!< m_lastHeard when the periods without progress began
};

} // namespace tunnelcc

#endif // TUNNELCC_SUBFLOW_H
