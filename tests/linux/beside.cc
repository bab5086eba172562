/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-control.h"
#include "event/time-units.h"
#include "experiment/experiment.h"
#include "modules/module-loader.h"
#include "spec/spec-text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

/**
 * \file
 * Runs a second congestion control beside the first, on the same ACKs, and tells where the two
 * differ: how our algorithms are compared with Linux's own files.
 *
 *     tunnelcc run --cc cubic --write-spec spec.json
 *     build/release/linux/beside spec.json NAME CODE FOLDER [SHOWN]
 *
 * NAME and CODE are those of the second one, as in a specification; FOLDER has the compiled files.
 * The first one's window counts. The second is told the same, and after a difference it goes on
 * from the first one's window, threshold and rate; its own state stays.
 *
 * Prints a line for each connection that carried data: its ACKs, and for window, threshold and
 * pacing rate after how many calls the two differed, after how many by more than two segments and a
 * hundredth, by how much at most (relative), and when first (s). So many of the first differences
 * as SHOWN are printed, too.
 */

using namespace tunnelcc;

namespace
{

/// A difference is large beyond so many segments, and this part. Linux rounds windows of BBR to
/// even numbers.
constexpr double FAR_SEGMENTS = 2;
constexpr double FAR = 0.01;

constexpr std::array NAMES{"cwnd", "ssthresh", "pacing"};

/// How one value differs.
struct Difference
{
    uint64_t calls{0};
    uint64_t far{0}; //!< those by more than two segments and a hundredth
    double worst{0}; //!< of the larger of the two
    double first{0}; //!< s; when
};

/// Two algorithms, of which the first decides.
class Beside : public CongestionControl
{
  public:
    Beside(std::unique_ptr<CongestionControl> first,
           std::unique_ptr<CongestionControl> second,
           std::string name,
           int shown)
        : m_first(std::move(first)),
          m_second(std::move(second)),
          m_name(std::move(name)),
          m_shown(shown)
    {
    }

    ~Beside() override
    {
        if (m_acks == 0)
        {
            return;
        }
        std::cout << m_name << " acks " << m_acks;
        for (size_t i = 0; i < NAMES.size(); ++i)
        {
            const Difference& it = m_differences[i];
            std::cout << " " << NAMES[i] << " " << it.calls << " " << it.far << " " << it.worst
                      << " " << it.first;
        }
        std::cout << "\n";
    }

    bool HasCongControl() const override
    {
        return m_first->HasCongControl();
    }

    bool WantsLosses() const override
    {
        return m_first->WantsLosses() || m_second->WantsLosses();
    }

    bool WantsDeliveries() const override
    {
        return m_first->WantsDeliveries() || m_second->WantsDeliveries();
    }

    bool NeedsEcn() const override
    {
        return m_first->NeedsEcn();
    }

    bool IsL4s() const override
    {
        return m_first->IsL4s();
    }

    int64_t GetLongestBurst() const override
    {
        return m_first->GetLongestBurst();
    }

    uint32_t GetSendBufferFactor() const override
    {
        return m_first->GetSendBufferFactor();
    }

    uint32_t MinTsoSegments(const SenderState& state) const override
    {
        return m_first->MinTsoSegments(state);
    }

    void SetReduction(WindowReduction& reduction) override
    {
        m_first->SetReduction(reduction);
    }

    void Init(SenderState& state, int64_t now) override
    {
        m_state = state;
        Both(state, now, "init", [&](auto& it, SenderState& own) { it.Init(own, now); });
    }

    uint32_t GetSsThresh(SenderState& state, int64_t now) override
    {
        std::array<uint32_t, 2> thresholds{};
        Both(state, now, "ssthresh", [&, i = 0](auto& it, SenderState& own) mutable {
            thresholds[i++] = it.GetSsThresh(own, now);
        });
        Compare(1, now, "ssthresh", thresholds[0], thresholds[1]);
        return thresholds[0];
    }

    void OnDelivered(SenderState& state, const AckEvent& event) override
    {
        Both(state, event.now, "delivered", [&](auto& it, SenderState& own) {
            if (it.WantsDeliveries())
            {
                it.OnDelivered(own, event);
            }
        });
    }

    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override
    {
        ++m_acks;
        Both(state, event.now, "ack", [&](auto& it, SenderState& own) {
            it.OnAck(own, event, mayGrow);
        });
    }

    void OnSegmentLost(SenderState& state, const LostSegment& segment, int64_t now) override
    {
        Both(state, now, "lost", [&](auto& it, SenderState& own) {
            if (it.WantsLosses())
            {
                it.OnSegmentLost(own, segment, now);
            }
        });
    }

    void OnCaState(SenderState& state, CaState next, int64_t now) override
    {
        Both(state, now, "state", [&](auto& it, SenderState& own) {
            it.OnCaState(own, next, now);
        });
    }

    void OnReductionEnd(SenderState& state, int64_t now) override
    {
        Both(state, now, "end", [&](auto& it, SenderState& own) { it.OnReductionEnd(own, now); });
    }

    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override
    {
        Both(state, now, "start", [&](auto& it, SenderState& own) {
            it.OnTransmitStart(own, now, idle);
        });
    }

    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override
    {
        std::array<uint32_t, 2> windows{};
        Both(state, m_now, "undo", [&, i = 0](auto& it, SenderState& own) mutable {
            windows[i++] = it.GetUndoCwnd(own, priorCwnd);
        });
        Compare(0, m_now, "undo", windows[0], windows[1]);
        return windows[0];
    }

  private:
    template <typename F>
    void Both(SenderState& state, int64_t now, const char* what, F&& call)
    {
        m_now = now;
        m_state = state;
        call(*m_first, state);
        call(*m_second, m_state);
        Compare(0, now, what, state.cwnd, m_state.cwnd);
        Compare(1, now, what, state.ssthresh, m_state.ssthresh);
        Compare(2, now, what, state.pacingRate, m_state.pacingRate);
    }

    void Compare(int which, int64_t now, const char* what, double first, double second)
    {
        if (first == second)
        {
            return;
        }
        Difference& difference = m_differences[which];
        const double seconds = static_cast<double>(now) / SECOND;
        difference.first = difference.calls == 0 ? seconds : difference.first;
        ++difference.calls;
        const double distance = std::abs(first - second);
        const double relative = distance / std::max(first, second);
        difference.far += distance > FAR_SEGMENTS && relative > FAR ? 1 : 0;
        difference.worst = std::max(difference.worst, relative);
        if (m_shown > 0)
        {
            --m_shown;
            std::cout << "# " << seconds << " " << what << ", " << NAMES[which] << ": " << first
                      << " " << second << "\n";
        }
    }

    std::unique_ptr<CongestionControl> m_first;
    std::unique_ptr<CongestionControl> m_second;
    std::string m_name;
    SenderState m_state; //!< that the second sees
    int64_t m_now{0};
    uint64_t m_acks{0};
    std::array<Difference, 3> m_differences;
    int m_shown;
};

void
Run(const std::string& text, const CongestionSpec& second, int shown)
{
    ModuleLoader modules;
    RunExperiment(
        ParseSpec(text),
        {},
        nullptr,
        [&](std::unique_ptr<CongestionControl> first, const CongestionSpec& spec, int64_t stream) {
            auto other = second.code.empty() ? MakeCongestionControl(second.name, {}, stream)
                                             : modules.Make(second.name, second.code, {}, stream);
            return std::make_unique<Beside>(std::move(first),
                                            std::move(other),
                                            spec.name + " " + second.name,
                                            shown);
        });
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc < 5)
    {
        std::cerr << "Usage: beside SPEC.json NAME CODE FOLDER [SHOWN]\n";
        return 2;
    }
    CongestionSpec second;
    second.name = argv[2];
    second.code = argv[3];
    SetModuleFolder(argv[4]);
    try
    {
        std::ifstream file(argv[1]);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        Run(text, second, argc > 5 ? std::stoi(argv[5]) : 0);
    }
    catch (const std::exception& error)
    {
        std::cerr << "beside: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
