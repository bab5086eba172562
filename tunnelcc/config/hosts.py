# SPDX-License-Identifier: GPL-2.0-only
"""The two hosts: kernel, socket buffers, memory, CPUs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from tunnelcc.config.values import Switch
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema import Kind, Model, choice, number, size, whole
from tunnelcc.schema.units import UnitError

_VERSION = choice(*kernels())


def _parse_version(value: object) -> str:
    if isinstance(value, float):  # TOML reads 5.10 as 5.1
        raise UnitError(_VERSION.expected, "a version needs quotes")
    version: str = _VERSION.parse(value)
    return version


KernelVersion = Annotated[str, Kind(_parse_version, str, _VERSION.expected)]
SocketBuffer = Annotated[int, size(4096, 2**31 - 1)]
Memory = Annotated[int, size(2**20, 2**50)]
CpuCost = Annotated[float, number(0, 1e6)]


def _parse_profile(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError("the name of a cost profile")
    costs.load(value)
    return value


Profile = Annotated[str, Kind(_parse_profile, str, "a cost profile of `tunnelcc list`, or a file")]


#: Keys that hosts on one machine have in common.
OF_MACHINES = ("cores", "speed", "memory", "tcp_memory", "switch_cost")


class HostOverrides(Model):
    """What differs on one of the two hosts; the keys mean what they mean in ``hosts``."""

    kernel: KernelVersion | None = None
    tcp_rmem: SocketBuffer | None = None
    tcp_wmem: SocketBuffer | None = None
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = None
    tcp_moderate_rcvbuf: Switch | None = None
    cores: Annotated[int, whole(1, 1024)] | None = None
    speed: Annotated[float, number(0, 1000, above=True)] | None = None
    memory: Memory | None = None
    tcp_memory: Memory | None = None
    app_cost: CpuCost | None = None
    switch_cost: CpuCost | None = None


class Hosts(Model):
    """The two hosts, equal unless ``client`` or ``server`` says otherwise."""

    kernel: KernelVersion = Field("6.18", description="Linux version, for buffers and their use")
    tcp_rmem: SocketBuffer | None = Field(
        None,
        description="net.ipv4.tcp_rmem, the maximum; not given: the kernel's own, for this memory",
    )
    tcp_wmem: SocketBuffer = Field(4 * 2**20, description="net.ipv4.tcp_wmem, the maximum")
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = Field(
        None, description="net.ipv4.tcp_adv_win_scale, 1 on kernel 5.10; later kernels ignore it"
    )
    tcp_moderate_rcvbuf: Switch = Field(
        True,
        description="net.ipv4.tcp_moderate_rcvbuf: windows grow with what is read; false: "
        "they have their full size at once",
    )
    cores: Annotated[int, whole(1, 1024)] = Field(2, description="CPU cores")
    speed: Annotated[float, number(0, 1000, above=True)] = Field(
        1.0, description="of a core, relative to the host where the tunnel's costs were measured"
    )
    memory: Memory | None = Field(
        None, description="RAM; sets tcp_memory as Linux does (tcp_mem); not given: not limited"
    )
    tcp_memory: Memory | None = Field(
        None, description="bytes all sockets may hold together, else from memory"
    )
    profile: Profile | None = Field(
        None,
        description="what operations cost: a profile of `tunnelcc list`, or a file written by "
        "`tunnelcc calibrate-host`; not given: reference-host for tunnels, and the applications' "
        "system calls and switches between threads cost nothing",
    )
    app_cost: CpuCost = Field(
        0.0,
        description="CPU time of the application, ns per byte, one thread for all flows; with a "
        "profile, its system calls come on top",
    )
    switch_cost: CpuCost | None = Field(
        None,
        description="CPU time of a core's change to another thread, ns, else the profile's; at "
        "relays none, whose measured CPU time contains it",
    )
    one_machine: Switch = Field(
        False, description="all hosts are on one machine, say in network namespaces, and share it"
    )
    client: HostOverrides = Field(default_factory=HostOverrides)
    server: HostOverrides = Field(default_factory=HostOverrides)

    def of(self, side: str) -> Hosts:
        """Return the host called ``side`` (client or server), without overrides."""
        if not (self.client.model_fields_set or self.server.model_fields_set):
            return self
        overrides: HostOverrides = getattr(self, side)
        changed = {
            name: value
            for name in HostOverrides.model_fields
            if (value := getattr(overrides, name)) is not None
        }
        return self.model_copy(
            update={**changed, "client": HostOverrides(), "server": HostOverrides()}
        )

    @model_validator(mode="after")
    def _check(self) -> Hosts:
        for prefix, side in (
            ("", self),
            ("client.", self.of("client")),
            ("server.", self.of("server")),
        ):
            kernel = kernels()[side.kernel]
            if side.tcp_adv_win_scale is not None and not kernel.has_adv_win_scale:
                raise ConfigError(
                    Problem(
                        f"{prefix}tcp_adv_win_scale",
                        side.tcp_adv_win_scale,
                        f"no value with kernel {side.kernel}, where it has no effect",
                    )
                )
        client, server = self.of("client"), self.of("server")
        for key in OF_MACHINES:
            if self.one_machine and getattr(client, key) != getattr(server, key):
                expected = "equal values on client and server, which are on one machine"
                raise ConfigError(Problem(key, getattr(server, key), expected))
        return self
