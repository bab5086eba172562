/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_COUPLED_H
#define TUNNELCC_COUPLED_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"

#include <cstdint>
#include <deque>

/**
 * \file
 * Coupled congestion controls for subflows of MPTCP. Together they take about what one TCP
 * connection would on the best of their paths, and move data away from congested ones. A subflow
 * that is alone, or in slow start, grows as Reno does. Windows are in segments, and each subflow's
 * in its own; time is the smoothed RTT.
 */

namespace tunnelcc
{

/// A subflow, as the others of its connection see it.
struct CoupledPath
{
    const SenderState* state;
    double sinceLoss{0};     //!< segments delivered since its latest loss
    double betweenLosses{0}; //!< segments delivered between the two before

    /// Whether there is an RTT to reckon with.
    bool IsKnown() const
    {
        return state->srtt > 0;
    }

    /// Smoothed RTT, s.
    double Rtt() const
    {
        return static_cast<double>(state->srtt) * 1e-9;
    }
};

/// The subflows of one connection, on one end.
struct CoupledGroup
{
    std::deque<CoupledPath> paths;
};

/// Parameters of an algorithm that has none.
struct NoParameters
{
};

/// What coupled algorithms have in common: all but how fast the window grows and how far it falls.
class Coupled : public CongestionControl
{
  public:
    static const CongestionParameterTable<NoParameters>& GetParameterTable();

    void Couple(CoupledGroup& group, const SenderState& state) override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;

  protected:
    /// By how many segments the window grows for each that is delivered, out of slow start.
    virtual double Increase() const = 0;

    /// Part of the window that a loss takes.
    virtual double Decrease() const
    {
        return 0.5;
    }

    const CoupledPath& Own() const
    {
        return *m_path;
    }

    /// The sum of the rates of all subflows with an RTT, segments/s.
    double RateOfAll() const;

    /// All subflows with an RTT.
    template <class F>
    void ForEach(F function) const
    {
        for (const CoupledPath& path : m_group->paths)
        {
            if (path.IsKnown())
            {
                function(path);
            }
        }
    }

  private:
    CoupledGroup m_alone; //!< of a connection with one path
    CoupledGroup* m_group{&m_alone};
    CoupledPath* m_path{nullptr};
    double m_credit{0}; //!< part of a segment that the window has grown by
};

/// LIA, linked increases (RFC 6356).
class Lia final : public Coupled
{
  public:
    explicit Lia(const NoParameters&)
    {
    }

  private:
    double Increase() const override;
};

/// OLIA, opportunistic linked increases (draft-khalili-mptcp-congestion-control-05).
class Olia final : public Coupled
{
  public:
    explicit Olia(const NoParameters&)
    {
    }

  private:
    double Increase() const override;
    double Alpha() const;
};

/// BALIA, balanced linked adaptation (draft-walid-mptcp-congestion-control-04).
class Balia final : public Coupled
{
  public:
    explicit Balia(const NoParameters&)
    {
    }

  private:
    double Increase() const override;
    double Decrease() const override;
    /// The greatest rate of all subflows over its own.
    double Alpha() const;
};

} // namespace tunnelcc

#endif // TUNNELCC_COUPLED_H
