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
 * Somebody else (the Python package) compiles them into a folder, under the hash of what they were
 * compiled from.
 */

namespace tunnelcc
{

/// What a compiled file holds.
struct ModuleInfo
{
    std::string name;     //!< as the file names the algorithm
    bool needsEcn{false}; //!< CongestionControl::NeedsEcn()
    std::vector<CongestionParameterInfo> parameters;
};

/// Say where compiled files are, for all that follows in this process.
void SetModuleFolder(const std::string& folder);

/// Makes an algorithm that is no file, for a connection.
using OwnMaker = std::function<std::unique_ptr<tc::CongestionControl>()>;

/// Algorithms by hash, in place of files, while this object is there: one at a time.
class OwnMakers
{
  public:
    explicit OwnMakers(std::map<std::string, OwnMaker> makers);
    ~OwnMakers();

    OwnMakers(const OwnMakers&) = delete;
    OwnMakers& operator=(const OwnMakers&) = delete;
};

/**
 * Load a file, and say what it holds.
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
