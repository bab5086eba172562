/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer.h"

#include "ssh-layer.h"
#include "tls-layer.h"
#include "websocket-layer.h"

#include <stdexcept>

namespace tunnelcc
{

std::unique_ptr<Layer>
MakeLayer(const LayerSpec& spec)
{
    if (spec.kind == "websocket")
    {
        return std::make_unique<WebSocketLayer>(spec);
    }
    if (spec.kind == "tls")
    {
        return std::make_unique<TlsLayer>(spec);
    }
    if (spec.kind == "ssh")
    {
        return std::make_unique<SshLayer>(spec);
    }
    throw std::invalid_argument("unknown layer '" + spec.kind + "'; known: websocket, tls, ssh");
}

LayerStack::LayerStack(const std::vector<LayerSpec>& specs)
{
    for (const LayerSpec& spec : specs)
    {
        m_layers.push_back(MakeLayer(spec));
    }
}

const std::vector<uint32_t>&
LayerStack::Wrap(uint32_t bytes)
{
    m_writes.assign(1, bytes);
    for (auto& layer : m_layers)
    {
        m_scratch.clear();
        for (uint32_t write : m_writes)
        {
            layer->Wrap(write, m_scratch);
        }
        m_writes.swap(m_scratch);
    }
    return m_writes;
}

} // namespace tunnelcc
