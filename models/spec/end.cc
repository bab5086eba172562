/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "end.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(End, "client", "server");

} // namespace tunnelcc
