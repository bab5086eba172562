/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MODULE_LOADER_H
#define TUNNELCC_MODULE_LOADER_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"
#include "modules/tunnelcc.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

/**
 * \file
 * Congestion controls that come as files: modules of Linux, and classes of users (tunnelcc.h).
 * The Python package compiles them into a folder. A compiled file is named after the hash of its
 * sources.
 */

namespace tunnelcc
{

/// The algorithm in a compiled file.
struct ModuleInfo
{
    std::string name;     //!< as the file names the algorithm
    bool needsEcn{false}; //!< CongestionControl::NeedsEcn()
    std::vector<CongestionParameterInfo> parameters;
};

/// Set the folder of compiled files, for the whole process.
void SetModuleFolder(const std::string& folder);

/// Makes an algorithm that is not in a file, for a connection.
using OwnMaker = std::function<std::unique_ptr<tc::CongestionControl>()>;

/// While it exists, algorithms are found here by their hash, and not in files. Only one may exist.
class OwnMakers
{
  public:
    explicit OwnMakers(std::map<std::string, OwnMaker> makers);
    ~OwnMakers();

    OwnMakers(const OwnMakers&) = delete;
    OwnMakers& operator=(const OwnMakers&) = delete;
};

/**
 * Load a file and describe the algorithm in it.
 *
 * \param name of the algorithm, for messages
 * \param code its hash
 * \throws ModuleError
 */
ModuleInfo DescribeModule(const std::string& name, const std::string& code);

/// The files of one run: each is loaded at first use, once for each set of parameters.
class ModuleLoader
{
  public:
    ModuleLoader();
    ~ModuleLoader();

    /**
     * Make an algorithm of a file.
     *
     * \param name,code as in DescribeModule()
     * \param parameters,stream as in MakeCongestionControl()
     * \throws ModuleError, std::invalid_argument
     */
    std::unique_ptr<CongestionControl> Make(const std::string& name,
                                            const std::string& code,
                                            const CongestionParameters& parameters,
                                            int64_t stream);

  private:
    struct Loaded;
    std::unique_ptr<Loaded> m_loaded; //!< none before the first file
};

} // namespace tunnelcc

#endif // TUNNELCC_MODULE_LOADER_H
