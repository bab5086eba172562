# SPDX-License-Identifier: GPL-2.0-only
"""Changes of an experiment by dotted key: ``path.rtt``, ``flows.0.count``, ``tunnel.cc``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import keys_of, listed_as
from tunnelcc.schema.toml import MOST_DEPTH

#: Tables that may be given as their name alone: ``tunnel = "gost-relay-ws"``, ``cc = "bbr"``.
_SHORT_FORMS = ("tunnel", "under", "cc", "queue")


def apply(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``table`` with dotted keys set: ``path.rtt``, ``flows.0.count``, ``tunnel.cc``.

    A key below ``flows``, ``cross_traffic`` or ``pings`` without an index is set in every item,
    ``flows.cc`` in those that are not over UDP. ``cc`` is short for ``flows.cc``. A key is set
    before the keys below it, in any order of ``settings``. The value none removes a tunnel with all
    its keys. Raises ConfigError for a key that cannot be set.
    """
    expected = 'a table of keys and values, such as {"path.rtt": "50ms"}'
    settings = as_table("settings", settings, expected)
    changed = copy.deepcopy(dict(table))
    for key in settings:
        if key.count(".") >= MOST_DEPTH:
            raise ConfigError(Problem(f"{key[:40]}…", MISSING, "a key such as path.rtt"))
    full_keys = {("flows.cc" if key == "cc" else key): value for key, value in settings.items()}
    for key, value in full_keys.items():
        if value == "none" and listed_as(ExperimentKeys, key) in (
            "tunnel.name",
            "tunnels.NAME.name",
        ):
            _set(changed, key.removesuffix(".name"), {}, key)
    # the transport is set before cc, which datagrams do not have
    for full in sorted(full_keys, key=lambda key: (key.count("."), key == "flows.cc")):
        value = copy.deepcopy(full_keys[full])  # keys below may be set in it
        group = full.partition(".")[0]
        if group in ("flows", "cross_traffic", "pings") and group != full:
            changed.setdefault(group, [{}])
        _set(changed, full, value, full)
    return changed


def as_table(key: str, value: object, expected: str) -> Mapping[str, Any]:
    """Return ``value`` if it is a table. Raises ConfigError."""
    if not isinstance(value, Mapping):
        raise ConfigError(Problem(key, value, expected))
    return value


def _set(node: Any, key: str, value: object, full: str) -> None:
    first, _, rest = key.partition(".")
    if isinstance(node, list):
        _set_in_list(node, key, value, full)
    elif not isinstance(node, dict) and _is_table(table := full[: -len(key) - 1]):
        raise ConfigError(Problem(table, node, f"a table, so that {full} can be set in it"))
    elif not isinstance(node, dict) or not first:
        raise ConfigError(Problem(full, value, "a key such as path.rtt or flows.0.cc"))
    elif not rest:
        node[first] = value
    else:
        child = node.setdefault(first, {})
        if isinstance(child, str) and _has_short_form(full[: -len(rest) - 1]):
            child = node[first] = {"name": child}
        _set(child, rest, value, full)


def _is_table(key: str) -> bool:
    """Whether there are keys below ``key`` (``path``, ``flows.0``)."""
    table = _listed(key)
    return any(info.key.startswith(f"{table}.") for info in keys_of(ExperimentKeys))


def _has_short_form(key: str) -> bool:
    """Whether the name alone may replace the table ``key``."""
    return key.rpartition(".")[2] in _SHORT_FORMS or _listed(key) == "tunnels.NAME"


def _listed(key: str) -> str:
    return listed_as(ExperimentKeys, key)


def _is_over_udp(flow: Any) -> bool:
    """Whether a flow has no congestion control."""
    return isinstance(flow, dict) and flow.get("transport") == "udp"


def _set_in_list(elements: list[Any], key: str, value: object, full: str) -> None:
    first, _, rest = key.partition(".")
    if not first.isdecimal():
        if first.lstrip("-").isdecimal():
            expected = f"an index from 0 to {len(elements) - 1}"
            raise ConfigError(Problem(full, MISSING, expected))
        is_cc = full.split(".")[:2] == ["flows", "cc"]
        chosen = [it for it in elements if not (is_cc and _is_over_udp(it))]
        if elements and not chosen:
            raise ConfigError(Problem(full, value, "a flow over tcp or quic, which has one"))
        for element in chosen:
            _set(element, key, value, full)
    elif int(first) >= len(elements):
        count = len(elements)
        expected = "index 0, because there is only one" if count == 1 else f"an index below {count}"
        if full.startswith("flows."):
            expected += " flow" if count == 1 else ", the number of flows in the list"
        hint = "for one more flow, use --flow cc=bbr on the command line or [[flows]] in a file"
        hint *= full.startswith("flows.")
        raise ConfigError(Problem(full, MISSING, expected, hint))
    elif not rest:
        raise ConfigError(Problem(full, value, f"a key of one item, such as {full}.cc"))
    else:
        _set(elements[int(first)], rest, value, full)
