# SPDX-License-Identifier: GPL-2.0-only
"""Time system calls: sockets, packet sockets, a TUN device, context switches.

Packets cross the loopback interface or end in the TUN device. The cost of sending therefore
includes the receiving half of the network stack, up to the socket's queue. Packet sockets and the
TUN device need root. They are in a separate network namespace, which ends with the thread.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tunnelcc.apps.calibrate.timing import CHUNK, Calls, Sized, repeated

_ROOM = 4 << 20  # bytes of a socket's buffer
_HERE, _THERE = "10.231.7.1", "10.231.7.2"
_HEADERS = 28  # bytes, IPv4 and UDP
_ETHERTYPE = 0x88B5  # for local experiments (IEEE 802)

# <linux/if_tun.h>, <linux/sockios.h>, <linux/if.h>, <sched.h>
_TUNSETIFF, _IFF_TUN_NO_PI = 0x400454CA, 0x1001
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
_IFF_UP_RUNNING = 0x41
_CLONE_NEWNET = 0x40000000


@contextmanager
def sockets() -> Iterator[dict[str, Sized]]:
    """Yield the costs of datagrams and segments over the loopback interface."""
    with ExitStack() as stack:
        datagrams = stack.enter_context(_udp("127.0.0.1"))
        sender = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        sender.connect(datagrams.getsockname())
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(server.getsockname()))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        segments = stack.enter_context(server.accept()[0])
        segments.setblocking(False)
        yield {**_both_ends("udp", sender, datagrams), **_both_ends("tcp", client, segments)}


@contextmanager
def devices() -> Iterator[dict[str, Sized]]:
    """Yield the costs of packet sockets and a TUN device. Raises OSError without permission."""
    with ExitStack() as stack:
        _enter_namespace()
        control = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        _set_up(control, "lo")
        sender = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        sender.bind(("lo", 0))
        receiver = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
        receiver.bind(("lo", _ETHERTYPE))
        receiver.setblocking(False)
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        stack.callback(os.close, tun)
        device = "tun0"
        fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TUN_NO_PI))
        _set_up(control, device)
        inside = stack.enter_context(_udp(_HERE))
        yield {**_both_ends("raw", sender, receiver, _frame), **_tun(tun, inside)}


def _both_ends(
    name: str,
    sender: socket.socket,
    receiver: socket.socket,
    make: Callable[[int], bytes] = bytes,
) -> dict[str, Sized]:
    def send(size: int) -> Calls:
        data = make(size)
        return repeated(lambda: sender.send(data), lambda: _drain(receiver))

    def receive(size: int) -> Calls:
        data = make(size)

        def fill() -> None:
            _drain(receiver)
            for _ in range(CHUNK):
                sender.send(data)

        return repeated(lambda: receiver.recv(size), fill)

    return {f"{name}-send": send, f"{name}-receive": receive}


def _tun(tun: int, inside: socket.socket) -> dict[str, Sized]:
    def write(size: int) -> Calls:
        data = _datagram(size, inside.getsockname()[1])
        return repeated(lambda: os.write(tun, data), lambda: _drain(inside))

    def packet() -> bytes:
        return os.read(tun, 2048)

    def read(size: int) -> Calls:
        data = bytes(size - _HEADERS)

        def fill() -> None:
            _empty(packet)
            for _ in range(CHUNK):
                inside.sendto(data, (_THERE, 9))

        return repeated(packet, fill)

    return {"tun-write": write, "tun-read": read}


def _udp(address: str) -> socket.socket:
    receiver = socket.socket(type=socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
    receiver.bind((address, 0))
    receiver.setblocking(False)
    return receiver


def _drain(receiver: socket.socket) -> None:
    _empty(lambda: receiver.recv(65536))


def _empty(read: Callable[[], bytes]) -> None:
    try:
        while read():
            pass
    except BlockingIOError:
        pass


def _frame(size: int) -> bytes:
    return (bytes(12) + _ETHERTYPE.to_bytes(2, "big")).ljust(size, b"\0")


def _datagram(size: int, port: int) -> bytes:
    """Return an IPv4 packet to this host with a UDP datagram without checksum."""
    ends = socket.inet_aton(_THERE) + socket.inet_aton(_HERE)
    header = struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0, 64, socket.IPPROTO_UDP, 0) + ends
    total = sum(struct.unpack("!10H", header))
    checksum = ~(total + (total >> 16)) & 0xFFFF
    header = header[:10] + struct.pack("!H", checksum) + header[12:]
    datagram: bytes = header + struct.pack("!HHHH", 9, port, size - 20, 0)
    return datagram.ljust(size, b"\0")


def _enter_namespace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _set_up(control: socket.socket, device: str) -> None:
    name = device.encode()
    if device != "lo":
        for request, address in ((_SIOCSIFADDR, _HERE), (_SIOCSIFNETMASK, "255.255.255.0")):
            family = struct.pack("H2x", socket.AF_INET)
            fcntl.ioctl(
                control, request, struct.pack("16s4s4s8x", name, family, socket.inet_aton(address))
            )
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", name, _IFF_UP_RUNNING))


def system_call() -> Calls:
    """Return the cheapest system call there is."""
    return repeated(os.getppid)


def switches() -> tuple[Calls, Calls]:
    """Return a byte's round trip between two processes on one core, and within one process.

    Each call writes and reads one byte. The first also has one context switch.
    """
    core = min(os.sched_getaffinity(0))

    def between(count: int) -> float:
        there, back = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            _echo(core, count, there[0], back[1])
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})
        try:
            start = time.thread_time_ns()
            for _ in range(count):
                os.write(there[1], b"x")
                os.read(back[0], 1)
            taken = time.thread_time_ns() - start
            taken += int(os.read(back[0], 32))
        finally:
            os.sched_setaffinity(0, allowed)
            os.waitpid(child, 0)
            for end in (*there, *back):
                os.close(end)
        return taken / 2

    def within(count: int) -> float:
        out, in_ = os.pipe()
        taken = repeated(lambda: (os.write(in_, b"x"), os.read(out, 1)))(count)
        os.close(out)
        os.close(in_)
        return taken

    return between, within


def _echo(core: int, count: int, out: int, in_: int) -> None:
    """Echo ``count`` bytes, report the CPU time (ns), and end the process."""
    os.sched_setaffinity(0, {core})
    start = time.thread_time_ns()
    for _ in range(count):
        os.read(out, 1)
        os.write(in_, b"x")
    os.write(in_, str(time.thread_time_ns() - start).encode())
    os._exit(0)
