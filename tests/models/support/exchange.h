/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXCHANGE_H
#define TUNNELCC_EXCHANGE_H

#include "support/simulation-test-case.h"
#include "support/tcp-specs.h"
#include "transport/endpoint.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

/**
 * \file
 * Scripted exchanges in the manner of packetdrill: two TCP endpoints over a wire that loses or
 * holds the packets it is told to, and writes down everything that is sent.
 */
namespace tunnelcc
{

/// A packet as it was put on the wire.
struct Transmission
{
    int64_t time;
    Packet packet;
    PacketExtras extras;
    bool isLost;

    /// Whether it is an ACK, or carries one.
    bool HasAck() const
    {
        return packet.kind == PacketKind::ACK || packet.hasAck;
    }

    /// \pre HasAck()
    Acknowledgement Ack() const
    {
        return Acknowledgement::Of(time, packet, &extras);
    }
};

/// One direction between two endpoints, as long as it is told.
class Wire final : public PacketSink
{
  public:
    explicit Wire(int64_t delay)
        : m_delay(delay)
    {
    }

    void SetSink(PacketSink& sink)
    {
        m_sink = &sink;
    }

    /// Be so long from now on; what is under way stays ahead. \pre not shorter than before
    void SetDelay(int64_t delay)
    {
        m_delay = delay;
    }

    /// Lose the next `times` transmissions of a data segment.
    void LoseSegment(uint32_t number, int times = 1)
    {
        m_segmentLosses[number] += times;
    }

    /// Lose the next `times` packets of a kind.
    void LoseNext(PacketKind kind, int times = 1)
    {
        m_kindLosses[kind] += times;
    }

    /// Deliver the next transmission of a data segment so much later, behind others.
    void HoldSegment(uint32_t number, int64_t time)
    {
        m_holds[number] = time;
    }

    /// Mark the next transmission of a data segment, if it may be marked.
    void MarkSegment(uint32_t number)
    {
        m_marks.insert(number);
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        const bool isLost = IsLost(packet);
        log.push_back({now, packet, extras ? *extras : PacketExtras{}, isLost});
        if (isLost)
        {
            return;
        }
        if (packet.kind == PacketKind::DATA && packet.isEct && m_marks.erase(packet.segment))
        {
            log.back().packet.isCe = true;
        }
        int64_t hold = 0;
        if (packet.kind == PacketKind::DATA && m_holds.count(packet.segment))
        {
            hold = m_holds[packet.segment];
            m_holds.erase(packet.segment);
        }
        ns3::Simulator::Schedule(
            ns3::NanoSeconds(m_delay + hold),
            [this, sent = log.back(), at = now + m_delay + hold] {
                m_sink->Receive(at, sent.packet, sent.packet.HasExtras() ? &sent.extras : nullptr);
            });
    }

    /**
     * What was sent of one kind from `begin` ns on, as "number@ms", space between. ACKs, those in
     * data packets as well, show the segment expected next and their SACK blocks, "4[6-8)"; a
     * D-SACK is "4[D2-3)".
     */
    std::string Show(PacketKind kind, int64_t begin = 0, int64_t end = INT64_MAX) const
    {
        const bool isOfAcks = kind == PacketKind::ACK;
        std::ostringstream text;
        for (const Transmission& sent : log)
        {
            const bool isShown = isOfAcks ? sent.HasAck() : sent.packet.kind == kind;
            if (!isShown || sent.time < begin || sent.time >= end)
            {
                continue;
            }
            text << (text.tellp() > 0 ? " " : "");
            if (kind == PacketKind::DATA)
            {
                text << sent.packet.segment;
            }
            else if (isOfAcks)
            {
                ShowAck(text, sent.Ack());
            }
            text << "@" << static_cast<double>(sent.time) / MS;
        }
        return text.str();
    }

    std::string Data(int64_t begin = 0, int64_t end = INT64_MAX) const
    {
        return Show(PacketKind::DATA, begin, end);
    }

    std::string Acks(int64_t begin = 0, int64_t end = INT64_MAX) const
    {
        return Show(PacketKind::ACK, begin, end);
    }

    /// Payload lengths of the data sent from `begin` ns on, space between.
    std::string Lengths(int64_t begin = 0) const
    {
        std::ostringstream text;
        for (const Transmission& sent : log)
        {
            if (sent.packet.kind == PacketKind::DATA && sent.time >= begin)
            {
                text << (text.tellp() > 0 ? " " : "") << sent.packet.length;
            }
        }
        return text.str();
    }

    std::vector<Transmission> log;

  private:
    static void ShowAck(std::ostringstream& text, const Acknowledgement& ack)
    {
        text << ack.number;
        for (uint32_t i = 0; i < ack.sackBlocks; ++i)
        {
            text << (i == 0 && ack.isDuplicate ? "[D" : "[") << ack.blocks->begin[i] << "-"
                 << ack.blocks->end[i] << ")";
        }
    }

    bool IsLost(const Packet& packet)
    {
        if (m_kindLosses[packet.kind] > 0)
        {
            --m_kindLosses[packet.kind];
            return true;
        }
        if (packet.kind == PacketKind::DATA && m_segmentLosses[packet.segment] > 0)
        {
            --m_segmentLosses[packet.segment];
            return true;
        }
        return false;
    }

    int64_t m_delay;
    PacketSink* m_sink{nullptr};
    std::map<PacketKind, int> m_kindLosses;
    std::map<uint32_t, int> m_segmentLosses;
    std::map<uint32_t, int64_t> m_holds;
    std::set<uint32_t> m_marks;
};

/// A congestion control that does what the script says, and notes what it is told.
class ScriptedControl final : public CongestionControl
{
  public:
    void Init(SenderState& state, int64_t) override
    {
        m_state = &state;
        windowAtInit = state.cwnd;
        state.cwnd = cwnd;
        state.pacingRate = pacingRate;
    }

    uint32_t GetSsThresh(SenderState&, int64_t now) override
    {
        reductions.push_back(now);
        return ssthresh;
    }

    void OnAck(SenderState&, const AckEvent& event, bool) override
    {
        events.push_back(event);
    }

    bool WantsLosses() const override
    {
        return true;
    }

    bool NeedsEcn() const override
    {
        return needsEcn;
    }

    void OnSegmentLost(SenderState&, const LostSegment& segment, int64_t) override
    {
        losses.push_back(segment);
    }

    void OnTransmitStart(SenderState&, int64_t now, int64_t) override
    {
        starts.push_back(now);
    }

    /// Set the window now.
    void SetCwnd(uint32_t segments)
    {
        m_state->cwnd = segments;
    }

    uint32_t windowAtInit{0}; //!< that the transport began with, segments
    uint32_t cwnd{10};
    uint32_t ssthresh{5};
    double pacingRate{0};
    bool needsEcn{false};
    std::vector<int64_t> reductions; //!< when the window was to be reduced, ns
    std::vector<AckEvent> events;
    std::vector<LostSegment> losses;
    std::vector<int64_t> starts; //!< transmissions while nothing was in flight, ns

  private:
    SenderState* m_state{nullptr};
};

/// One end: an endpoint, its congestion control, and its user, who reads at once unless told not
/// to.
class ExchangeHost final : public StreamUser
{
  public:
    explicit ExchangeHost(const TcpSpec& spec)
        : ExchangeHost(spec, std::make_unique<ScriptedControl>())
    {
    }

    void OnOpen(int64_t now) override
    {
        connectedTime = now;
    }

    void OnReadable(int64_t now) override
    {
        if (reads)
        {
            tcp.Read(now, tcp.Readable());
        }
        if (answers)
        {
            tcp.Write(now, answers);
        }
    }

    void OnWritable(int64_t now) override
    {
        writable.push_back(now);
    }

    const SenderState& State() const
    {
        return tcp.GetSender().State();
    }

    const TcpSpec spec;
    ScriptedControl& control;
    PathDirection direction;
    TcpEndpoint tcp;
    bool reads{true};
    uint64_t answers{0}; //!< bytes written whenever there is something to read
    int64_t connectedTime{-1};
    std::vector<int64_t> writable;

  private:
    ExchangeHost(const TcpSpec& settings, std::unique_ptr<ScriptedControl> scripted)
        : spec(settings),
          control(*scripted),
          direction(TestLoop()),
          tcp(TestLoop(), spec, Channel(direction, 0), std::move(scripted))
    {
        tcp.SetUser(this);
    }
};

/// A client and a server, and the wires between them.
class Exchange
{
  public:
    explicit Exchange(int64_t rtt = 100 * MS,
                      const TcpSpec& clientSpec = Spec(),
                      const TcpSpec& serverSpec = Spec())
        : client(clientSpec),
          server(serverSpec),
          toServer(rtt / 2),
          toClient(rtt / 2)
    {
        client.tcp.SetPeer(toServer);
        server.tcp.SetPeer(toClient);
        toServer.SetSink(server.tcp);
        toClient.SetSink(client.tcp);
    }

    /// Buffers of a MiB, each segment sent by itself, and otherwise the defaults.
    static TcpSpec Spec()
    {
        TcpSpec spec = MakeTcpSpec();
        spec.receiveWindow = 1 << 20;
        spec.sendBuffer = 1 << 20;
        spec.pacingQuantum = 0;
        return spec;
    }

    /// Open the connection at 0 ms.
    void Connect()
    {
        client.tcp.Connect(0);
    }

    /// The client writes so many full segments at `time` ns.
    void WriteSegments(int64_t time, uint64_t segments)
    {
        Write(time, segments * 1'448);
    }

    void Write(int64_t time, uint64_t bytes)
    {
        RunUntil(time);
        client.tcp.Write(time, bytes);
    }

    static void RunUntil(int64_t time)
    {
        ns3::Simulator::Stop(ns3::NanoSeconds(time) - ns3::Simulator::Now());
        ns3::Simulator::Run();
    }

    ExchangeHost client;
    ExchangeHost server;
    Wire toServer;
    Wire toClient;
};

} // namespace tunnelcc

#endif // TUNNELCC_EXCHANGE_H
