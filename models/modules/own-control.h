/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_OWN_CONTROL_H
#define TUNNELCC_OWN_CONTROL_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"
#include "modules/module-image.h"
#include "modules/tunnelcc.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tunnelcc
{

/// A congestion control of a user's own (tunnelcc.h), compiled or in Python, and how it is called.
struct OwnAlgorithm
{
    std::string name;                   //!< for messages
    std::shared_ptr<ModuleImage> image; //!< null: it is in no compiled file
    std::unique_ptr<tc::CongestionControl> algorithm;

    OwnAlgorithm(std::string itsName,
                 std::shared_ptr<ModuleImage> itsImage,
                 std::unique_ptr<tc::CongestionControl> itsAlgorithm);
    OwnAlgorithm(OwnAlgorithm&&) = default;
    OwnAlgorithm& operator=(OwnAlgorithm&&) = delete;
    ~OwnAlgorithm();

    /// Its parameters, with their defaults.
    std::vector<CongestionParameterInfo> GetParameters() const;

    /// Set parameters, and let it make use of them. \throws ModuleError, std::invalid_argument
    void Configure(const CongestionParameters& values, int64_t stream);

    template <typename F>
    void Call(F&& function) const
    {
        if (image)
        {
            image->Call(function);
        }
        else
        {
            function();
        }
    }

    /// A call as the language of the algorithm names it: `OnAck()` is `on_ack()` in Python.
    std::string NameCall(const char* call) const;

    /// \throws ModuleError
    [[noreturn]] void Throw(const std::string& what) const;
};

/**
 * Runs a congestion control of a user's own as one of ours: it brings the numbers that it reads up
 * to date, counts what happens in its intervals, and checks what it sets.
 */
class OwnControl : public CongestionControl
{
  public:
    /// \param own configured
    explicit OwnControl(OwnAlgorithm own);

    bool HasCongControl() const override;
    bool NeedsEcn() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;

  private:
    void Import(const SenderState& state, int64_t now);
    void Export(SenderState& state, const char* call);
    void CheckState(const char* call) const;
    bool IsNewRound(const SenderState& state, const RateSample& sample);
    void Count(const AckEvent& event);
    void EndInterval(SenderState& state, int64_t now);
    void StartInterval(const SenderState& state, int64_t now);

    OwnAlgorithm m_own;
    tc::State m_state;
    uint32_t m_given{0};    //!< window that the transport has of m_state.cwnd; 0: take its own
    uint64_t m_roundEnd{0}; //!< SenderState::delivered that ends the round trip

    // The interval
    int64_t m_started{0}; //!< ns
    int64_t m_length{0};  //!< ns
    uint64_t m_deliveredBefore{0};
    uint64_t m_lostBefore{0};
    uint32_t m_marks{0};
    uint32_t m_rtts{0};
    int64_t m_sumOfRtts{0}; //!< ns
    int64_t m_leastRtt{NEVER};
};

} // namespace tunnelcc

#endif // TUNNELCC_OWN_CONTROL_H
