/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/module-loader.h"

#include "modules/linux-module.h"
#include "modules/module-guard.h"
#include "modules/module-image.h"

#include <map>
#include <utility>

namespace tunnelcc
{

namespace
{

std::string g_moduleFolder;

} // namespace

void
SetModuleFolder(const std::string& folder)
{
    g_moduleFolder = folder;
}

ModuleInfo
DescribeModule(const std::string& name, const std::string& code)
{
    ModuleGuard guard;
    auto image = std::make_unique<ModuleImage>(name, code, g_moduleFolder, guard);
    auto parameters = LinuxModuleImage::GetParameters(*image);
    LinuxModuleImage module(std::move(image), {});
    return {module.Ops()->name,
            (module.Ops()->flags & TCP_CONG_NEEDS_ECN) != 0,
            std::move(parameters)};
}

struct ModuleLoader::Loaded
{
    ModuleGuard guard; // outlives what it guards
    std::map<std::pair<std::string, CongestionParameters>, std::shared_ptr<LinuxModuleImage>>
        images;
};

ModuleLoader::ModuleLoader() = default;
ModuleLoader::~ModuleLoader() = default;

std::unique_ptr<CongestionControl>
ModuleLoader::Make(const std::string& name,
                   const std::string& code,
                   const CongestionParameters& parameters,
                   int64_t stream)
{
    if (!m_loaded)
    {
        m_loaded = std::make_unique<Loaded>();
    }
    auto& image = m_loaded->images[{code, parameters}];
    if (!image)
    {
        image = std::make_shared<LinuxModuleImage>(
            std::make_unique<ModuleImage>(name, code, g_moduleFolder, m_loaded->guard),
            parameters);
    }
    return std::make_unique<LinuxModule>(image, stream);
}

} // namespace tunnelcc
