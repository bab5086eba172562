/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SSH_LAYER_H
#define TUNNELCC_SSH_LAYER_H

#include "layer.h"
#include "spec/refuse.h"

namespace tunnelcc
{

/**
 * SSH binary packet protocol (RFC 4253, section 6): each write is a message, sent as one packet of
 * packet length, padding length, message, padding and tag.
 *
 * Padding is at least 4 bytes and fills the packet up to a multiple of the cipher's block. The
 * packet length does not count towards that multiple: so it is with the ciphers that authenticate
 * (RFC 5647, section 7.3, and chacha20-poly1305@openssh.com), the only ones modelled.
 */
class SshLayer final : public Layer
{
  public:
    /// \throws std::invalid_argument without a block
    explicit SshLayer(const SshLayerSpec& spec)
        : m_block(spec.block),
          m_tag(spec.overhead)
    {
        if (m_block == 0)
        {
            Refuse("an SSH layer needs a block to pad to");
        }
    }

    void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) override
    {
        constexpr uint32_t LENGTH = 4;
        constexpr uint32_t PADDING_LENGTH = 1;
        constexpr uint32_t LEAST_PADDING = 4;
        uint32_t least = PADDING_LENGTH + bytes + LEAST_PADDING;
        writes.push_back(LENGTH + (least + m_block - 1) / m_block * m_block + m_tag);
    }

  private:
    uint32_t m_block;
    uint32_t m_tag;
};

} // namespace tunnelcc

#endif // TUNNELCC_SSH_LAYER_H
