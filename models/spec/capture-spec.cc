/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capture-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(CapturePlaceSpec,
          FIELD(name, "of the place"),
          FIELD(link, "1", "the link, by its number in the experiment's list"),
          FIELD(host, "1", "the host, by its number in the experiment's list"),
          FIELD(arrivals, "directions of links that lead to the host"));

FIELDS_OF(CaptureLayerSpec,
          FIELD(layer, "its name in the catalogue"),
          FIELD(header, "bytes", "bytes before the packet"),
          FIELD(isPlain, "the packet inside is not encrypted"));

FIELDS_OF(CaptureTunnelSpec,
          FIELD(name, "of the tunnel"),
          FIELD(ip, "1", "version of IP inside"),
          FIELD(port, "1", "port at which its server listens"),
          FIELD(layers, "layers of a packet, innermost first, without UDP and IP"),
          FIELD(hasUdp, "datagrams have UDP headers; else they are of IP protocol 50 (ESP)"),
          FIELD(splits, "a packet that does not fit leaves in several datagrams, not in fragments"),
          FIELD(hasSmux, "streams share a carrier by smux"));

FIELDS_OF(CaptureSpec,
          FIELD(file, "file for the packets"),
          FIELD(qlog, "directory for logs of connections; empty: there are none"),
          FIELD(program, "name and version of the program, for the file"),
          FIELD(snap, "bytes", "most bytes stored of a packet; 0: its headers"),
          FIELD(limit, "bytes", "most bytes of the file"),
          FIELD(ip, "1", "version of IP on links"),
          FIELD(places, "where packets are seen"),
          FIELD(tunnels, "as many as the experiment has"));

} // namespace tunnelcc
