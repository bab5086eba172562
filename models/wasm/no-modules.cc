/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/module-loader.h"

/**
 * \file
 * What experiments call of the room `modules/`, in its place: a browser loads no compiled files, so
 * no congestion control comes from one, and no file is ever asked for.
 */

namespace tunnelcc
{

struct ModuleLoader::Loaded
{
};

ModuleLoader::ModuleLoader() = default;
ModuleLoader::~ModuleLoader() = default;

std::unique_ptr<CongestionControl>
ModuleLoader::Make(const std::string& /* name */,
                   const std::string& /* code */,
                   const CongestionParameters& /* parameters */,
                   int64_t /* stream */)
{
    __builtin_trap();
}

} // namespace tunnelcc
