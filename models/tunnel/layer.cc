/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer.h"

#include "frame-layer.h"
#include "snappy-layer.h"
#include "ssh-layer.h"
#include "tls-layer.h"
#include "websocket-layer.h"

#include <variant>

namespace tunnelcc
{

namespace
{

std::unique_ptr<Layer>
Make(const FrameLayerSpec& spec)
{
    return std::make_unique<FrameLayer>(spec);
}

std::unique_ptr<Layer>
Make(const WebSocketLayerSpec& spec)
{
    return std::make_unique<WebSocketLayer>(spec);
}

std::unique_ptr<Layer>
Make(const TlsLayerSpec& spec)
{
    return std::make_unique<TlsLayer>(spec);
}

std::unique_ptr<Layer>
Make(const SshLayerSpec& spec)
{
    return std::make_unique<SshLayer>(spec);
}

std::unique_ptr<Layer>
Make(const SnappyLayerSpec& spec)
{
    return std::make_unique<SnappyLayer>(spec);
}

} // namespace

std::unique_ptr<Layer>
MakeLayer(const LayerSpec& spec)
{
    return std::visit([](const auto& layer) { return Make(layer); }, spec);
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
    m_writes.clear();
    m_writes.push_back(bytes);
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
