/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/module-loader.h"

#include "modules/linux-module.h"
#include "modules/module-image.h"
#include "modules/own-control.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tunnelcc
{

namespace
{

constexpr const char* OWN_SYMBOL = "tunnelcc_file";

std::string g_moduleFolder;
std::map<std::string, OwnMaker> g_makers;

/// What a file with a class of a user's own offers; null: it is a module of Linux.
const tc::File*
FindOwnFile(const ModuleImage& image)
{
    const auto* file = static_cast<const tc::File*>(image.Find(OWN_SYMBOL));
    constexpr size_t SIZES[]{sizeof(tc::State),
                             sizeof(tc::Ack),
                             sizeof(tc::Interval),
                             sizeof(tc::CongestionControl)};
    if (file && (file->interface != tc::INTERFACE ||
                 !std::equal(std::begin(SIZES), std::end(SIZES), std::begin(file->sizes))))
    {
        image.Throw("it was compiled for another version of tunnelcc, or by a compiler that lays "
                    "out data in another way");
    }
    return file;
}

OwnAlgorithm
MakeOwn(const std::string& name, const std::shared_ptr<ModuleImage>& image, const tc::File& file)
{
    tc::CongestionControl* algorithm = nullptr;
    image->Call([&] { algorithm = file.make(); });
    return {name, image, std::unique_ptr<tc::CongestionControl>(algorithm)};
}

ModuleInfo
DescribeOwn(std::string title, OwnAlgorithm own)
{
    auto parameters = own.GetParameters();
    own.Configure({}, 0);
    return {std::move(title), own.algorithm->needsEcn, std::move(parameters)};
}

} // namespace

void
SetModuleFolder(const std::string& folder)
{
    g_moduleFolder = folder;
}

OwnMakers::OwnMakers(std::map<std::string, OwnMaker> makers)
{
    g_makers = std::move(makers);
}

OwnMakers::~OwnMakers()
{
    g_makers.clear();
}

ModuleInfo
DescribeModule(const std::string& name, const std::string& code)
{
    if (const auto maker = g_makers.find(code); maker != g_makers.end())
    {
        return DescribeOwn(name, {name, nullptr, maker->second()});
    }
    auto image = std::make_unique<ModuleImage>(name, code, g_moduleFolder);
    if (const tc::File* file = FindOwnFile(*image))
    {
        return DescribeOwn(file->name, MakeOwn(name, std::move(image), *file));
    }
    auto parameters = LinuxModuleImage::GetParameters(*image);
    LinuxModuleImage module(std::move(image), {});
    return {module.Ops()->name,
            (module.Ops()->flags & TCP_CONG_NEEDS_ECN) != 0,
            std::move(parameters)};
}

struct ModuleLoader::Loaded
{
    /// A file with a class of a user's own: parameters are of its objects.
    struct OwnFile
    {
        std::shared_ptr<ModuleImage> image;
        const tc::File* file;
    };

    std::map<std::string, OwnFile> files;
    std::map<std::pair<std::string, CongestionParameters>, std::shared_ptr<LinuxModuleImage>>
        modules;
};

ModuleLoader::ModuleLoader() = default;
ModuleLoader::~ModuleLoader() = default;

std::unique_ptr<CongestionControl>
ModuleLoader::Make(const std::string& name,
                   const std::string& code,
                   const CongestionParameters& parameters,
                   int64_t stream)
{
    const auto configured = [&](OwnAlgorithm own) {
        own.Configure(parameters, stream);
        return std::make_unique<OwnControl>(std::move(own));
    };
    if (const auto maker = g_makers.find(code); maker != g_makers.end())
    {
        return configured({name, nullptr, maker->second()});
    }
    if (!m_loaded)
    {
        m_loaded = std::make_unique<Loaded>();
    }
    if (const auto own = m_loaded->files.find(code); own != m_loaded->files.end())
    {
        return configured(MakeOwn(name, own->second.image, *own->second.file));
    }
    if (const auto module = m_loaded->modules.find({code, parameters});
        module != m_loaded->modules.end())
    {
        return std::make_unique<LinuxModule>(module->second, stream);
    }
    auto image = std::make_unique<ModuleImage>(name, code, g_moduleFolder);
    if (const tc::File* file = FindOwnFile(*image))
    {
        const auto& own = m_loaded->files[code] = {std::move(image), file};
        return configured(MakeOwn(name, own.image, *file));
    }
    auto module = std::make_shared<LinuxModuleImage>(std::move(image), parameters);
    m_loaded->modules[{code, parameters}] = module;
    return std::make_unique<LinuxModule>(std::move(module), stream);
}

} // namespace tunnelcc
