/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_MTU_H
#define TUNNELCC_PATH_MTU_H

#include "event/fifo.h"
#include "packet-device.h"
#include "path.h"
#include "spec/path-spec.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

/**
 * \file
 * Links with an MTU that their senders do not know: routers that fragment a packet, or drop it and
 * tell, or do not tell; and what a sender's host learns from that. A path without such a link has
 * none of these objects.
 */
namespace tunnelcc
{

/// How a packet was divided.
struct Division
{
    std::vector<uint32_t> sizes; //!< IP bytes of the pieces; all but the last are equal
    uint32_t headers;            //!< IP bytes of each that are headers
    PacketKind kind;             //!< of the pieces: FRAGMENT of IP; DATAGRAM: segments of TCP
};

/**
 * The fragments of a packet: as large as fits, in units of 8 bytes (RFC 791, section
 * 3.2), and a fragment header in each of IPv6 (RFC 8200, section 4.5).
 * \param ipBytes of the packet
 * \param mtu of the link
 * \param ipHeader bytes of a plain header
 */
Division Fragment(uint32_t ipBytes, uint32_t mtu, uint32_t ipHeader);

/// A packet that was divided.
struct DividedPacket
{
    Packet packet;
    PacketExtras extras;
    uint32_t headers; //!< as of Division
    uint32_t first;   //!< IP bytes of its first piece
    uint32_t count;   //!< of pieces
    uint32_t missing; //!< of these
    int64_t sentTime; //!< ns
};

/// Receives pieces of packets.
class PieceSink : public PacketSink
{
  public:
    /// The packet that a piece belongs to; null: it is no piece, or was given up.
    virtual const DividedPacket* WholeOf(const Packet& packet) const = 0;
};

/**
 * Packets that cross the path in several pieces: fragments of IP, or segments of TCP that were
 * split. The packet arrives once all its pieces have. What lacks a piece for 30 s is given up
 * (Linux sysctl ipfrag_time).
 *
 * Pieces have the number of their packet in Packet::segment, and their place in Packet::tsVal.
 */
class Pieces final : public PieceSink
{
  public:
    /// \param delay that a packet waits once it is whole, ns
    explicit Pieces(EventLoop& loop, int64_t delay = 0)
        : m_line(loop, delay)
    {
    }

    /**
     * Send a packet in pieces.
     * \param packet,extras as of Channel::Send()
     * \param out where the pieces go
     * \param exit whom they are for; null: this
     */
    void Send(int64_t now,
              const Packet& packet,
              const PacketExtras* extras,
              const Division& division,
              Channel& out,
              PacketSink* exit = nullptr);

    EventLoop& Loop() const
    {
        return m_line.Loop();
    }

    /// A piece arrives.
    void Receive(int64_t now, const Packet& piece, const PacketExtras* extras) override;

    const DividedPacket* WholeOf(const Packet& piece) const override
    {
        const uint32_t index = piece.segment - m_first;
        return index < m_wholes.Size() ? &m_wholes[index] : nullptr;
    }

  private:
    static constexpr int64_t PATIENCE = 30'000'000'000; //!< ns

    Fifo<DividedPacket> m_wholes;
    uint32_t m_first{0}; //!< number of the first of them, modulo 2^32
    DelayLine m_line;
};

/// Told that packets of its host are too large for the path.
class MtuListener
{
  public:
    virtual ~MtuListener() = default;

    /// \param mtu of the link that they did not fit into, IP bytes
    virtual void OnPathMtu(int64_t now, uint32_t mtu) = 0;
};

class MtuSource;

/**
 * What a host knows of the MTU of its way to another host. All its sockets know it, those that are
 * opened later, too (Linux: an exception of the route, update_or_create_fnhe()). Left out: that it
 * is forgotten after ten minutes (sysctl ip_rt_mtu_expires), and that others learn of it with their
 * next packet.
 */
class RouteMtu
{
  public:
    void Add(MtuSource& source)
    {
        m_sources.push_back(&source);
    }

    /// A router's message has arrived. \param source whose packet it is about
    void OnMessage(int64_t now, uint32_t mtu, MtuSource& source);

  private:
    std::vector<MtuSource*> m_sources;
    uint32_t m_mtu{UINT32_MAX}; //!< IP bytes
};

/// What a host knows of the MTU of a way that one of its senders uses, and what it does about
/// packets that are larger: splits segments of TCP, fragments datagrams, or lets them go.
class MtuSource final : public PacketDevice, public MtuListener
{
  public:
    /// \param ipHeader as of Fragment()
    MtuSource(EventLoop& loop, uint32_t ipHeader)
        : m_ipHeader(ipHeader),
          m_pieces(loop)
    {
    }

    EventLoop& Loop() const
    {
        return m_pieces.Loop();
    }

    /// Set the way. Call it once, before anything is sent.
    void SetOnward(const Channel& onward)
    {
        m_onward.emplace(onward);
    }

    /// Share what the host learns with its other senders. Call it once, before anything is sent.
    void Share(RouteMtu& route)
    {
        m_route = &route;
        route.Add(*this);
    }

    /// MTU that the host knows of, IP bytes; UINT32_MAX: of none.
    uint32_t KnownMtu() const
    {
        return m_known;
    }

    uint32_t IpHeader() const
    {
        return m_ipHeader;
    }

    /// Say whether routers may fragment what is sent.
    void SetDontFragment(DontFragment flag)
    {
        m_flag = flag;
    }

    DontFragment Flag() const
    {
        return m_flag;
    }

    /// The sender is TCP, which splits its segments itself. \param headers IP bytes around a
    /// segment's payload
    void BelongTo(MtuListener& sender, uint32_t headers)
    {
        m_sender = &sender;
        m_headers = headers;
        m_flag = DontFragment::SET;
    }

    /// From now on, segments of TCP are split into pieces of this payload, bytes.
    void SetMss(uint32_t mss)
    {
        m_limit = mss + m_headers;
    }

    /// The next packet is a probe, however large.
    void LetPass()
    {
        m_passes = true;
    }

    /// Tell senders inside a tunnel, too. \param outer as of Inside
    void AddInside(MtuSource& source, const std::vector<std::vector<uint32_t>>& outer)
    {
        m_inside.push_back({source, outer});
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

    MtuSource* GetMtuSource() override
    {
        return this;
    }

    /// A router's message about a packet of this sender has arrived.
    void OnMessage(int64_t now, uint32_t mtu)
    {
        m_route ? m_route->OnMessage(now, mtu, *this) : OnPathMtu(now, mtu);
    }

    /// The host has learned of an MTU.
    void OnPathMtu(int64_t now, uint32_t mtu) override;

  private:
    /// Senders whose packets a tunnel carries.
    struct Inside
    {
        MtuSource& source;
        const std::vector<std::vector<uint32_t>>& outer; //!< IP bytes by those of the inner packet
    };

    /// Stands in front of a sender of TCP's receiver, which takes no pieces.
    class Exit final : public PieceSink
    {
      public:
        explicit Exit(MtuSource& source)
            : m_source(source)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

        const PacketSink* StandsFor() const override
        {
            return m_source.m_receiver;
        }

        const DividedPacket* WholeOf(const Packet& packet) const override
        {
            return packet.kind == PacketKind::DATAGRAM ? m_source.m_pieces.WholeOf(packet)
                                                       : nullptr;
        }

      private:
        MtuSource& m_source;
    };

    std::optional<Channel> m_onward;
    RouteMtu* m_route{nullptr};
    uint32_t m_known{UINT32_MAX};    //!< MTU, IP bytes
    PacketSink* m_receiver{nullptr}; //!< of a sender of TCP
    Exit m_exit{*this};
    const uint32_t m_ipHeader;
    DontFragment m_flag{DontFragment::WANTED};
    MtuListener* m_sender{nullptr}; //!< if it is TCP
    uint32_t m_headers{0};
    uint32_t m_limit{UINT32_MAX}; //!< larger packets are split, IP bytes
    bool m_passes{false};
    std::vector<Inside> m_inside;
    Pieces m_pieces;
};

/// A router's message that a packet was too big, on its way back to the sender (ICMP: RFC 1191,
/// RFC 4443 section 3.2).
class MtuMessages final : public PacketSink
{
  public:
    /// A packet that was too big.
    struct Quoted
    {
        Packet packet;
        PacketExtras extras;
        uint32_t ipBytes;
    };

    /// \param source to be told  \param spec of the link
    MtuMessages(MtuSource& source, const LinkMtuSpec& spec)
        : m_source(source),
          m_spec(spec)
    {
    }

    /// Set the way from the router to the sender. Call it once, before anything is sent.
    void SetBack(const Channel& back)
    {
        m_back.emplace(back);
    }

    /// Send a message about a packet. \param ipBytes,extras as of Channel::Send()
    void Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras);

    const LinkMtuSpec& Spec() const
    {
        return m_spec;
    }

    /// What a message is about; null: it is long ago. \param message as it was sent
    const Quoted* About(const Packet& message) const
    {
        const uint32_t age = m_sent - message.segment;
        return age > 0 && age <= m_quoted.size() ? &m_quoted[message.segment % m_quoted.size()]
                                                 : nullptr;
    }

    void Receive(int64_t now, const Packet& /* packet */, const PacketExtras* /* extras */) override
    {
        m_source.OnMessage(now, m_spec.mtu);
    }

  private:
    std::optional<Channel> m_back;
    MtuSource& m_source;
    const LinkMtuSpec m_spec;
    uint32_t m_sent{0};
    std::array<Quoted, 64> m_quoted{}; //!< of the latest messages
};

/// The router in front of a link whose MTU one of its senders does not know.
class MtuGate final : public PacketDevice
{
  public:
    /**
     * \param spec of the link
     * \param onward into it
     * \param link counts what happens
     * \param source what the sender's host knows
     * \param messages to its sender; null: there are none
     */
    MtuGate(const LinkMtuSpec& spec,
            const Channel& onward,
            Bottleneck& link,
            MtuSource& source,
            MtuMessages* messages);

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

  private:
    bool MayFragment(const Packet& packet) const;

    const LinkMtuSpec m_spec;
    const uint32_t m_mtu;
    Channel m_onward;
    MtuCounts& m_counts;
    MtuSource& m_source;
    MtuMessages* const m_messages;
    Pieces m_pieces;
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_MTU_H
