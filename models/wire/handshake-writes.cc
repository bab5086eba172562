/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The handshakes of carriers over TCP, as long as the models have them: WebSocket over HTTP, TLS
 * 1.3, SSH. Keys, certificates, signatures and everything encrypted are filler.
 */
#include "carrier-contents.h"

#include <string>
#include <string_view>

namespace tunnelcc
{

namespace
{

using Bytes = std::vector<uint8_t>;

Written
Whole(Bytes bytes, uint32_t size)
{
    bytes.resize(std::min<size_t>(bytes.size(), size));
    Written write{size, {}};
    write.known.push_back({0, std::move(bytes)});
    return write;
}

// WebSocket (RFC 6455, section 4) -----------------------------------------------------------------

/// Lines of HTTP that are `size` bytes together: a field of filler makes up what they lack.
Bytes
Http(std::string lines, uint32_t size)
{
    constexpr std::string_view FIELD = "X-Filler: ";
    constexpr std::string_view END = "\r\n";
    const size_t least = lines.size() + FIELD.size() + 2 * END.size();
    if (size >= least)
    {
        lines.append(FIELD).append(size - least, 'x').append(END);
    }
    lines.append(END);
    return {lines.begin(), lines.end()};
}

Bytes
Upgrade(End end, uint32_t size)
{
    return end == End::CLIENT ? Http("GET / HTTP/1.1\r\nHost: server\r\nUpgrade: websocket\r\n"
                                     "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                     "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==\r\n",
                                     size)
                              : Http("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                     "Connection: Upgrade\r\n",
                                     size);
}

// TLS 1.3 (RFC 8446) ------------------------------------------------------------------------------

constexpr uint8_t TLS_CHANGE_CIPHER_SPEC = 20;
constexpr uint8_t TLS_HANDSHAKE = 22;
constexpr uint8_t TLS_APPLICATION_DATA = 23;
constexpr uint32_t TLS_RECORD_HEADER = 5;
constexpr uint16_t X25519 = 0x001d;
constexpr uint16_t X25519_MLKEM768 = 0x11ec; // draft-ietf-tls-ecdhe-mlkem

void
AddRecord(Bytes& bytes, uint8_t type, uint32_t payload)
{
    ByteWriter(bytes).U8(type).U16(0x0303).U16(payload);
}

void
AddChangeCipherSpec(Bytes& bytes)
{
    AddRecord(bytes, TLS_CHANGE_CIPHER_SPEC, 1);
    ByteWriter(bytes).U8(1);
}

/// A hello in a record: what both have before the extensions. \param size of the record
void
BeginHello(Bytes& bytes, uint8_t type, uint32_t size)
{
    const uint32_t message = size - TLS_RECORD_HEADER;
    AddRecord(bytes, TLS_HANDSHAKE, message);
    ByteWriter(bytes).U8(type).U24(message - 4).U16(0x0303).Fill(32, 0x11).U8(32).Fill(32, 0x22);
}

/// A ClientHello that fills a record, by padding (RFC 7685).
Bytes
ClientHello(uint32_t size)
{
    const bool isHybrid = size > 1400; // its key share has 1216 bytes
    const uint16_t group = isHybrid ? X25519_MLKEM768 : X25519;
    const uint32_t share = isHybrid ? 1216 : 32;
    Bytes bytes;
    BeginHello(bytes, 1, size);
    const auto extensions = static_cast<uint32_t>(bytes.size()) + 2 + 6 + 2 + 2;
    ByteWriter writer(bytes);
    writer.U16(6).U16(0x1301).U16(0x1302).U16(0x1303).U8(1).U8(0).U16(size - extensions);
    writer.U16(10).U16(4).U16(2).U16(group);                            // supported_groups
    writer.U16(13).U16(4).U16(2).U16(0x0403);                           // signature_algorithms
    writer.U16(43).U16(3).U8(2).U16(0x0304);                            // supported_versions
    writer.U16(51).U16(share + 6).U16(share + 4).U16(group).U16(share); // key_share
    writer.Fill(share, 0x33);
    writer.U16(21).U16(size - bytes.size() - 2).Fill(size - bytes.size()); // padding
    return bytes;
}

/// A server's flight up to Finished: ServerHello, and the rest in one encrypted record.
Bytes
ServerFlight(uint32_t size)
{
    const bool isHybrid = size > 1400; // its key share has 1120 bytes
    const uint32_t share = isHybrid ? 1120 : 32;
    const uint32_t hello = TLS_RECORD_HEADER + 4 + 2 + 32 + 33 + 3 + 2 + 6 + 8 + share;
    Bytes bytes;
    BeginHello(bytes, 2, hello);
    ByteWriter writer(bytes);
    writer.U16(0x1301).U8(0).U16(6 + 8 + share);
    writer.U16(43).U16(2).U16(0x0304);
    writer.U16(51).U16(share + 4).U16(isHybrid ? X25519_MLKEM768 : X25519).U16(share);
    writer.Fill(share, 0x33);
    AddChangeCipherSpec(bytes);
    AddRecord(bytes,
              TLS_APPLICATION_DATA,
              size - static_cast<uint32_t>(bytes.size()) - TLS_RECORD_HEADER);
    return bytes;
}

/// Writes of an end in turn; those before its hello are not of TLS.
class TlsHandshake
{
  public:
    explicit TlsHandshake(End end)
        : m_end(end)
    {
    }

    Bytes Next(uint32_t size)
    {
        constexpr uint32_t LEAST_HELLO = 200;
        constexpr uint32_t CHANGE_CIPHER_SPEC_BYTES = 6;
        if (!m_hasHello)
        {
            m_hasHello = size >= LEAST_HELLO;
            return !m_hasHello            ? Socks(size)
                   : m_end == End::CLIENT ? ClientHello(size)
                                          : ServerFlight(size);
        }
        Bytes bytes;
        if (m_end == End::CLIENT && !std::exchange(m_hasFinished, true))
        {
            AddChangeCipherSpec(bytes);
            size -= CHANGE_CIPHER_SPEC_BYTES;
        }
        AddRecord(bytes, TLS_APPLICATION_DATA, size - TLS_RECORD_HEADER);
        return bytes;
    }

  private:
    /// SOCKS5's choice of a method (RFC 1928, section 3), of which GOST's 0x80 begins TLS.
    Bytes Socks(uint32_t size) const
    {
        return size == 4 ? Bytes{5, 2, 0, 0x80} : size == 2 ? Bytes{5, 0x80} : Bytes{};
    }

    const End m_end;
    bool m_hasHello{false};
    bool m_hasFinished{false};
};

// SSH (RFC 4253) ----------------------------------------------------------------------------------

constexpr uint32_t SSH_LENGTH = 4;
constexpr uint32_t SSH_NEWKEYS_BYTES = 16;

/// A packet that is not encrypted, with the least padding that fits. \param size of all of it
void
AddSshPacket(Bytes& bytes, uint8_t message, uint32_t size, const Bytes& payload = {})
{
    constexpr uint32_t LEAST_PADDING = 4;
    ByteWriter(bytes).U32(size - SSH_LENGTH).U8(LEAST_PADDING).U8(message).Bytes(payload);
    bytes.resize(bytes.size() + size - SSH_LENGTH - 2 - payload.size());
}

Bytes
KexInit(uint32_t size)
{
    constexpr std::string_view LISTS[] = {"ssh-ed25519",
                                          "chacha20-poly1305@openssh.com",
                                          "chacha20-poly1305@openssh.com",
                                          "hmac-sha2-256-etm@openssh.com",
                                          "hmac-sha2-256-etm@openssh.com",
                                          "none",
                                          "none",
                                          "",
                                          ""};
    std::string kex = "sntrup761x25519-sha512@openssh.com";
    constexpr uint32_t AROUND = SSH_LENGTH + 2 + 16 + 5 + 4; // header, cookie, flags, padding
    uint32_t used = AROUND + SSH_LENGTH + static_cast<uint32_t>(kex.size());
    for (std::string_view list : LISTS)
    {
        used += SSH_LENGTH + static_cast<uint32_t>(list.size());
    }
    if (size > used)
    {
        kex.append(",").append(size - used - 1, 'x'); // a method that nobody knows
    }
    Bytes payload;
    ByteWriter writer(payload);
    writer.Fill(16, 0x11).U32(kex.size()).Text(kex);
    for (std::string_view list : LISTS)
    {
        writer.U32(list.size()).Text(list);
    }
    writer.U8(0).U32(0);
    Bytes bytes;
    AddSshPacket(bytes, 20, size, payload);
    return bytes;
}

/// Writes of an end in turn: version, KEXINIT, key exchange, NEWKEYS; the rest is encrypted.
class SshHandshake
{
  public:
    explicit SshHandshake(End end)
        : m_end(end)
    {
    }

    Bytes Next(uint32_t size)
    {
        switch (m_write++)
        {
        case 0: {
            std::string version = "SSH-2.0-OpenSSH_9.2p1 ";
            version.resize(size - 2, 'x');
            version += "\r\n";
            return {version.begin(), version.end()};
        }
        case 1:
            return KexInit(size);
        case 2: {
            Bytes bytes;
            if (m_end == End::CLIENT)
            {
                AddSshPacket(bytes, 30, size, KeyOf(size - SSH_LENGTH - 2 - 4));
                return bytes;
            }
            AddSshPacket(bytes, 31, size - SSH_NEWKEYS_BYTES, KexReply(size));
            AddSshPacket(bytes, 21, SSH_NEWKEYS_BYTES);
            bytes[bytes.size() - SSH_NEWKEYS_BYTES + 4] = SSH_NEWKEYS_BYTES - 6; // all padding
            return bytes;
        }
        case 3: {
            Bytes bytes;
            if (m_end == End::CLIENT)
            {
                AddSshPacket(bytes, 21, size);
                bytes[4] = static_cast<uint8_t>(size - 6);
            }
            return bytes;
        }
        default:
            return {};
        }
    }

  private:
    /// A string of filler that takes so many bytes with its length.
    static Bytes KeyOf(uint32_t size)
    {
        Bytes bytes;
        ByteWriter(bytes).U32(size - 4);
        return bytes;
    }

    /// Host key, public key and signature, of which the second takes what is left.
    static Bytes KexReply(uint32_t size)
    {
        constexpr uint32_t HOST_KEY = 51;
        constexpr uint32_t SIGNATURE = 83;
        const uint32_t payload = size - SSH_NEWKEYS_BYTES - SSH_LENGTH - 2 - 4;
        Bytes bytes;
        ByteWriter writer(bytes);
        writer.U32(HOST_KEY).U32(11).Text("ssh-ed25519").U32(32).Fill(32);
        const uint32_t key = payload - 4 - HOST_KEY - 4 - 4 - SIGNATURE;
        writer.U32(key).Fill(key);
        writer.U32(SIGNATURE).U32(11).Text("ssh-ed25519").U32(64);
        return bytes;
    }

    const End m_end;
    int m_write{0};
};

} // namespace

std::vector<Written>
HandshakeWrites(const std::vector<HandshakeTurn>& turns,
                End end,
                const std::vector<LayerSpec>& layers)
{
    const bool isTls = !layers.empty() && std::holds_alternative<TlsLayerSpec>(layers.back());
    const bool isSsh = !layers.empty() && std::holds_alternative<SshLayerSpec>(layers.back());
    const bool isWebSocket =
        !layers.empty() && std::holds_alternative<WebSocketLayerSpec>(layers.back());
    TlsHandshake tls(end);
    SshHandshake ssh(end);
    std::vector<Written> writes;
    for (const HandshakeTurn& turn : turns)
    {
        for (uint32_t size : turn[end])
        {
            writes.push_back(Whole(isTls         ? tls.Next(size)
                                   : isSsh       ? ssh.Next(size)
                                   : isWebSocket ? Upgrade(end, size)
                                                 : Bytes{},
                                   size));
        }
    }
    return writes;
}

} // namespace tunnelcc
