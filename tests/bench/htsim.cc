/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The benchmark's cases on htsim (csg-htsim), a simulator of data centres that is known to be fast:
 * bulk flows of its TCP, which is NewReno without SACK and acknowledges each segment, over a
 * drop-tail queue and two pipes. `htsim.sh` builds it.
 *
 * Slow start ends where the path and its buffer are full: without SACK, what it overshoots takes
 * a round trip for each segment lost.
 *
 * Prints one JSON object, as stock-ns3 does.
 */
#include "clock.h"
#include "config.h"
#include "eventlist.h"
#include "measured-run.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "randomqueue.h"
#include "tcp.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

constexpr int IP_PACKET = 1500; // bytes, which htsim takes for payload

/// Numbers of the command line: --name=value.
std::map<std::string, double>
Options(int argc, char** argv)
{
    std::map<std::string, double> options{{"flows", 1},
                                          {"rate", 100e6},
                                          {"rtt", 0.1},
                                          {"loss", 0},
                                          {"buffer", 833},
                                          {"duration", 10},
                                          {"cpu-limit", 60}};
    for (int i = 1; i < argc; ++i)
    {
        const std::string argument = argv[i];
        const size_t equals = argument.find('=');
        if (argument.rfind("--", 0) != 0 || equals == std::string::npos)
        {
            std::cerr << "expected --name=value instead of " << argument << "\n";
            std::exit(2);
        }
        options[argument.substr(2, equals - 2)] = std::stod(argument.substr(equals + 1));
    }
    return options;
}

} // namespace

int
main(int argc, char** argv)
{
    auto option = Options(argc, argv);
    const auto flows = static_cast<unsigned>(option["flows"]);
    const double rate = option["rate"];
    const auto packets = static_cast<unsigned>(option["buffer"]);

    std::srand(1);
    Packet::set_packet_size(IP_PACKET);
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(timeFromSec(option["duration"]));

    RandomQueue queue(static_cast<linkspeed_bps>(rate), memFromPkt(packets), events, nullptr, 0);
    queue.set_packet_loss_rate(option["loss"]);
    Pipe there(timeFromSec(option["rtt"] / 2), events);
    Pipe back(timeFromSec(option["rtt"] / 2), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    const double share = rate * option["rtt"] / 8 / flows + 1.0 * packets * IP_PACKET / flows;
    std::vector<std::unique_ptr<TcpSrc>> sources;
    std::vector<std::unique_ptr<TcpSink>> sinks;
    std::vector<std::unique_ptr<Route>> routes;
    for (unsigned i = 0; i < flows; ++i)
    {
        auto& source = *sources.emplace_back(new TcpSrc(nullptr, nullptr, events));
        auto& sink = *sinks.emplace_back(new TcpSink());
        auto& data = *routes.emplace_back(new Route());
        auto& acks = *routes.emplace_back(new Route());
        for (PacketSink* step : {static_cast<PacketSink*>(&queue),
                                 static_cast<PacketSink*>(&there),
                                 static_cast<PacketSink*>(&sink)})
        {
            data.push_back(step);
        }
        acks.push_back(&back);
        acks.push_back(&source);
        source.set_ssthresh(static_cast<uint64_t>(share));
        timers.registerTcp(source);
        source.connect(data, acks, sink, timeFromMs(10.0 * i / flows));
    }

    const double before = CpuSeconds();
    uint64_t count = 0;
    bool isTimedOut = false;
    while (!isTimedOut && EventList::doNextEvent())
    {
        isTimedOut = ++count % 65536 == 0 && CpuSeconds() - before > option["cpu-limit"];
    }
    const double cpu = CpuSeconds() - before;

    uint64_t arrived = 0;
    uint64_t read = 0;
    for (const auto& sink : sinks)
    {
        arrived += sink->_packets / IP_PACKET;
        read += sink->_cumulative_ack;
    }
    const double simulated = timeAsSec(EventList::now());
    MeasuredRun{isTimedOut, simulated, cpu, arrived, 8 * read / simulated, count}.Print();
    std::_Exit(0); // its destructors expect the simulation to have ended
}
