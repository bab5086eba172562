/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_JSON_H
#define TUNNELCC_JSON_H

#include "refuse.h"

#include <string>

/// What the library for JSON would throw.
#define JSON_THROW_USER(error)                                                                     \
    ::tunnelcc::Refuse("specification: expected JSON, " + std::string((error).what()))
#include <nlohmann/json.hpp>

#endif // TUNNELCC_JSON_H
