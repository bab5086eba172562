# SPDX-License-Identifier: GPL-2.0-only
"""What tshark and dpkt read in captures, and what logs of connections have."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import dpkt
from jsonschema import Draft202012Validator

_TSHARK = (
    "tshark", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
    "-o", "udp.check_checksum:TRUE",
)  # fmt: skip


def fields_of(file: Path, *fields: str, only: str = "") -> list[list[str]]:
    """Return fields of a capture's packets, as tshark reads them."""
    command = [*_TSHARK, "-r", str(file), "-T", "fields", "-E", "separator=/t"]
    for field in fields:
        command += ["-e", field]
    command += ["-Y", only] if only else []
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def packets_of(file: Path) -> list[Any]:
    """Return the IP packets of a capture, as dpkt reads them."""
    return [dpkt.ip.IP(data) for _, data in dpkt.pcapng.Reader(io.BytesIO(Path(file).read_bytes()))]


#: The members that qlog's schema of QUIC's events (draft-ietf-quic-qlog-quic-events-04) has of what
#: is written, as far as they are needed; the others are optional. Other members are not allowed.
_COUNT = {"type": "integer", "minimum": 0}
_RTT = {"type": "number", "minimum": 0}


def _object(needed: Any, optional: Any = ()) -> dict[str, Any]:
    return {
        "type": "object", "required": [*needed], "properties": {**needed, **dict(optional)},
        "additionalProperties": False,
    }  # fmt: skip


_HEADER = _object({"packet_type": {"enum": ["initial", "handshake", "1RTT"]},
                   "packet_number": _COUNT})  # fmt: skip
_RANGES = {
    "type": "array", "minItems": 1, "items": {"type": "array", "items": _COUNT, "maxItems": 2},
}  # fmt: skip
_FRAMES = {
    "stream": _object({"stream_id": _COUNT, "offset": _COUNT, "length": _COUNT, "frame_type": {}},
                      {"fin": {"type": "boolean"}}),
    "ack": _object({"frame_type": {}, "acked_ranges": _RANGES}, {"ack_delay": _RTT}),
    "max_data": _object({"frame_type": {}, "maximum": _COUNT}),
    "max_stream_data": _object({"frame_type": {}, "stream_id": _COUNT, "maximum": _COUNT}),
    "ping": _object({"frame_type": {}}),
    "path_challenge": _object({"frame_type": {}}),
    "path_response": _object({"frame_type": {}}),
    "unknown": _object({"frame_type": {}, "raw_frame_type": _COUNT}),
}  # fmt: skip
_PACKET = _object(
    {
        "header": _HEADER,
        "raw": _object({"length": _COUNT}, {"payload_length": _COUNT}),
        "frames": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"frame_type": {"enum": [*_FRAMES]}},
                "allOf": [
                    {"if": {"properties": {"frame_type": {"const": name}}}, "then": frame}
                    for name, frame in _FRAMES.items()
                ],
            },
        },
    }
)
_EVENTS = {
    "transport:packet_sent": _PACKET,
    "transport:packet_received": _PACKET,
    "recovery:packet_lost": _object({"header": _HEADER}),
    "recovery:congestion_state_updated": _object({"old": {"type": "string"}, "new": {}}),
    "recovery:metrics_updated": _object(
        {"congestion_window": _COUNT, "bytes_in_flight": _COUNT},
        dict.fromkeys(("smoothed_rtt", "latest_rtt", "min_rtt", "ssthresh", "pacing_rate"), _RTT),
    ),
}  # fmt: skip


def log_of(file: Path, side: str) -> list[dict[str, Any]]:
    """Return the events of a log, which follow qlog's schema."""
    header, *events = map(json.loads, file.read_text().split("\x1e")[1:])
    assert (header["qlog_format"], header["qlog_version"]) == ("JSON-SEQ", "0.3")
    assert header["trace"]["vantage_point"] == {"type": side}
    times = [event["time"] for event in events]
    assert times == sorted(times)
    validators = {name: Draft202012Validator(schema) for name, schema in _EVENTS.items()}
    for event in events[:500]:
        validators[event["name"]].validate(event["data"])
    return events


def numbers_of(events: list[dict[str, Any]], name: str, kind: str | None = None) -> list[int]:
    """Return the numbers of packets; ``kind``: those with such a frame."""
    return [
        it["data"]["header"]["packet_number"] for it in events
        if it["name"] == name
        and (kind is None or any(it["frame_type"] == kind for it in it["data"]["frames"]))
    ]  # fmt: skip
