/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/module-image.h"

#include <array>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Copy a file into memory. \returns its descriptor; −1: it cannot be read
int
CopyToMemory(const std::string& path)
{
    const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0)
    {
        return -1;
    }
    const int to = memfd_create("tunnelcc-module", MFD_CLOEXEC);
    std::array<char, 65536> buffer;
    ssize_t bytes = 0;
    while (to >= 0 && (bytes = read(from, buffer.data(), buffer.size())) > 0)
    {
        if (write(to, buffer.data(), static_cast<size_t>(bytes)) != bytes)
        {
            bytes = -1;
            break;
        }
    }
    close(from);
    if (to >= 0 && bytes < 0)
    {
        close(to);
        return -1;
    }
    return to;
}

/// Whether `code` is a hash. A specification may come from anybody, and any other text in its place
/// may lead to a file that nobody has agreed to.
bool
IsHash(const std::string& code)
{
    return code.size() == 32 && code.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

ModuleImage::ModuleImage(std::string name, std::string code, const std::string& folder)
    : m_name(std::move(name)),
      m_code(std::move(code)),
      m_file(folder.empty() || !IsHash(m_code) ? -1 : CopyToMemory(folder + "/" + m_code + ".so"))
{
    if (m_file < 0)
    {
        Throw(folder.empty()    ? "it is a file, and no folder of compiled ones is given"
              : !IsHash(m_code) ? "its code is not the hash of a file"
                                : "its compiled file is not in " + folder);
    }
    const std::string path = "/proc/self/fd/" + std::to_string(m_file);
    // What runs when a file is loaded is its own, too.
    Call([&] { m_handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); });
    if (!m_handle)
    {
        close(m_file);
        const char* reason = dlerror();
        Throw(std::string("it cannot be loaded: ") + (reason ? reason : "no reason is given"));
    }
}

ModuleImage::~ModuleImage()
{
    Call([this] { dlclose(m_handle); });
    close(m_file);
}

void*
ModuleImage::Find(const char* symbol) const
{
    return dlsym(m_handle, symbol);
}

void
ModuleImage::Throw(const std::string& what) const
{
    throw ModuleError(m_name + ": " + what);
}

/// \pre an exception of the file is being handled
void
ModuleImage::ThrowException() const
{
    try
    {
        throw;
    }
    catch (const std::exception& error)
    {
        Throw(std::string("it threw an exception: ") + error.what());
    }
    catch (...)
    {
        Throw("it threw an exception");
    }
}

} // namespace tunnelcc
