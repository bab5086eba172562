# SPDX-License-Identifier: GPL-2.0-only
"""The two hosts: kernel, socket buffers, memory and CPUs."""

from typing import Annotated

from pydantic import model_validator

from tunnelcc.config.values import Switch
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema import (
    GONE,
    MORE,
    Field,
    Key,
    Kind,
    Model,
    Relaxed,
    Table,
    choice,
    number,
    size,
    time,
    whole,
)
from tunnelcc.schema.units import UnitError

_VERSION = choice(*kernels())


def _parse_version(value: object) -> str:
    if isinstance(value, float):  # TOML reads 5.10 as 5.1
        raise UnitError(_VERSION.expected, "put a version in quotes")
    version: str = _VERSION.parse(value)
    return version


_NEWEST = Relaxed(to=[*kernels()][-1])
KernelVersion = Annotated[str, Kind(_parse_version, str, _VERSION.expected), _NEWEST]
LEAST_WINDOW = 1024  # bytes, a quarter of the least buffer, as tcp_adv_win_scale = -2 leaves
SocketBuffer = Annotated[int, size(4096, 2**31 - 1), MORE]
Memory = Annotated[int, size(2**20, 2**50), MORE]
CpuCost = Annotated[float, number(0, 1e6), GONE]
GroTime = Annotated[float, time(1e-6, 0.01, at_zero=True)]


def _parse_profile(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError("the name of a cost profile")
    costs.load(value)
    return value


Profile = Annotated[str, Kind(_parse_profile, str, "a cost profile of `tunnelcc list`, or a file")]


#: Keys that hosts on one machine have in common.
OF_MACHINES = ("cores", "speed", "memory", "tcp_memory", "switch_cost")


class HostOverrides(Model):
    """Keys that differ on one of the two hosts. They mean the same as in ``hosts``."""

    kernel: KernelVersion | None = None
    tcp_rmem: Key[SocketBuffer | None, int | str | None] = Field(default=None)
    tcp_wmem: Key[SocketBuffer | None, int | str | None] = Field(default=None)
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = None
    tcp_moderate_rcvbuf: Switch | None = None
    gro: Key[GroTime | None, str | None] = Field(default=None)
    cores: Annotated[int, whole(1, 1024), MORE] | None = None
    speed: Annotated[float, number(0, 1000, above=True), MORE] | None = None
    memory: Key[Memory | None, int | str | None] = Field(default=None)
    tcp_memory: Key[Memory | None, int | str | None] = Field(default=None)
    app_cost: CpuCost | None = None
    switch_cost: CpuCost | None = None


class Hosts(Model):
    """The two hosts. They are equal unless ``client`` or ``server`` overrides a key.

    >>> tc.Hosts(kernel="5.10", client={"cores": 1}).client.cores
    1
    """

    kernel: KernelVersion = Field(
        default="6.18", description="Linux version; sets the socket buffers and how they are used"
    )
    tcp_rmem: Key[SocketBuffer | None, int | str | None] = Field(
        default=None,
        description="maximum of net.ipv4.tcp_rmem; default: the kernel's default for this memory",
    )
    tcp_wmem: Key[SocketBuffer, int | str] = Field(
        default=4 * 2**20, description="maximum of net.ipv4.tcp_wmem"
    )
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = Field(
        default=None,
        description="net.ipv4.tcp_adv_win_scale; kernel 5.10 uses it (default there: 1), later "
        "kernels ignore it",
    )
    tcp_moderate_rcvbuf: Switch = Field(
        default=True,
        description="net.ipv4.tcp_moderate_rcvbuf; true: the window grows with what the "
        "application reads; false: it has its full size at once",
    )
    gro: Key[GroTime, str] = Field(
        default=0.0,
        description="time in which the network card collects packets before an interrupt "
        "(rx-usecs); GRO makes the segments of a connection that come in order one packet of up "
        "to 64 KiB, with one ACK; 0: no GRO. Connections in a tunnel of packets have none",
    )
    cores: Annotated[int, whole(1, 1024), MORE] = Field(default=2, description="CPU cores")
    speed: Annotated[float, number(0, 1000, above=True), MORE] = Field(
        default=1.0,
        description="speed of a core, relative to the host where the tunnel's costs were measured",
    )
    memory: Key[Memory | None, int | str | None] = Field(
        default=None, description="RAM; sets tcp_memory as Linux does (tcp_mem); default: no limit"
    )
    tcp_memory: Key[Memory | None, int | str | None] = Field(
        default=None,
        description="bytes that all sockets together may hold; default: derived from memory",
    )
    profile: Profile | None = Field(
        default=None,
        description="costs of operations: a profile of `tunnelcc list`, or a file from `tunnelcc "
        "calibrate-host`; default: tunnels use reference-host, and the applications' "
        "system calls and context switches are free",
    )
    app_cost: CpuCost = Field(
        default=0.0,
        description="the application's CPU time in ns per byte, in one thread for all flows; a "
        "profile adds its system calls",
    )
    switch_cost: CpuCost | None = Field(
        default=None,
        description="CPU time of a context switch in ns; default: the profile's; 0 at relays, "
        "whose measured CPU time already contains it",
    )
    one_machine: Switch = Field(
        default=False,
        description="whether all hosts share one machine, for example as network namespaces",
    )
    client: Key[HostOverrides, HostOverrides | Table] = Field(default=HostOverrides.default())
    server: Key[HostOverrides, HostOverrides | Table] = Field(default=HostOverrides.default())

    def of(self, side: str) -> "Hosts":
        """Return the host ``side`` (client or server), with its overrides applied."""
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

    @property
    def receive_buffer(self) -> int:
        """The largest receive buffer (bytes) of a socket."""
        return kernels()[self.kernel].receive_buffer(self.tcp_rmem, self.memory)

    @property
    def receive_window(self) -> int:
        """The window (bytes) that such a buffer advertises, before it is scaled."""
        kernel = kernels()[self.kernel]
        return kernel.receive_window(self.receive_buffer, self.tcp_adv_win_scale)

    @property
    def socket_memory(self) -> int:
        """The bytes that all sockets may hold together; 0: no limit."""
        if self.tcp_memory is not None:
            return self.tcp_memory
        return int((self.memory or 0) * kernels()[self.kernel].tcp_memory_fraction)

    def context_switch(self, is_contained: bool) -> float:
        """Return the CPU time (ns) of a context switch.

        It is 0 without a profile, and 0 if a measured cost already contains it.
        """
        if self.switch_cost is not None or self.profile is None or is_contained:
            return self.switch_cost or 0.0
        return costs.of(costs.load(self.profile), ["context-switch"]).per_call / self.speed

    def window_problem(self) -> Problem | None:
        """Return a problem if the kernel ignores ``tcp_adv_win_scale``, or no window is left."""
        scale, kernel = self.tcp_adv_win_scale, kernels()[self.kernel]
        if scale is None:
            return None
        expected = f"no value with kernel {self.kernel}, which ignores it"
        if kernel.has_adv_win_scale:
            if self.receive_window >= LEAST_WINDOW:
                return None
            expected = (
                f"a value that leaves a window of {LEAST_WINDOW} bytes or more; of a buffer of "
                f"{self.receive_buffer} bytes (tcp_rmem), this one leaves {self.receive_window}"
            )
        return Problem("tcp_adv_win_scale", scale, expected)

    @model_validator(mode="after")
    def _check(self) -> "Hosts":
        client, server = self.of("client"), self.of("server")
        for prefix, side in (("", self), ("client", client), ("server", server)):
            problem = side.window_problem()
            if problem is not None:
                raise ConfigError(problem.below(prefix))
        for key in OF_MACHINES if self.one_machine else ():
            if getattr(client, key) != getattr(server, key):
                expected = "equal values on client and server, because they are on one machine"
                raise ConfigError(Problem(key, getattr(server, key), expected))
        return self
