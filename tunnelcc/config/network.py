# SPDX-License-Identifier: GPL-2.0-only
"""A network of several links instead of one path: the keys of ``network``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, model_serializer, model_validator

from tunnelcc.config.hosts import HostOverrides, Hosts
from tunnelcc.config.path import SHORT_FORMS, DuplexLink, LinkDirection
from tunnelcc.config.shapes import SHAPES, Layout, Pair, lay_out
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.schema import (
    NAME,
    ROUTE,
    Field,
    Key,
    Kind,
    Model,
    Table,
    by_name,
    choice,
    whole,
)
from tunnelcc.schema.units import UnitError

#: A mesh of 91 hosts has nearly as many.
MAX_LINKS = 4096


def _parse_between(value: object) -> Pair:
    try:
        first, second = ROUTE.parse(value)
    except (UnitError, ValueError):
        raise UnitError(_BETWEEN) from None
    if first == second:
        raise UnitError(_BETWEEN)
    return first, second


_BETWEEN = "a list of two different hosts, such as ['client', 'router']"
BETWEEN = Kind(_parse_between, list, _BETWEEN)


class Link(DuplexLink):
    """A link of a network: its two hosts, and the keys that differ from ``path``.

    Keys that are not given have the values of ``path``. Access links differ: by default they have
    no rate limit, no delay and no loss. Only given keys are written.

        >>> tc.Link(between=("a", "b"), rate="50Mbps").between
        ('a', 'b')
    """

    between: Key[Annotated[Pair, BETWEEN] | None, Sequence[str] | None] = Field(
        default=None,
        description="the two hosts of the link; its keys, and those of path, describe the "
        "direction from the first host to the second",
    )
    count: Annotated[int, whole(1, MAX_LINKS)] | None = Field(
        default=None,
        description="number of equal links, whose first hosts differ: with 30, lan between pc and "
        "router is lan1 to lan30 between pc1 to pc30 and router. A flow, cross traffic or a ping "
        "of pc stands for one of each; consecutive ones are in the order of the hosts",
    )

    def over(self, base: DuplexLink) -> DuplexLink:
        """Return ``base`` with the keys that differ on this link."""
        short = {name: name.removeprefix("reverse_") for name in SHORT_FORMS}
        given = {
            name: value
            for name in type(self).model_fields
            if name in self.model_fields_set and (value := getattr(self, name)) is not None
        }
        for name in ("between", "count"):
            given.pop(name, None)
        reverse = _given(given.pop("reverse", None))
        short_forms = {short[name]: given.pop(name) for name in short if name in given}
        changed = base.with_keys(given)
        if not reverse and not short_forms:
            return changed
        if "loss" in short_forms:
            for name in ("loss_pattern", "loss_position"):
                short_forms[name] = getattr(changed, name)
        default = DuplexLink.model_fields
        return changed.model_copy(
            update={name: default[name].default for name in SHORT_FORMS}
            | {"reverse": base.backward.with_keys({**short_forms, **reverse})}
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self.table() == other.table()

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        table = {key: value for key, value in write(self).items() if key in self.model_fields_set}
        if self.reverse is not None:
            given = self.reverse.model_fields_set
            table["reverse"] = {key: it for key, it in table["reverse"].items() if key in given}
        return table


def _given(direction: LinkDirection | None) -> dict[str, Any]:
    """Return the keys that are given."""
    return {
        name: value
        for name in (direction.model_fields_set if direction is not None else ())
        if (value := getattr(direction, name)) is not None
    }


class Network(Model):
    """Links between hosts, given one by one or as a regular shape.

    >>> network = tc.Network(shape="parking-lot", size=3)
    >>> tc.Experiment(network=network, flows=[tc.Flow()]).network == network
    True
    """

    shape: Annotated[str, choice(*SHAPES)] | None = Field(
        default=None,
        description="a regular network; all its links except access links have the keys of path, "
        "which describe the direction of the data (see direction) in a dumbbell, a parking lot and "
        "a line; default: the links in links",
    )
    size: Annotated[int, whole(1, MAX_LINKS)] | None = Field(
        default=None,
        description="size of the shape; dumbbell: pairs of hosts; parking-lot, line: bottlenecks; "
        "star: hosts without the hub; ring, mesh: hosts",
    )
    access: Key[Link | None, Link | Table | None] = Field(default=None)
    links: Key[Annotated[dict[str, Link], BeforeValidator(by_name)], Mapping[str, Link | Table]] = (
        Field(default_factory=dict)
    )
    hosts: Key[
        Annotated[dict[str, HostOverrides], BeforeValidator(by_name)],
        Mapping[str, HostOverrides | Table],
    ] = Field(default_factory=dict)
    bottleneck: Annotated[str, NAME] | None = Field(
        default=None,
        description="link that the run's utilisation, queueing delay and loss describe; default: a "
        "dumbbell's bottleneck, otherwise the slowest link on the route of the first "
        "flow's data",
    )

    @property
    def layout(self) -> Layout:
        """Return the links with their hosts (those of the shape first), and the pairs of hosts."""
        if self.shape is None or self.size is None:
            links = self._own_links()
            is_one = len(links) == 1
            return Layout(links, tuple(links.values()) if is_one else ())
        shape = lay_out(self.shape, self.size)
        return Layout({**shape.links, **self._own_links()}, shape.pairs, shape.access)

    def host(self, name: str, hosts: Hosts) -> Hosts:
        """Return the host ``name``. ``hosts`` has the values that all hosts share."""
        overrides = self.hosts.get(name, HostOverrides())
        return hosts.model_copy(update={"client": overrides}).of("client")

    def problems_of_hosts(self, hosts: Hosts) -> Iterator[Problem]:
        """Yield problems of host overrides that do not fit ``hosts``."""
        for name in self.hosts:
            problem = self.host(name, hosts).window_problem()
            if problem is not None:
                yield problem.below(f"hosts.{name}")

    def _own_links(self) -> dict[str, Pair]:
        return {name: link.between for name, link in self.links.items() if link.between is not None}

    @model_validator(mode="after")
    def _check(self) -> "Network":
        problems = list(self._problems_of_shape()) or list(self._problems_of_links())
        problems = problems or list(self._problems_of_names())
        if problems:
            raise ConfigError(*problems)
        return self

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        """Leave out empty tables that are keyed by name."""
        return {key: value for key, value in write(self).items() if value not in ({}, None)}

    def _problems_of_shape(self) -> Iterator[Problem]:
        if self.access is not None and self.access.between is not None:
            expected = "no value, because network.shape defines which hosts access links join"
            yield Problem("access.between", list(self.access.between), expected)
        if self.access is not None and self.access.count is not None:
            yield Problem("access.count", self.access.count, "no value: network.size has it")
        if self.shape is None:
            if self.size is not None:
                yield Problem("size", self.size, "no value: it needs network.shape")
            if self.access is not None:
                yield Problem("access", MISSING, "no value: it needs network.shape")
            return
        shape = SHAPES[self.shape]
        if self.access is not None and not shape.has_access:
            yield Problem(
                "access", MISSING, f"no value, because a {self.shape} has no access links"
            )
        if self.size is None:
            yield Problem("size", MISSING, f"the number of {shape.size} in a {self.shape}")
        elif self.size < shape.least:
            yield Problem(
                "size", self.size, f"at least {shape.least} {shape.size} in a {self.shape}"
            )
        elif (count := shape.links(self.size)) > MAX_LINKS:
            expected = f"a {self.shape} with at most {MAX_LINKS} links"
            yield Problem("size", self.size, expected, f"this one has {count}")

    def _problems_of_links(self) -> Iterator[Problem]:
        known: dict[str, Pair] = {}
        if self.shape is None or self.size is None:
            if not self.links:
                yield Problem("links", MISSING, "at least one link, or network.shape")
        else:
            known = lay_out(self.shape, self.size).links
        count = len({*known, *self.links})
        if count > MAX_LINKS:
            yield Problem("links", count, f"at most {MAX_LINKS} links in total")
        joined = {frozenset(ends): name for name, ends in known.items()}
        for name, link in self.links.items():
            key, ends = f"links.{name}.between", link.between
            if name in known:
                if ends is not None:
                    expected = f"no value, because network.shape defines which hosts {name} joins"
                    yield Problem(key, list(ends), expected)
            elif ends is None:
                hint = nearest(name, known)
                expected = "two hosts" + (
                    f", or the name of a link of the {self.shape}" * bool(known)
                )
                yield Problem(key, MISSING, expected, hint)
            elif (other := joined.setdefault(frozenset(ends), name)) != name:
                yield Problem(
                    key, list(ends), f"two hosts that no other link joins ({other} joins these)"
                )

    def _problems_of_names(self) -> Iterator[Problem]:
        """Yield problems of hosts and of a bottleneck that no link has."""
        links = self.layout.links
        hosts = dict.fromkeys(host for ends in links.values() for host in ends)
        for name in self.hosts:
            if name not in hosts:
                expected = f"a host of a link: {some(hosts)}"
                yield Problem(f"hosts.{name}", MISSING, expected, nearest(name, hosts))
        if self.bottleneck is not None and self.bottleneck not in links:
            hint = nearest(self.bottleneck, links)
            yield Problem("bottleneck", self.bottleneck, f"a link: {some(links)}", hint)


def some(names: Any, most: int = 12) -> str:
    """Return up to some of ``names`` as one text."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f", … ({len(listed)})" if len(listed) > most else "")
