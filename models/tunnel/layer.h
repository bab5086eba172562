/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LAYER_H
#define TUNNELCC_LAYER_H

#include "spec/layer-spec.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// A layer of a byte stream, such as TLS. It turns each write from above into larger writes below.
class Layer
{
  public:
    virtual ~Layer() = default;

    /**
     * Encapsulate one write.
     * \param bytes size of the write from above
     * \param writes receives the sizes of the writes below, bytes; they are appended
     */
    virtual void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) = 0;
};

/**
 * Make a layer from its description.
 * \throws std::invalid_argument if a number that it needs is 0
 */
std::unique_ptr<Layer> MakeLayer(const LayerSpec& spec);

/// A stack of layers, applied from the innermost out.
class LayerStack
{
  public:
    /// \param specs innermost first
    explicit LayerStack(const std::vector<LayerSpec>& specs);

    /// Whether a write leaves it as it came.
    bool IsEmpty() const
    {
        return m_layers.empty();
    }

    /// Sizes of the writes to the carrier for a message of `bytes`; valid until the next call.
    const std::vector<uint32_t>& Wrap(uint32_t bytes);

  private:
    std::vector<std::unique_ptr<Layer>> m_layers;
    std::vector<uint32_t> m_writes;
    std::vector<uint32_t> m_scratch;
};

} // namespace tunnelcc

#endif // TUNNELCC_LAYER_H
