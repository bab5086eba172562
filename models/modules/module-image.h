/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MODULE_IMAGE_H
#define TUNNELCC_MODULE_IMAGE_H

#include "modules/last-words.h"

#include <stdexcept>
#include <string>

namespace tunnelcc
{

/// A file with a congestion control failed. The message names the algorithm, and what happened.
class ModuleError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/**
 * A compiled file in memory, with variables of its own: a copy that no other image shares, so each
 * run, and each set of parameters, begins with fresh ones.
 */
class ModuleImage
{
  public:
    /**
     * \param name of the algorithm, for messages
     * \param code hash of the file, which names it in `folder`: CODE.so
     * \throws ModuleError when it cannot be loaded
     */
    ModuleImage(std::string name, std::string code, const std::string& folder);
    ~ModuleImage();

    ModuleImage(const ModuleImage&) = delete;
    ModuleImage& operator=(const ModuleImage&) = delete;

    const std::string& Name() const
    {
        return m_name;
    }

    /// Address of a symbol that the file exports; null if there is none.
    void* Find(const char* symbol) const;

    /// Call a function of the file. \throws ModuleError when that throws
    template <typename F>
    void Call(F&& function) const
    {
        const ForeignCall call(m_name, m_code);
        try
        {
            function();
        }
        catch (...)
        {
            ThrowException();
        }
    }

    /// \throws ModuleError that tells what is wrong with the file
    [[noreturn]] void Throw(const std::string& what) const;

  private:
    [[noreturn]] void ThrowException() const;

    std::string m_name;
    std::string m_code;
    int m_file{-1};
    void* m_handle{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_MODULE_IMAGE_H
