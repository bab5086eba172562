/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RANDOM_STREAM_H
#define TUNNELCC_RANDOM_STREAM_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/**
 * Random numbers of MRG32k3a (L'Ecuyer, "Good parameters and implementations for combined multiple
 * recursive random number generators", Operations Research 47(1), 1999): the same as those of
 * ns3::RngStream, whose streams begin 2^127 numbers apart and their substreams 2^76 (L'Ecuyer et
 * al., Operations Research 50(6), 2002).
 */
class RandomStream
{
  public:
    /// \param seed each of the six numbers of the first stream's state
    RandomStream(uint32_t seed, uint64_t stream, uint64_t substream);

    /// A number in (0, 1).
    double RandU01()
    {
        const int64_t first = Next(m_first, A12 * m_first[1] - A13 * m_first[0], M1);
        const int64_t second = Next(m_second, A21 * m_second[2] - A23 * m_second[0], M2);
        constexpr double NORM = 2.328306549295727688e-10; // 1 / (M1 + 1)
        return static_cast<double>(first - second + (first > second ? 0 : M1)) * NORM;
    }

  private:
    using State = std::array<int64_t, 3>;

    static constexpr int64_t M1 = 4294967087;
    static constexpr int64_t M2 = 4294944443;
    static constexpr int64_t A12 = 1403580;
    static constexpr int64_t A13 = 810728;
    static constexpr int64_t A21 = 527612;
    static constexpr int64_t A23 = 1370589;

    struct Jumps;

    /// Put \p value mod \p modulus behind the numbers of \p state, and return it.
    static int64_t Next(State& state, int64_t value, int64_t modulus)
    {
        value %= modulus;
        value += value < 0 ? modulus : 0;
        state = {state[1], state[2], value};
        return value;
    }

    /// Go `count` · 2^`power` numbers on.
    void Jump(uint64_t count, size_t power);

    State m_first;
    State m_second;
};

/// Components that draw random numbers. Results depend on these values: append, never renumber.
enum class RandomComponent : uint32_t
{
    FORWARD_LOSS = 1,
    REVERSE_LOSS = 2,
    APP_CONGESTION = 3,
    CARRIER_CONGESTION = 4,
    TARGET_CONGESTION = 5,
    FORWARD_REORDERING = 6,
    REVERSE_REORDERING = 7,
    FORWARD_JITTER = 8,
    REVERSE_JITTER = 9,
    FORWARD_QUEUE = 10,
    REVERSE_QUEUE = 11,
    ARQ_CLOCK = 12,
    APP_THREADS = 13,
    CARRIER_THREADS = 14,
    DATAGRAM_TIMES = 15,
    UPLINK_PROBES = 16,
    UPLINK_TURNS = 17,
};

/// Number of the random stream of a component and a flow. Each has its own, so the draws of one
/// flow do not change those of another.
constexpr uint64_t
StreamNumber(RandomComponent component, uint32_t flow = 0)
{
    return (static_cast<uint64_t>(component) << 32) + flow;
}

/// The random numbers of a component and a flow: substream `seed` of its stream.
inline RandomStream
MakeRandomStream(uint64_t seed, RandomComponent component, uint32_t flow = 0)
{
    constexpr uint32_t GENERATOR_SEED = 1; // ns-3's own default
    return RandomStream(GENERATOR_SEED, StreamNumber(component, flow), seed);
}

} // namespace tunnelcc

#endif // TUNNELCC_RANDOM_STREAM_H
