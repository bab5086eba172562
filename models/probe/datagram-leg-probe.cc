/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "leg-probe.h"
#include "traffic/datagram-socket.h"

#include <limits>

namespace tunnelcc
{

namespace
{

/// Samples a flow of datagrams. What arrives is told by its meter.
class DatagramLegProbe final : public LegProbe
{
  public:
    DatagramLegProbe(const DatagramSocket& sender,
                     const DatagramSocket& receiver,
                     LegResult& result)
        : m_sender(sender),
          m_receiver(receiver),
          m_result(result)
    {
    }

    void StartMeasuring(int64_t /* now */) override
    {
        m_atStart = m_sender.Datagrams();
        m_readAtStart = m_receiver.PayloadBytes();
    }

    void Sample(double interval) override
    {
        constexpr double NO_VALUE = std::numeric_limits<double>::quiet_NaN();
        auto rate = [=](uint64_t bytes, uint64_t& last) {
            const double found = static_cast<double>(bytes - last) * 8 / interval;
            last = bytes;
            return found;
        };
        m_result.goodputSeries.push_back(rate(m_receiver.PayloadBytes(), m_lastRead));
        m_result.throughput.push_back(rate(m_sender.WireBytes(), m_lastWire));
        m_result.cwnd.push_back(NO_VALUE);
        m_result.inFlight.push_back(0);
        m_result.pacingRate.push_back(0);
        m_result.srtt.push_back(NO_VALUE);
        m_result.retransmitsSeries.push_back(0);
        m_result.rtosSeries.push_back(0);
    }

    void Finish(int64_t /* now */) override
    {
        m_result.payloadBytes = m_receiver.PayloadBytes() - m_readAtStart;
        m_result.wireBytes = m_sender.WireBytes();
        m_result.ackWireBytes = m_receiver.WireBytes();
        m_result.segments = m_sender.Datagrams() - m_atStart;
        m_result.totalSegments = m_sender.Datagrams();
    }

  private:
    const DatagramSocket& m_sender;
    const DatagramSocket& m_receiver;
    LegResult& m_result;
    uint64_t m_atStart{0};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const DatagramSocket& sender, const DatagramSocket& receiver, LegResult& result)
{
    return std::make_unique<DatagramLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
