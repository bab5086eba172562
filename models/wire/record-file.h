/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECORD_FILE_H
#define TUNNELCC_RECORD_FILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tunnelcc
{

/**
 * A file of records, which are written whole or not at all. Where the disk is full it is cut behind
 * the last whole record, and nothing more is written; likewise where the reader of a pipe is gone,
 * or the limit is reached. Where the program is killed (SIGKILL) in a write, the kernel may end it
 * between two pages: the last record is cut then, and all before it are whole.
 */
class RecordFile
{
  public:
    /// \param name of the file; what it held is lost  \param limit most bytes of it
    /// \throws std::system_error if it cannot be opened
    RecordFile(const std::string& name, uint64_t limit);
    ~RecordFile();
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// Where to append the next record.
    std::vector<uint8_t>& Buffer()
    {
        return m_buffer;
    }

    /// A record is complete. \returns whether it is in the file, or will be
    bool EndRecord();

    /// Hand everything to the operating system.
    void Flush();

    /// Whether records are still written.
    bool IsWriting() const
    {
        return m_error.empty() && !m_isFull;
    }

    /// Why nothing more was written; empty: no error.
    const std::string& Error() const
    {
        return m_error;
    }

    /// Whether the limit was reached.
    bool IsFull() const
    {
        return m_isFull;
    }

    /// Bytes of the file so far.
    uint64_t Bytes() const
    {
        return m_bytes;
    }

  private:
    int m_file;
    const uint64_t m_limit;
    std::vector<uint8_t> m_buffer; //!< records that are not written yet
    std::vector<size_t> m_ends;    //!< of these
    uint64_t m_bytes{0};
    std::string m_error;
    bool m_isFull{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECORD_FILE_H
