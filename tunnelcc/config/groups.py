# SPDX-License-Identifier: GPL-2.0-only
"""Links that repeat, and the flows of their hosts: a short form of many equal tables.

A link ``lan`` with ``count = 30`` between ``pc`` and ``router`` stands for the links ``lan1`` to
``lan30`` between the hosts ``pc1`` to ``pc30`` and ``router``. What names ``pc`` (a flow, cross
traffic, a ping, ``network.hosts``) stands for one such table for each of these hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from tunnelcc.config.flow import MAX_FLOWS, Flow
from tunnelcc.config.hosts import HostOverrides
from tunnelcc.config.network import Link
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import Model

#: Tables that name hosts, in lists.
_SOURCES: dict[str, type[Model]] = {"flows": Flow, "cross_traffic": CrossTraffic, "pings": Ping}
#: The keys that name one of them, and a list of them.
_ENDS, _ROUTES = ("from", "to"), ("route", "ack_route")


def written_out(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return the keys of an experiment with all that a repeated link stands for.

    Also the key of each new table → that of the table as it was given. Each table is checked
    before it is repeated. Raises ConfigError.
    """
    network, keys = _table(data.get("network")), dict[str, str]()
    links = _table(network.get("links"))
    if not any(_table(link).get("count") is not None for link in links.values()):
        return data, keys
    groups: dict[str, int] = {}
    for name, link in links.items():
        _add(groups, f"network.links.{name}", link)
    for name, link in links.items():
        _check_plain(groups, f"network.links.{name}", _table(link))
    changed: dict[str, Any] = {"links": dict(_links(links, groups, keys))}
    if hosts := _table(network.get("hosts")):
        changed["hosts"] = _hosts(hosts, groups, keys)
    found = {**data, "network": {**network, **changed}}
    for key, model in _SOURCES.items():
        given = data.get(key)
        entries = [given] if isinstance(given, (Mapping, model)) else given
        if isinstance(entries, (list, tuple)):
            placed = list(_sources(key, model, entries, groups))
            found[key] = [entry for _, entry in placed]
            keys |= {f"{key}.{new}": f"{key}.{old}" for new, (old, _) in enumerate(placed)}
    return found, keys


def as_given(error: ConfigError, keys: Mapping[str, str]) -> ConfigError:
    """Return an error with the keys of the tables that were given, each once.

    ``keys``: as of written_out().
    """
    if not keys:
        return error
    problems: dict[str, Problem] = {}
    for problem in error.problems:
        parts = problem.key.split(".")
        length = 3 if parts[0] == "network" else 2
        table = ".".join(parts[:length])
        key = ".".join([keys.get(table, table), *parts[length:]])
        problems.setdefault(key, replace(problem, key=key))
    return ConfigError(*problems.values())


def _table(given: object) -> Mapping[str, Any]:
    """Return a table as it is written; an empty one for what is none."""
    if isinstance(given, Model):
        return given.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)
    return given if isinstance(given, Mapping) else {}


def _checked(model: type[Model], key: str, given: object) -> Any:
    try:
        return model.parse(given)
    except ConfigError as error:
        raise error.below(key) from None


def _add(groups: dict[str, int], key: str, given: object) -> None:
    """Add the group of a link that repeats: name of its hosts without a number → how many."""
    if _table(given).get("count") is None:
        return
    link: Link = _checked(Link, key, given)
    assert link.count is not None
    if link.between is None:
        expected = "no value without between, two hosts of which the first one repeats"
        raise ConfigError(Problem(f"{key}.count", link.count, expected))
    group = link.between[0]
    if groups.setdefault(group, link.count) != link.count:
        expected = f"{groups[group]}, as another link of {group} has"
        raise ConfigError(Problem(f"{key}.count", link.count, expected))


def _check_plain(groups: Mapping[str, int], key: str, link: Mapping[str, Any]) -> None:
    """Raise ConfigError for a link that names a group as if it were one host."""
    ends = link.get("between")
    if not isinstance(ends, (list, tuple)) or not all(isinstance(host, str) for host in ends):
        return  # told elsewhere
    own = groups[ends[0]] if link.get("count") is not None else 0
    for host in ends:
        if groups.get(host, own) != own:
            expected = f"one host, such as {host}1, or count = {groups[host]}: {host} repeats"
            raise ConfigError(Problem(f"{key}.between", list(ends), expected))


def _links(
    links: Mapping[str, Any], groups: Mapping[str, int], keys: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    for name, given in links.items():
        link = _table(given)
        if link.get("count") is None:
            yield name, given
            continue
        ends = _checked(Link, f"network.links.{name}", given).between
        kept = {key: value for key, value in link.items() if key != "count"}
        for number in range(1, groups[ends[0]] + 1):
            own = f"{name}{number}"
            if own in links:
                expected = f"a link whose numbers are free: there is another {own}"
                raise ConfigError(Problem(f"network.links.{name}.count", link["count"], expected))
            keys[f"network.links.{own}"] = f"network.links.{name}"
            yield own, {**kept, "between": [_numbered(host, number, groups) for host in ends]}


def _hosts(
    hosts: Mapping[str, Any], groups: Mapping[str, int], keys: dict[str, str]
) -> dict[str, Any]:
    """Return the hosts' keys: those of a group, changed by those of one of its hosts."""
    found = {name: it for name, it in hosts.items() if name not in groups}
    for name in hosts.keys() & groups.keys():
        shared = _table(_checked(HostOverrides, f"network.hosts.{name}", hosts[name]))
        for number in range(1, groups[name] + 1):
            own = f"{name}{number}"
            if own not in hosts:
                keys[f"network.hosts.{own}"] = f"network.hosts.{name}"
            found[own] = {**shared, **_table(hosts.get(own))}
    return found


def _sources(
    key: str, model: type[Model], entries: Sequence[Any], groups: Mapping[str, int]
) -> Iterator[tuple[int, Any]]:
    """Yield the entries of a list with their places, repeated if they name a group.

    Those of one group that follow each other come host by host.
    """
    named = [_groups_of(_table(entry), groups) for entry in entries]
    total = sum(groups[it[0]] if it else 1 for it in named)
    if total > MAX_FLOWS:
        raise ConfigError(Problem(key, total, f"at most {MAX_FLOWS} {key} in total"))
    for place, names in enumerate(named):
        where = f"{key}.{place}"
        if names:
            _checked(model, where, entries[place])
        if len({groups[name] for name in names}) > 1:
            expected = "groups with as many hosts as each other"
            raise ConfigError(Problem(where, list(names), expected))
    for first, places in groupby(range(len(entries)), key=lambda place: named[place][:1]):
        together = [*places]
        for number in range(1, groups[first[0]] + 1) if first else (0,):
            for place in together:
                entry = entries[place]
                yield place, _of_host(_table(entry), number, groups) if first else entry


def _groups_of(entry: Mapping[str, Any], groups: Mapping[str, int]) -> tuple[str, ...]:
    """Return the groups that an entry names, those of its ends first."""
    routes = [entry.get(key) for key in _ROUTES]
    hosts = [entry.get(key) for key in _ENDS]
    hosts += [host for it in routes if isinstance(it, (list, tuple)) for host in it]
    return tuple(dict.fromkeys(it for it in hosts if isinstance(it, str) and it in groups))


def _of_host(entry: Mapping[str, Any], number: int, groups: Mapping[str, int]) -> dict[str, Any]:
    ends = {key: _numbered(entry[key], number, groups) for key in _ENDS if key in entry}
    routes = {
        key: [_numbered(host, number, groups) for host in entry[key]]
        for key in _ROUTES
        if entry.get(key)
    }
    return {**entry, **ends, **routes}


def _numbered(host: str, number: int, groups: Mapping[str, int]) -> str:
    return f"{host}{number}" if host in groups else host
