/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-disc.h"

#include "cake.h"
#include "codel.h"
#include "dual-pi2.h"
#include "fq-codel.h"
#include "pie.h"
#include "red.h"
#include "spec/refuse.h"

#include <variant>

namespace tunnelcc
{

namespace
{

struct Maker
{
    const LinkSpec& link;
    PacketStore& store;
    const RandomStream& stream;

    std::unique_ptr<QueueDisc> operator()(const DropTailSpec&) const
    {
        Refuse("a drop-tail queue is a Link's own");
    }

    std::unique_ptr<QueueDisc> operator()(const CodelSpec& spec) const
    {
        return std::make_unique<CodelQueueDisc>(link, spec, store);
    }

    std::unique_ptr<QueueDisc> operator()(const FqCodelSpec& spec) const
    {
        return std::make_unique<FqCodelQueueDisc>(link, spec, store, stream);
    }

    std::unique_ptr<QueueDisc> operator()(const PieSpec& spec) const
    {
        return std::make_unique<PieQueueDisc>(link, spec, store, stream);
    }

    std::unique_ptr<QueueDisc> operator()(const DualPi2Spec& spec) const
    {
        return std::make_unique<DualPi2QueueDisc>(link, spec, store, stream);
    }

    std::unique_ptr<QueueDisc> operator()(const RedSpec& spec) const
    {
        return std::make_unique<RedQueueDisc>(link, spec, store, stream);
    }

    std::unique_ptr<QueueDisc> operator()(const CakeSpec& spec) const
    {
        return std::make_unique<CakeQueueDisc>(link, spec, store, stream);
    }
};

} // namespace

std::unique_ptr<QueueDisc>
MakeQueueDisc(const LinkSpec& link, PacketStore& store, const RandomStream& stream)
{
    return std::visit(Maker{link, store, stream}, link.queue);
}

} // namespace tunnelcc
