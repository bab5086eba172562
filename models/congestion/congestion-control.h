/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_CONTROL_H
#define TUNNELCC_CONGESTION_CONTROL_H

#include "event/time-units.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace tunnelcc
{

/// Value of SenderState::ssthresh before the first loss.
constexpr uint32_t INFINITE_SSTHRESH = 0x7fffffff;

/// Least slow start threshold of most algorithms, segments (RFC 5681, equation 4).
constexpr uint32_t MIN_SSTHRESH = 2;

/// Bound that keeps window arithmetic inside 32 bits, segments.
constexpr uint32_t MAX_WINDOW = 1'000'000'000;

/// Sender's recovery state, named as in Linux (`enum tcp_ca_state`).
enum class CaState : uint8_t
{
    OPEN,
    DISORDER,
    CWR,
    RECOVERY,
    LOSS
};

/**
 * State of a sender, of TCP or of QUIC, as its congestion control sees it: the window, threshold
 * and rate that the algorithm sets, and what it reads (Linux `struct tcp_sock`).
 *
 * The transport updates it before each call. Windows and counters are in segments, as in Linux, and
 * with QUIC in packets of full size; times in ns; rates in bytes of payload per second.
 */
struct SenderState
{
    // Set by the congestion control.
    uint32_t cwnd{10};                    //!< congestion window, segments
    uint32_t ssthresh{INFINITE_SSTHRESH}; //!< slow start threshold, segments
    double pacingRate{0};                 //!< payload bytes/s; 0: not paced

    // Kept by the transport.
    uint32_t mss{1448};             //!< largest payload of a segment, bytes
    CaState caState{CaState::OPEN}; //!< recovery state
    uint32_t inFlight{0};           //!< sent − sacked − lost + retransmitted, segments
    uint32_t lostOut{0};            //!< marked lost and not yet delivered, segments
    uint32_t maxPacketsOut{0};      //!< most segments outstanding in the last window of data
    bool isCwndLimited{false};      //!< the window, not the application, limited the last round;
                                    //!< in slow start, for those without HasCongControl(): half of
                                    //!< it was used
    uint64_t segmentsSent{0};       //!< transmissions, repeated ones included
    uint64_t delivered{0};          //!< segments delivered since the connection began
    int64_t deliveredTime{0};       //!< when `delivered` last grew, ns
    uint64_t appLimitedUntil{0};    //!< `delivered` count that ends the application-limited phase
    uint64_t sndUna{0};             //!< first unacknowledged segment, by number
    uint64_t sndNxt{0};             //!< next new segment, by number
    int64_t srtt{0};                //!< smoothed RTT (RFC 6298), ns; 0: no sample yet
    int64_t minRtt{NEVER};          //!< least RTT of the connection, ns
    int64_t lastRtt{-1};            //!< latest RTT sample, ns; −1: none
    uint64_t lost{0};               //!< segments ever marked lost (Linux `tp->lost`)
    int64_t nextSendTime{0};        //!< earliest departure of the next paced segment, ns

    bool InSlowStart() const
    {
        return cwnd < ssthresh;
    }

    /// Whether the window limits the sender (Linux tcp_is_cwnd_limited()): in slow start, half of
    /// it is enough. \param wasLimited it did so in the last round
    bool IsCwndLimited(bool wasLimited) const
    {
        return wasLimited || (InSlowStart() && cwnd < 2 * maxPacketsOut);
    }

    /// The application limits the sender: samples of what was sent until now may be too low.
    /// \param segments in flight
    void MarkAppLimited(uint32_t segments)
    {
        appLimitedUntil = std::max<uint64_t>(delivered + segments, 1);
    }
};

/**
 * Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation-02, section 3.3).
 */
struct RateSample
{
    int64_t interval{0};        //!< ns; 0: no valid sample
    uint32_t delivered{0};      //!< segments delivered over the interval
    uint64_t priorDelivered{0}; //!< SenderState::delivered when the sampled segment was sent
    bool isAppLimited{false};   //!< the sampled segment was sent while application-limited
    uint32_t txInFlight{0};     //!< in flight when it was sent, itself included; see WantsLosses()
    uint64_t priorLost{0};      //!< SenderState::lost when it was sent; see WantsLosses()

    bool IsValid() const
    {
        return interval > 0;
    }
};

/// What one ACK shows.
struct AckEvent
{
    int64_t now{0};            //!< ns
    uint32_t ackedSacked{0};   //!< segments newly delivered, by cumulative or selective ACK
    uint32_t cumAcked{0};      //!< segments by which SND.UNA advanced
    uint32_t newlyLost{0};     //!< segments newly marked lost
    uint32_t priorInFlight{0}; //!< in flight before the ACK, segments
    int64_t rtt{-1};        //!< RTT of the latest segment delivered, whole µs in ns; −1: ambiguous
    bool hasEcnEcho{false}; //!< the receiver tells of a mark
    bool isAckDelayed{false}; //!< the receiver may have delayed this ACK: a lone last segment
    uint32_t timestamp{0};    //!< receiver's clock when it sent the ACK (RFC 7323, TSval), ms
    uint32_t echo{0};         //!< sender's clock that the ACK echoes (TSecr), ms
    RateSample rate;
};

/// What a congestion control may ask its sender to do, besides the values that it sets in
/// SenderState.
class WindowReduction
{
  public:
    /// Reduce the window as after an echo of a mark, over a round trip (Linux tcp_enter_cwr()); in
    /// a state that is a reduction already, nothing happens.
    virtual void EnterCwr(int64_t now) = 0;

  protected:
    ~WindowReduction() = default;
};

/// Estimates that an algorithm has of its path, for probes.
struct PathEstimate
{
    double bandwidth{std::numeric_limits<double>::quiet_NaN()}; //!< segments/s; NaN: it has none
    int64_t minRtt{NEVER};                                      //!< ns; NEVER: it has none
};

/// A segment that was just marked lost, with the sender's state when it was sent.
struct LostSegment
{
    uint64_t number{0};       //!< its place in the stream of segments
    uint32_t txInFlight{0};   //!< in flight then, itself included, segments
    uint64_t priorLost{0};    //!< SenderState::lost then
    bool isAppLimited{false}; //!< sent while application-limited
};

/// What the algorithms of a connection's subflows know of each other; see congestion/coupled.h.
struct CoupledGroup;

/**
 * Congestion control algorithm: decides SenderState::cwnd, ::ssthresh and ::pacingRate.
 *
 * One object per sender. Algorithms with HasCongControl() own the window in every state, as Linux
 * modules with `cong_control` do; for the others the transport runs PRR in recovery and calls
 * OnAck() only where Linux would call `cong_avoid`, which then is free to grow the window.
 */
class CongestionControl
{
  public:
    virtual ~CongestionControl() = default;

    /// Whether the algorithm sets the window itself in all states, recovery included.
    virtual bool HasCongControl() const
    {
        return false;
    }

    /// Before all else: what the algorithm may call, from within OnAck(). It outlives the
    /// algorithm.
    virtual void SetReduction(WindowReduction& /* reduction */)
    {
    }

    /// The handshake is done: SenderState::srtt holds its first sample.
    virtual void Init(SenderState& state, int64_t now) = 0;

    /// Slow start threshold on entering recovery, CWR or loss, in segments. Called once a loss
    /// episode, before the state changes.
    virtual uint32_t GetSsThresh(SenderState& state, int64_t now) = 0;

    /// Whether the transport is to call OnDelivered(). Asked once, before Init().
    virtual bool WantsDeliveries() const
    {
        return false;
    }

    /// The same ACKs as OnAck(), before they change the recovery state (Linux `pkts_acked`, then
    /// `in_ack_event`). `event` has no losses yet.
    virtual void OnDelivered(SenderState& /* state */, const AckEvent& /* event */)
    {
    }

    /// Every ACK that delivered, marked or advanced something; in recovery and loss too.
    /// For algorithms without HasCongControl(), `mayGrow` tells whether the window may grow now
    /// (not in recovery, and SND.UNA advanced or the sender is in loss).
    virtual void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) = 0;

    /// Whether the transport is to call OnSegmentLost(), and to fill in RateSample::txInFlight and
    /// RateSample::priorLost. Asked once, before Init().
    virtual bool WantsLosses() const
    {
        return false;
    }

    /// Whether its data may be marked, whatever the connection's settings, and each ACK tells
    /// whether the latest segment was (RFC 8257; Linux `TCP_CONG_NEEDS_ECN`).
    virtual bool NeedsEcn() const
    {
        return false;
    }

    /// Whether it marks its data as L4S, by ECT(1) (RFC 9331). Such an algorithm NeedsEcn().
    virtual bool IsL4s() const
    {
        return false;
    }

    /// Longest burst, ns (Linux `tso_segs`). Asked before Init().
    virtual int64_t GetLongestBurst() const
    {
        return NEVER;
    }

    /// A segment or its retransmission was marked lost (Linux v3 branch: `skb_marked_lost`);
    /// SenderState::lost counts it. Comes before the GetSsThresh() and the OnAck() of the same
    /// event.
    virtual void OnSegmentLost(SenderState& /* state */,
                               const LostSegment& /* segment */,
                               int64_t /* now */)
    {
    }

    /// SenderState::caState is about to become `next`. After a time-out (`next` is LOSS) the
    /// transport has set cwnd to what Linux's tcp_enter_loss() does.
    virtual void OnCaState(SenderState& /* state */, CaState /* next */, int64_t /* now */)
    {
    }

    /// A reduction of the window is over and was not taken back; the window is at the threshold,
    /// and OnCaState() follows (Linux CA_EVENT_COMPLETE_CWR). Not after a time-out, and not with
    /// HasCongControl().
    virtual void OnReductionEnd(SenderState& /* state */, int64_t /* now */)
    {
    }

    /// A transmission, first or repeated, while nothing is in flight (Linux CA_EVENT_TX_START).
    /// `idle` is the time since the last one, ns.
    virtual void OnTransmitStart(SenderState& /* state */, int64_t /* now */, int64_t /* idle */)
    {
    }

    /// The reduction was spurious (Linux `undo_cwnd`): the window to go back to, segments.
    /// `priorCwnd` is the window before the reduction.
    virtual uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd)
    {
        return state.cwnd > priorCwnd ? state.cwnd : priorCwnd;
    }

    /// Send buffer the sender needs, in windows (Linux `sndbuf_expand`).
    virtual uint32_t GetSendBufferFactor() const
    {
        return 2;
    }

    /// Name of the phase the algorithm is in, for probes and tests; empty: it has none.
    virtual std::string_view GetPhase() const
    {
        return {};
    }

    /// The algorithm's estimates of the path, for probes.
    virtual PathEstimate GetPathEstimate() const
    {
        return {};
    }

    /// The sender is a subflow of a connection over several paths. Comes before Init().
    /// \param group of the connection's subflows on this end  \param state the sender's own
    virtual void Couple(CoupledGroup& /* group */, const SenderState& /* state */)
    {
    }

    /// Least segments per paced burst (Linux `min_tso_segs`).
    virtual uint32_t MinTsoSegments(const SenderState& /* state */) const
    {
        return 2;
    }
};

/// Value of a parameter: a switch, a count, a number, or one of several names.
using ParameterValue = std::variant<bool, int64_t, double, std::string>;

/// Parameters of an algorithm, by name.
using CongestionParameters = std::map<std::string, ParameterValue>;

/**
 * Make an algorithm by name: one of ListCongestionControls(), such as "bbr", or an ns-3 TypeId such
 * as "ns3::TcpBbr".
 *
 * \param name the algorithm
 * \param parameters values that differ from the defaults
 * \param stream random stream of this sender, for algorithms that draw random numbers
 * \throws std::invalid_argument on an unknown name or parameter, or on one that is missing
 */
std::unique_ptr<CongestionControl> MakeCongestionControl(std::string_view name,
                                                         const CongestionParameters& parameters,
                                                         int64_t stream);

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_CONTROL_H
