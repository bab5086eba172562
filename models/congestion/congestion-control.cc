/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-control.h"

#include "congestion/bbr.h"
#include "congestion/bbr3/bbr3.h"
#include "congestion/brutal.h"
#include "congestion/congestion-parameters.h"
#include "congestion/congestion-registry.h"
#include "congestion/cubic.h"
#include "congestion/ns3-adapter.h"
#include "congestion/ns3-attributes.h"
#include "congestion/pcc-allegro.h"
#include "congestion/pcc-vivace.h"
#include "congestion/qvegas.h"
#include "congestion/reno.h"
#include "congestion/unlimited.h"
#include "congestion/vegas.h"
#include "congestion/westwood.h"
#include "congestion/zeta-like.h"

#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

/**
 * \file
 * The algorithms by name: one row of a table each, and every ns-3 TypeId through the adapter.
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
    std::unique_ptr<CongestionControl> (*make)(const CongestionParameters& parameters,
                                               int64_t stream);
    std::vector<CongestionParameterInfo> (*describe)();
    std::string_view note{}; //!< stands beside the name wherever that is shown
};

std::unique_ptr<CongestionControl>
MakeBbr(const CongestionParameters& parameters, int64_t stream)
{
    return std::make_unique<Bbr>(ParseParameters("bbr", Bbr::GetParameterTable(), parameters),
                                 stream);
}

std::unique_ptr<CongestionControl>
MakeBbr3(const CongestionParameters& parameters, int64_t stream)
{
    return std::make_unique<Bbr3>(ParseParameters("bbr3", GetBbr3ParameterTable(), parameters),
                                  stream);
}

std::unique_ptr<CongestionControl>
MakeBrutal(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Brutal>(
        ParseParameters("brutal", Brutal::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakeCubic(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Cubic>(
        ParseParameters("cubic", Cubic::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakePccAllegro(const CongestionParameters& parameters, int64_t stream)
{
    return std::make_unique<PccAllegro>(
        ParseParameters("pcc", PccAllegro::GetParameterTable(), parameters),
        stream);
}

std::unique_ptr<CongestionControl>
MakeQVegas(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<QVegas>(
        ParseParameters("qvegas", QVegas::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakeReno(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Reno>(ParseParameters("reno", Reno::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakeUnlimited(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Unlimited>(
        ParseParameters("unlimited", Unlimited::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakeVegas(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Vegas>(
        ParseParameters("vegas", Vegas::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakePccVivace(const CongestionParameters& parameters, int64_t stream)
{
    return std::make_unique<PccVivace>(
        ParseParameters("vivace", PccVivace::GetParameterTable(), parameters),
        stream);
}

std::unique_ptr<CongestionControl>
MakeWestwood(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<Westwood>(
        ParseParameters("westwood", Westwood::GetParameterTable(), parameters));
}

std::unique_ptr<CongestionControl>
MakeZetaLike(const CongestionParameters& parameters, int64_t /* stream */)
{
    return std::make_unique<ZetaLike>(
        ParseParameters("zeta-like", ZetaLike::GetParameterTable(), parameters));
}

const std::array ALGORITHMS{
    Algorithm{"bbr",
              "BBRv1: paces at the measured bandwidth, sizes its window by the least RTT",
              "Linux 5.10-6.18 tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00",
              MakeBbr,
              [] { return DescribeParameters(Bbr::GetParameterTable()); }},
    Algorithm{"bbr3",
              "BBRv3: as BBRv1, but losses limit its rate and the data in flight",
              "draft-ietf-ccwg-bbr (August 2026); Google's Linux v3 branch, tcp_bbr.c",
              MakeBbr3,
              [] { return DescribeParameters(GetBbr3ParameterTable()); }},
    Algorithm{"brutal",
              "TCP Brutal: sends at a fixed rate, and sends more to make up for losses",
              "apernet/tcp-brutal 204aeea, brutal.c",
              MakeBrutal,
              [] { return DescribeParameters(Brutal::GetParameterTable()); }},
    Algorithm{"cubic",
              "CUBIC with HyStart: the window is a cubic function of the time since the last loss",
              "RFC 9438; Linux 5.10-6.18 tcp_cubic.c",
              MakeCubic,
              [] { return DescribeParameters(Cubic::GetParameterTable()); }},
    Algorithm{"pcc",
              "PCC Allegro: tries rates and keeps the best; tolerates up to 5 % of loss",
              "PCCproject/PCC-Kernel 2eeadf0, tcp_pcc.c; Dong et al., NSDI 2015",
              MakePccAllegro,
              [] { return DescribeParameters(PccAllegro::GetParameterTable()); }},
    Algorithm{"qvegas",
              "QVegas: Vegas that restores its window after each recovery from losses",
              "marywangran/qvegas a767fe0, tcp_qvegas.c",
              MakeQVegas,
              [] { return DescribeParameters(QVegas::GetParameterTable()); }},
    Algorithm{"reno",
              "NewReno: adds a segment per round trip, halves its window after a loss",
              "RFC 5681, RFC 6582; Linux 5.10-6.18 tcp_cong.c",
              MakeReno,
              [] { return DescribeParameters(Reno::GetParameterTable()); }},
    Algorithm{"unlimited",
              "CUBIC with a window that never limits it, as in giltu/KernelPCC (which is not PCC)",
              "giltu/KernelPCC a19a4ec, tcp_TA.c",
              MakeUnlimited,
              [] { return DescribeParameters(Unlimited::GetParameterTable()); }},
    Algorithm{"vegas",
              "Vegas: watches the delay and keeps a few segments in the queue",
              "Brakmo et al., SIGCOMM 1994; Linux 5.10-6.18 tcp_vegas.c",
              MakeVegas,
              [] { return DescribeParameters(Vegas::GetParameterTable()); }},
    Algorithm{"vivace",
              "PCC Vivace: changes its rate along the gradient of a utility of rate, RTT and loss",
              "PCCproject/PCC-Kernel ed39d0f (branch vivace), tcp_pcc.c; Dong et al., NSDI 2018",
              MakePccVivace,
              [] { return DescribeParameters(PccVivace::GetParameterTable()); }},
    Algorithm{"westwood",
              "Westwood+: as Reno, but a loss sets the window to bandwidth times least RTT",
              "Grieco and Mascolo, CCR 2004; Linux 5.10-6.18 tcp_westwood.c",
              MakeWestwood,
              [] { return DescribeParameters(Westwood::GetParameterTable()); }},
    Algorithm{"zeta-like",
              "An illustration of ZetaTCP, not the product: slows down at signs of delay and loss",
              "none: no formula is published, the constants are choices of this project",
              MakeZetaLike,
              [] { return DescribeParameters(ZetaLike::GetParameterTable()); },
              "not the product"},
};

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
    for (const auto& typeId : ListNs3CongestionOps())
    {
        message += " " + typeId + ",";
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
        return algorithm->make(parameters, stream);
    }
    if (HasNs3CongestionOps(name))
    {
        return std::make_unique<Ns3Adapter>(name, parameters, stream);
    }
    throw std::invalid_argument(DescribeUnknownName(name));
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

std::vector<std::string>
ListNs3CongestionControls()
{
    return ListNs3CongestionOps();
}

bool
HasCongestionControl(std::string_view name)
{
    return FindAlgorithm(name) != nullptr || HasNs3CongestionOps(name);
}

std::vector<CongestionParameterInfo>
GetCongestionParameters(std::string_view name)
{
    if (const Algorithm* algorithm = FindAlgorithm(name))
    {
        return algorithm->describe();
    }
    if (HasNs3CongestionOps(name))
    {
        return DescribeNs3Attributes(name);
    }
    throw std::invalid_argument(DescribeUnknownName(name));
}

std::string
FormatParameterValue(double value)
{
    std::ostringstream stream;
    stream << value;
    return stream.str();
}

std::string
DescribeUnknownParameter(std::string_view algorithm,
                         std::string_view parameter,
                         const std::vector<CongestionParameterInfo>& known)
{
    std::string message =
        std::string(algorithm) + " has no parameter '" + std::string(parameter) + "'; ";
    if (known.empty())
    {
        return message + "it has none";
    }
    message += "it has";
    for (const auto& info : known)
    {
        message += " " + info.name + ",";
    }
    message.pop_back();
    return message;
}

std::string
DescribeMissingParameter(std::string_view algorithm, const CongestionParameterInfo& info)
{
    return std::string(algorithm) + ": parameter '" + info.name + "' is missing; it is " +
           info.doc + " (" + info.unit + "), from " + FormatParameterValue(info.minimum) + " to " +
           FormatParameterValue(info.maximum);
}

void
CheckParameterRange(std::string_view algorithm, const CongestionParameterInfo& info, double value)
{
    const bool isCount = info.unit == "bool" || info.unit == "integer" || info.unit == "rounds" ||
                         info.unit == "segments" || info.unit == "samples";
    if (value >= info.minimum && value <= info.maximum && (!isCount || value == std::floor(value)))
    {
        return;
    }
    const std::string expected = info.unit == "bool"
                                     ? "0 or 1"
                                     : std::string(isCount ? "a whole number " : "") + "from " +
                                           FormatParameterValue(info.minimum) + " to " +
                                           FormatParameterValue(info.maximum);
    throw std::invalid_argument(std::string(algorithm) + ": parameter '" + info.name +
                                "' = " + FormatParameterValue(value) + " must be " + expected);
}

} // namespace tunnelcc
