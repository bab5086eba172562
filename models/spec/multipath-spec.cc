/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "multipath-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(MultipathScheduler, "default", "lowest_rtt", "round_robin", "redundant", "blest");

FIELDS_OF(SubflowSpec,
          FIELD(route, "1", "its number"),
          FIELD(backup, "it is used only while no other works"));

FIELDS_OF(MultipathSpec,
          FIELD(scheduler, "which path sends the next bytes"),
          FIELD(paths, "the connection begins on the first one"));

} // namespace tunnelcc
