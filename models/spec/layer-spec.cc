/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(FrameLayerSpec,
          FIELD(maxPayload, "bytes", "of a frame; 0: one frame for each write"),
          FIELD(header, "bytes", 0, 65535, "of a frame"),
          FIELD(padding, "bytes", 0, 65535, "least bytes that a payload is padded by …"),
          FIELD(block, "bytes", 0, 65535, "… up to a multiple of this"),
          FIELD(trailer, "bytes", 0, 65535, "of a frame"));

FIELDS_OF(WebSocketLayerSpec,
          FIELD(maxPayload, "bytes", "of a frame; 0: one frame for each write"),
          FIELD(masked, "the client's 4-byte mask"),
          FIELD(firstWrite,
                "bytes",
                "bytes of a frame that are written in a write of their own; 0: none"));

FIELDS_OF(TlsLayerSpec,
          FIELD(maxPayload, "bytes", 1, 1 << 30, "of a record"),
          FIELD(overhead, "bytes", 0, 65535, "added to each record"),
          FIELD(rampBytes, "bytes", "the k-th record carries at most rampBytes·k …"),
          FIELD(rampUntil, "bytes", "… until this many bytes were sent; 0: no ramp"),
          FIELD(recordsBefore, "1", "records that the handshake has sent"));

FIELDS_OF(SshLayerSpec,
          FIELD(block, "bytes", 1, 65535, "padded to a multiple of this"),
          FIELD(overhead, "bytes", 0, 65535, "the tag of a packet"));

FIELDS_OF(
    SnappyLayerSpec,
    FIELD(maxPayload, "bytes", 1, 1 << 30, "of a chunk"),
    FIELD(header, "bytes", 0, 65535, "of a chunk"),
    FIELD(streamHeader, "bytes", 0, 65535, "bytes before the first chunk, in its first write"),
    FIELD(ratio, "1", 0, 2, "compressed size of a payload, as a part of its size"));

} // namespace tunnelcc
