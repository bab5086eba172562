/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-control.h"

#include "congestion/bbr.h"
#include "congestion/bbr3/bbr3.h"
#include "congestion/brutal.h"
#include "congestion/congestion-parameters.h"
#include "congestion/congestion-registry.h"
#include "congestion/coupled.h"
#include "congestion/cubic.h"
#include "congestion/fast.h"
#include "congestion/pcc-allegro.h"
#include "congestion/pcc-vivace.h"
#include "congestion/prague.h"
#include "congestion/qvegas.h"
#include "congestion/reno.h"
#include "congestion/unlimited.h"
#include "congestion/vegas.h"
#include "congestion/westwood.h"
#include "congestion/zeta-like.h"
#include "spec/refuse.h"

#include <algorithm>
#include <array>

/**
 * \file
 * The algorithms by name: one row of a table each, and the families that were added.
 */

namespace tunnelcc
{

namespace
{

/// A row of the table of algorithms.
struct Algorithm
{
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::string_view note; //!< as CongestionAlgorithmInfo::note
    std::unique_ptr<CongestionControl> (*make)(std::string_view name,
                                               const CongestionParameters& values,
                                               int64_t stream);
    std::vector<CongestionParameterInfo> (*describe)();
};

/// Make a `T`, with a random stream if it draws random numbers.
template <typename T>
std::unique_ptr<CongestionControl>
Make(std::string_view name, const CongestionParameters& values, int64_t stream)
{
    const auto parameters = ParseParameters(name, T::GetParameterTable(), values);
    if constexpr (requires { T(parameters, stream); })
    {
        return std::make_unique<T>(parameters, stream);
    }
    else
    {
        return std::make_unique<T>(parameters);
    }
}

/// The row of `T`.
template <typename T>
constexpr Algorithm
Row(std::string_view name,
    std::string_view summary,
    std::string_view source,
    std::string_view note = {})
{
    return {name, summary, source, note, Make<T>, [] {
                return DescribeParameters(T::GetParameterTable());
            }};
}

const std::array ALGORITHMS{
    Row<Balia>("balia",
               "BALIA: for subflows of MPTCP; balances how fair and how quick they are",
               "draft-walid-mptcp-congestion-control-04; Peng et al., IEEE/ACM ToN 24(1), 2016"),
    Row<Bbr>("bbr",
             "BBRv1: paces at the measured bandwidth, sizes its window by the least RTT",
             "Linux 5.10-6.18 tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00"),
    Row<Bbr3>("bbr3",
              "BBRv3: as BBRv1, but losses limit its rate and the data in flight",
              "draft-ietf-ccwg-bbr (August 2026); Google's Linux v3 branch, tcp_bbr.c"),
    Row<Brutal>("brutal",
                "TCP Brutal: sends at a fixed rate, and sends more to make up for losses",
                "apernet/tcp-brutal 204aeea, brutal.c"),
    Row<Cubic>("cubic",
               "CUBIC with HyStart: the window is a cubic function of the time since the last loss",
               "RFC 9438; Linux 5.10-6.18 tcp_cubic.c"),
    Row<Fast>("fast",
              "FAST: keeps alpha segments of each flow in the queue",
              "Jin, Wei and Low, INFOCOM 2004; Wei et al., IEEE/ACM ToN 14(6), 2006"),
    Row<Lia>("lia",
             "LIA: for subflows of MPTCP, which together take what one connection would",
             "RFC 6356"),
    Row<Olia>("olia",
              "OLIA: as LIA, but moves its windows to the best paths",
              "draft-khalili-mptcp-congestion-control-05; Khalili et al., CoNEXT 2012"),
    Row<PccAllegro>("pcc",
                    "PCC Allegro: tries rates and keeps the best; tolerates up to 5 % of loss",
                    "PCCproject/PCC-Kernel 2eeadf0, tcp_pcc.c; Dong et al., NSDI 2015"),
    Row<Prague>("prague",
                "Prague: reduces its window by half of the share of marked segments (L4S)",
                "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam's Linux 6.18, "
                "tcp_prague.c 0.7"),
    Row<QVegas>("qvegas",
                "QVegas: Vegas that restores its window after each recovery from losses",
                "marywangran/qvegas a767fe0, tcp_qvegas.c"),
    Row<Reno>("reno",
              "NewReno: adds a segment per round trip, halves its window after a loss",
              "RFC 5681, RFC 6582; Linux 5.10-6.18 tcp_cong.c"),
    Row<Unlimited>(
        "unlimited",
        "CUBIC with a window that never limits it, as in giltu/KernelPCC (which is not PCC)",
        "giltu/KernelPCC a19a4ec, tcp_TA.c"),
    Row<Vegas>("vegas",
               "Vegas: watches the delay and keeps a few segments in the queue",
               "Brakmo et al., SIGCOMM 1994; Linux 5.10-6.18 tcp_vegas.c"),
    Row<PccVivace>(
        "vivace",
        "PCC Vivace: changes its rate along the gradient of a utility of rate, RTT and loss",
        "PCCproject/PCC-Kernel ed39d0f (branch vivace), tcp_pcc.c; Dong et al., NSDI 2018"),
    Row<Westwood>("westwood",
                  "Westwood+: as Reno, but a loss sets the window to bandwidth times least RTT",
                  "Grieco and Mascolo, CCR 2004; Linux 5.10-6.18 tcp_westwood.c"),
    Row<ZetaLike>(
        "zeta-like",
        "An illustration of ZetaTCP, not the product: slows down at signs of delay and loss",
        "none: no formula is published, the constants are choices of this project",
        "not the product"),
};

std::vector<const CongestionFamily*>&
Families()
{
    static std::vector<const CongestionFamily*> families;
    return families;
}

/// The family that has an algorithm; null: none.
const CongestionFamily*
FindFamily(std::string_view name)
{
    const auto& families = Families();
    auto found =
        std::ranges::find_if(families, [=](const auto* family) { return family->Has(name); });
    return found == families.end() ? nullptr : *found;
}

const Algorithm*
FindAlgorithm(std::string_view name)
{
    for (const auto& algorithm : ALGORITHMS)
    {
        if (algorithm.name == name)
        {
            return &algorithm;
        }
    }
    return nullptr;
}

std::string
DescribeUnknownName(std::string_view name)
{
    std::string message = "unknown congestion control '" + std::string(name) + "'; there are";
    for (const auto& algorithm : ALGORITHMS)
    {
        message += " " + std::string(algorithm.name) + ",";
    }
    for (const CongestionFamily* family : Families())
    {
        for (const std::string& member : family->List())
        {
            message += " " + member + ",";
        }
    }
    message.pop_back();
    return message;
}

} // namespace

std::unique_ptr<CongestionControl>
MakeCongestionControl(std::string_view name, const CongestionParameters& parameters, int64_t stream)
{
    if (const Algorithm* algorithm = FindAlgorithm(name))
    {
        return algorithm->make(name, parameters, stream);
    }
    if (const CongestionFamily* family = FindFamily(name))
    {
        return family->Make(name, parameters, stream);
    }
    Refuse(DescribeUnknownName(name));
}

std::vector<CongestionAlgorithmInfo>
ListCongestionControls()
{
    std::vector<CongestionAlgorithmInfo> infos;
    for (const auto& algorithm : ALGORITHMS)
    {
        infos.push_back({std::string(algorithm.name),
                         std::string(algorithm.summary),
                         std::string(algorithm.source),
                         std::string(algorithm.note)});
    }
    return infos;
}

bool
AddCongestionFamily(const CongestionFamily& family)
{
    Families().push_back(&family);
    return true;
}

bool
HasCongestionControl(std::string_view name)
{
    return FindAlgorithm(name) != nullptr || FindFamily(name) != nullptr;
}

bool
NeedsEcn(std::string_view name)
{
    CongestionParameters parameters;
    for (const auto& info : GetCongestionParameters(name))
    {
        if (!info.defaultValue)
        {
            parameters[info.name] = info.minimum;
        }
    }
    return MakeCongestionControl(name, parameters, 0)->NeedsEcn();
}

std::vector<CongestionParameterInfo>
GetCongestionParameters(std::string_view name)
{
    if (const Algorithm* algorithm = FindAlgorithm(name))
    {
        return algorithm->describe();
    }
    if (const CongestionFamily* family = FindFamily(name))
    {
        return family->Describe(name);
    }
    Refuse(DescribeUnknownName(name));
}

} // namespace tunnelcc
