/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MESSAGE_LOG_H
#define TUNNELCC_MESSAGE_LOG_H

#include "event/fifo.h"

#include <cstdint>

namespace tunnelcc
{

/// A message inside a carrier's byte stream.
struct Message
{
    uint64_t end;     //!< carrier stream offset just past it
    uint32_t wire;    //!< carrier bytes it takes
    uint32_t payload; //!< application bytes in it
    uint32_t writes;  //!< in which it crosses
};

/// Where messages lie in one direction of a carrier: the sending relay appends, the receiving one
/// takes. Stands for what the receiver would read out of the bytes, which have no contents.
using MessageLog = Fifo<Message>;

} // namespace tunnelcc

#endif // TUNNELCC_MESSAGE_LOG_H
