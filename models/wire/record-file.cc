/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "record-file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace tunnelcc
{

RecordFile::RecordFile(const std::string& name, uint64_t limit)
    : m_file(open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      m_limit(limit)
{
    if (m_file < 0)
    {
        throw std::system_error(errno, std::generic_category(), name);
    }
}

RecordFile::~RecordFile()
{
    Flush();
    close(m_file);
}

bool
RecordFile::EndRecord()
{
    constexpr size_t MOST_WAITING = 1 << 18;
    if (m_bytes + m_buffer.size() > m_limit)
    {
        m_buffer.resize(m_ends.empty() ? 0 : m_ends.back());
        Flush();
        m_isFull = true;
        return false;
    }
    m_ends.push_back(m_buffer.size());
    if (m_buffer.size() >= MOST_WAITING)
    {
        Flush();
    }
    return m_error.empty();
}

void
RecordFile::Flush()
{
    size_t done = 0;
    while (m_error.empty() && done < m_buffer.size())
    {
        const ssize_t written = write(m_file, m_buffer.data() + done, m_buffer.size() - done);
        if (written >= 0)
        {
            done += static_cast<size_t>(written);
        }
        else if (errno != EINTR)
        {
            m_error = std::strerror(errno);
        }
    }
    size_t whole = 0;
    for (size_t end : m_ends)
    {
        whole = end <= done ? end : whole;
    }
    m_bytes += whole;
    if (whole < done && ftruncate(m_file, static_cast<off_t>(m_bytes)) != 0)
    {
        m_error += ", which left half a record"; // a pipe
    }
    m_buffer.clear();
    m_ends.clear();
}

} // namespace tunnelcc
