/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-disc.h"

#include "codel.h"
#include "fq-codel.h"
#include "pie.h"
#include "red.h"

#include <stdexcept>

namespace tunnelcc
{

std::unique_ptr<QueueDisc>
MakeQueueDisc(const LinkSpec& spec, PacketStore& store, const ns3::RngStream& stream)
{
    const std::string& name = spec.queue.discipline;
    if (name == "codel")
    {
        return std::make_unique<CodelQueueDisc>(spec, store);
    }
    if (name == "fq-codel")
    {
        return std::make_unique<FqCodelQueueDisc>(spec, store, stream);
    }
    if (name == "pie")
    {
        return std::make_unique<PieQueueDisc>(spec, store, stream);
    }
    if (name == "red")
    {
        return std::make_unique<RedQueueDisc>(spec, store, stream);
    }
    throw std::invalid_argument("unknown queue discipline '" + name +
                                "'; known: codel, fq-codel, pie, red");
}

} // namespace tunnelcc
