/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MAPPING_LOG_H
#define TUNNELCC_MAPPING_LOG_H

#include "event/fifo.h"

#include <cstdint>

namespace tunnelcc
{

/// Bytes of a connection's stream that one subflow carries, one after the other in its own stream.
struct Mapping
{
    uint64_t begin;  //!< place of the first in the connection's stream
    uint64_t length; //!< bytes
};

/// Sees the mappings of a direction of a subflow.
class MappingWatcher
{
  public:
    /// Bytes are about to be written. \param most mapping of all that may be taken of them
    virtual void OnWriting(const Mapping& most) = 0;

    /// So many of them were taken, and may have been sent.
    virtual void OnTaken(uint64_t bytes) = 0;

  protected:
    ~MappingWatcher() = default;
};

/// The bytes under way in one direction of a subflow: one end appends them, the other takes them.
/// Stands for the mappings in their headers (RFC 8684, section 3.3.1).
class MappingLog : public Fifo<Mapping>
{
  public:
    /// \param watcher outlives this
    void SetWatcher(MappingWatcher& watcher)
    {
        m_watcher = &watcher;
    }

    /// As MappingWatcher::OnWriting().
    void Announce(const Mapping& most)
    {
        if (m_watcher)
        {
            m_watcher->OnWriting(most);
        }
    }

    /// Append what was taken of the mapping that was announced.
    void Push(const Mapping& mapping)
    {
        if (m_watcher)
        {
            m_watcher->OnTaken(mapping.length);
        }
        if (mapping.length > 0)
        {
            Fifo::Push(mapping);
        }
    }

  private:
    MappingWatcher* m_watcher{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_MAPPING_LOG_H
