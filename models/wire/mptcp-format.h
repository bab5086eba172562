/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MPTCP_FORMAT_H
#define TUNNELCC_MPTCP_FORMAT_H

#include "multipath/handshake-options.h"
#include "multipath/mapping-log.h"
#include "packet-image.h"
#include "sha256.h"
#include "spec/end.h"
#include "spec/multipath-spec.h"
#include "stream-contents.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace tunnelcc
{

class TcpFormat;

constexpr uint8_t NO_OPERATION = 1; //!< an option of TCP that fills up (RFC 9293, section 3.2)

/// One end of an MPTCP connection (RFC 8684): what all its subflows tell of it.
struct MptcpFormat
{
    /// \param drawn its key, from which its token and first sequence number follow (section 3.2)
    explicit MptcpFormat(uint64_t drawn)
        : key(drawn),
          hash(Sha256(drawn))
    {
    }

    uint32_t Token() const
    {
        return hash[0];
    }

    /// Data sequence number of a byte of the stream that the end sends.
    uint64_t SequenceOf(uint64_t place) const
    {
        return ((uint64_t{hash[6]} << 32) | hash[7]) + 1 + place;
    }

    const uint64_t key;
    const std::array<uint32_t, 8> hash;
    uint64_t end{0};         //!< of that stream, as far as subflows have it
    StreamContents contents; //!< of that stream
};

/**
 * What one end of a subflow writes in its options, as Linux 7.3 does (net/mptcp/options.c,
 * mptcp_write_options()): MP_CAPABLE or MP_JOIN, then DSS with data ACKs of 64 bits, and of 32 bits
 * beside a mapping unless TcpSpec::mappingBytes has more. A segment tells the mapping of its own
 * bytes. (In Linux, it is that of all bytes that were given to the subflow together.) Nonces and
 * HMACs are filler.
 *
 * The models have no DATA_FIN of its own; here it is on the FIN of each subflow.
 */
class SubflowFormat final : public MappingWatcher
{
  public:
    /// What a packet tells besides itself.
    struct Told
    {
        uint64_t offset;  //!< DATA: of its first byte in the subflow's stream
        uint64_t dataAck; //!< bytes of the connection's stream that came in order
        uint32_t mapping; //!< as of TcpSpec::mappingBytes
    };

    /// \param self,peer ends of the connection \param path what it is \param number of it, from 0
    SubflowFormat(MptcpFormat& self,
                  const MptcpFormat& peer,
                  const SubflowSpec& path,
                  uint8_t number,
                  bool isClient)
        : m_self(self),
          m_peer(peer),
          m_path(path),
          m_number(number),
          m_isClient(isClient)
    {
    }

    void OnWriting(const Mapping& most) override;
    void OnTaken(uint64_t bytes) override;

    /// As HandshakeOptionBytes().
    uint32_t HandshakeBytes(const Packet& packet) const
    {
        return HandshakeOptionBytes(packet, m_isClient, m_number > 0);
    }

    /// The other end has acknowledged all before. \param offset in the subflow's stream
    void OnAcked(uint64_t offset);

    void WriteOptions(const Packet& packet, const Told& told, std::vector<uint8_t>& bytes) const;

    /// As StreamContents::Write(). \param offset in the subflow's stream
    void WriteContents(uint64_t offset, uint32_t length, PacketImage& image) const;

  private:
    /// Bytes that follow each other in both streams, and where they begin in the subflow's.
    struct Part
    {
        uint64_t offset;
        Mapping mapping;
    };

    /// Where a byte is in the connection's stream. \param offset in the subflow's
    uint64_t PlaceOf(uint64_t offset) const;
    void WriteCapable(const Packet& packet, const Told& told, std::vector<uint8_t>& bytes) const;
    void WriteJoin(const Packet& packet, std::vector<uint8_t>& bytes) const;
    void WriteSequence(const Packet& packet, const Told& told, std::vector<uint8_t>& bytes) const;

    MptcpFormat& m_self;
    const MptcpFormat& m_peer;
    const SubflowSpec m_path;
    const uint8_t m_number;
    const bool m_isClient;
    std::deque<Part> m_mappings;
    uint64_t m_written{0};   //!< bytes of the subflow's stream
    uint64_t m_announced{0}; //!< bytes that are about to be written, at most
};

/// Both ends of a connection of MPTCP, and of its subflows.
class MptcpConnectionFormat
{
  public:
    /**
     * \param keys drawn, of each end
     * \param paths,subflows one for each path, by the end that sends; what they write is MPTCP's
     * \param mappings that each end sends there; outlive this
     */
    MptcpConnectionFormat(const PerEnd<uint64_t>& keys,
                          const std::vector<SubflowSpec>& paths,
                          const std::vector<PerEnd<TcpFormat*>>& subflows,
                          std::deque<PerEnd<MappingLog>>& mappings);

    MptcpConnectionFormat(const MptcpConnectionFormat&) = delete;
    MptcpConnectionFormat& operator=(const MptcpConnectionFormat&) = delete;

    /// What its streams hold, by the end that sends.
    PerEnd<StreamContents*> Contents()
    {
        return {&m_ends.client.contents, &m_ends.server.contents};
    }

  private:
    PerEnd<MptcpFormat> m_ends;
    std::deque<SubflowFormat> m_subflows;
};

} // namespace tunnelcc

#endif // TUNNELCC_MPTCP_FORMAT_H
