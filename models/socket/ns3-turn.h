/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NS3_TURN_H
#define TUNNELCC_NS3_TURN_H

#include <cstdint>

namespace tunnelcc
{

/**
 * Code of the models runs while a turn exists, at the time of ns3::Simulator.
 *
 * Timers of the models need their event loop. If ns3::Simulator has Ns3Simulator, that loop runs
 * everything. With any other implementation, such as ns-3's default, the loop follows its clock: at
 * the end of a turn an ordinary event of ns-3 is scheduled for the time of the loop's next event.
 * Turns may be nested.
 */
class Ns3Turn
{
  public:
    Ns3Turn();
    ~Ns3Turn();
    Ns3Turn(const Ns3Turn&) = delete;
    Ns3Turn& operator=(const Ns3Turn&) = delete;

    /// Simulated time, ns.
    int64_t Now() const
    {
        return m_now;
    }

  private:
    int64_t m_now;
};

} // namespace tunnelcc

#endif // TUNNELCC_NS3_TURN_H
