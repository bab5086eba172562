/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_H
#define TUNNELCC_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

/**
 * \file
 * All that a file with a congestion control of your own includes. The file defines a class that
 * derives from tc::CongestionControl, and ends with `TUNNELCC_CONGESTION_CONTROL(Class)`. Python's
 * `tunnelcc.CongestionControl` is the same with names in Python's style.
 *
 * Windows and counts are in segments, times in seconds, rates in bit/s of payload. A value that is
 * not known is NaN.
 */

namespace tc
{

/// Raised with every change of what is in this file.
constexpr uint32_t INTERFACE = 1;

/// Value of CongestionControl::interval: the smoothed RTT.
constexpr double EVERY_RTT = -1;

/// A sender: what the algorithm sets, and what it reads.
struct State
{
    // Yours to set.
    double cwnd{0};       //!< congestion window; the sender uses its whole part, 1 or more
    double ssthresh{0};   //!< slow start threshold; infinite before the first loss
    double pacingRate{0}; //!< 0: segments are not paced

    // Kept by the sender.
    double now{0};             //!< since the experiment began
    double mss{0};             //!< payload of a full segment, bytes
    double inFlight{0};        //!< sent, and neither delivered nor marked lost
    double delivered{0};       //!< since the connection began
    double lost{0};            //!< the same
    double srtt{0};            //!< smoothed RTT (RFC 6298)
    double minRtt{0};          //!< least RTT of the connection
    bool isCwndLimited{false}; //!< the window, not the application, limits the sender
    bool isRecovering{false};  //!< losses or marks are being answered

    bool InSlowStart() const
    {
        return cwnd < ssthresh;
    }

    /// Grow by the segments delivered, up to ssthresh; returns those that are left.
    double SlowStart(double acked)
    {
        const double grown = std::fmin(cwnd + acked, ssthresh);
        const double left = acked - (grown - cwnd);
        cwnd = grown;
        return left;
    }
};

/// News that one ACK brings.
struct Ack
{
    double acked{0};          //!< segments newly delivered, by cumulative or selective ACK
    double lost{0};           //!< segments newly marked lost
    double rtt{0};            //!< of the latest segment delivered
    double deliveryRate{0};   //!< rate at which data were delivered, over about a round trip
    double priorInFlight{0};  //!< in flight before the ACK
    bool isAppLimited{false}; //!< the application, not the network, limited deliveryRate
    bool isMarked{false};     //!< the receiver tells of an ECN mark
    bool isNewRound{false};   //!< the first ACK of a round trip
};

/// What happened in a monitor interval.
struct Interval
{
    double duration{0};
    double acked{0};   //!< segments delivered
    double lost{0};    //!< segments marked lost
    double marked{0};  //!< ACKs that tell of an ECN mark
    double rate{0};    //!< of what was delivered
    double meanRtt{0}; //!< of the ACKs with an RTT
    double minRtt{0};  //!< of the same
};

/// Where an algorithm lists its parameters: their names, and the members that hold them.
class Parameters
{
  public:
    /// A number, in a unit ("s", or "" for a ratio or another one), from `least` to `most`.
    virtual void Add(const char* name,
                     double& value,
                     const char* meaning,
                     double least = -1e15,
                     double most = 1e15,
                     const char* unit = "") = 0;
    /// A whole number.
    virtual void Add(const char* name,
                     int64_t& value,
                     const char* meaning,
                     int64_t least = -1'000'000'000'000'000,
                     int64_t most = 1'000'000'000'000'000) = 0;
    /// A switch.
    virtual void Add(const char* name, bool& value, const char* meaning) = 0;

  protected:
    ~Parameters() = default;
};

/// A congestion control. Each connection has an object of its own.
class CongestionControl
{
  public:
    virtual ~CongestionControl() = default;

    /// Name the parameters. Their defaults are what the constructor leaves in the members.
    virtual void Describe(Parameters& /* parameters */)
    {
    }

    /// The parameters have their values. \param seed for random numbers of this connection
    virtual void Configure(uint64_t /* seed */)
    {
    }

    /// The connection is there, and has measured its first RTT.
    virtual void OnStart(State& /* state */)
    {
    }

    /// Where the window may grow: an ACK outside of recovery. With ownsWindow: every ACK.
    virtual void OnAck(State& /* state */, const Ack& /* ack */)
    {
    }

    /// As OnAck(), but once an interval, at the first ACK after its end. \see interval
    virtual void OnInterval(State& /* state */, const Interval& /* interval */)
    {
    }

    /// An episode of loss begins, or one of ECN marks: set the window to fall to. The sender takes
    /// a round trip for that (RFC 9937); with ownsWindow it falls at once.
    virtual void OnLoss(State& state)
    {
        if (!ownsWindow)
        {
            state.cwnd /= 2;
        }
    }

    /// A time-out, after its OnLoss(). All in flight counts as lost, so the window begins anew
    /// at 1.
    virtual void OnTimeout(State& /* state */)
    {
    }

    double interval{0};     //!< of OnInterval(); 0: OnAck() is called instead; or EVERY_RTT
    bool ownsWindow{false}; //!< the sender leaves the window alone in recovery
    bool needsEcn{false};   //!< marks are asked for, and each ACK tells of them (RFC 8257)
};

/// What a compiled file exports as `tunnelcc_file`.
struct File
{
    uint32_t interface;
    const char* name;
    size_t sizes[4];
    CongestionControl* (*make)();
};

} // namespace tc

/// Offers a class to tunnelcc. A file has it once, outside of namespaces.
#define TUNNELCC_CONGESTION_CONTROL(Class)                                                         \
    extern "C" __attribute__((visibility("default"), used)) const tc::File tunnelcc_file           \
    {                                                                                              \
        tc::INTERFACE, #Class,                                                                     \
            {sizeof(tc::State),                                                                    \
             sizeof(tc::Ack),                                                                      \
             sizeof(tc::Interval),                                                                 \
             sizeof(tc::CongestionControl)},                                                       \
            []() -> tc::CongestionControl* { return new Class; }                                   \
    }

#endif // TUNNELCC_H
