# SPDX-License-Identifier: GPL-2.0-only
"""What runs in the kernel of a measurement, as its first process.

It reads plan.json in the folder where the kernel runs (``plan.py`` writes it), makes a network
namespace for each host, lets ``_core`` carry the packets between them, or routers of this kernel,
starts the programs at their times, and leaves what they told in the folder. It needs nothing but
Python's own modules.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

SECOND = 1_000_000_000
OUT = Path("/run/out")

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_NAMESPACE = 0x40000000  # CLONE_NEWNET
_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
_BIND, _PRIVATE = 4096, 1 << 18 | 16384  # MS_BIND, MS_PRIVATE | MS_REC
_DROP = 24  # PR_CAPBSET_DROP
# What a program needs to leave its view of files, to look into others, or to stop the kernel:
# CAP_DAC_READ_SEARCH, _SYS_MODULE, _SYS_RAWIO, _SYS_PTRACE, _SYS_ADMIN, _SYS_BOOT, _MKNOD.
_DROPPED = (2, 16, 17, 19, 21, 22, 27)
_TUN, _SET_TUN, _NO_HEADER = 0x0001, 0x400454CA, 0x1000  # IFF_TUN, TUNSETIFF, IFF_NO_PI
_ETHTOOL, _SET_TSO = 0x8946, 0x1F  # SIOCETHTOOL, ETHTOOL_STSO
_POWER_OFF = 0x4321FEDC
_SET_SLACK, _USUAL_SLACK = 29, 50_000  # PR_SET_TIMERSLACK, ns
_ALL_PACKETS, _OUTGOING = 0x0003, 4  # ETH_P_ALL, PACKET_OUTGOING
_SEEN = 128  # bytes of each packet that a router's log looks at


def _must(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(kind: str, place: str, source: str = "none", options: str = "", flags: int = 0) -> None:
    """Mount, without mount(8), which some systems do not let a namespace's root use."""
    _must(
        _LIBC.mount(source.encode(), place.encode(), kind.encode(), flags, options.encode()),
        f"mounting {kind} on {place}",
    )


def enter(host: str) -> None:
    """Go to the network namespace of a host."""
    with open(f"/run/netns/{host}") as file:
        _must(_LIBC.setns(file.fileno(), _NEW_NAMESPACE), f"setns {host}")


def now() -> int:
    """Return the kernel's time, ns."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def sleep_until(when: int) -> None:
    """Wait for a time, ns."""
    while (left := when - now()) > 0:
        time.sleep(left / SECOND)


def make_namespace(host: str) -> None:
    """Make the network namespace of a host, which `ip -n` knows by its name, and go there."""
    place = Path("/run/netns", host)
    place.parent.mkdir(exist_ok=True)
    place.touch()
    _must(_LIBC.unshare(_NEW_NAMESPACE), "unshare")
    mount("none", str(place), "/proc/self/ns/net", flags=_BIND)


def make_device(name: str) -> int:
    """Return the file of a new TUN device in this namespace."""
    import fcntl

    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, _SET_TUN, struct.pack("16sH22x", name.encode(), _TUN | _NO_HEADER))
    return file


def segment_in_software(device: str) -> None:
    """Let packets leave a device as they would leave a network card, not as one of 64 KiB."""
    import fcntl

    value = ctypes.create_string_buffer(struct.pack("II", _SET_TSO, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
        fcntl.ioctl(any_socket, _ETHTOOL, request)


def configure(commands: dict[str, list[str]]) -> None:
    """Give commands of ip(8) or tc(8), by "PROGRAM HOST", a program for all of one host."""
    for key, lines in commands.items():
        program, host = key.split()
        done = subprocess.run(
            [program, "-n", host, "-b", "-"], input="\n".join(lines) + "\n", text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{program} in {host}: {done.stderr.strip()}: {'; '.join(lines)}")


def set_values(values: dict[str, str]) -> None:
    """Set sysctls of this namespace; those that this kernel lacks are no error."""
    for name, value in values.items():
        file = Path("/proc/sys", *name.split("."))
        if file.exists():
            file.write_text(value)


def carry(plan: dict[str, Any], devices: list[int], begin: int) -> None:
    """Carry the packets of the experiment's links until its end, in a process of its own."""
    spec = importlib.util.spec_from_file_location("tunnelcc._core", plan["core"])
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    captures = [str(OUT / f"{it}.pcap") if plan["capture"] else "" for it in plan["hosts"]]
    report = core.carry_packets(
        plan["spec"], list(zip(devices, captures, strict=True)),
        [tuple(it) for it in plan["ways"]],
        begin, begin + plan["warmup"], begin + plan["duration"],
    )  # fmt: skip
    (OUT / "link.json").write_text(json.dumps(report))


class RouterLog:
    """What comes into a router and leaves it again: the queue of its device ``out``.

    Packets are those of a veth that nothing merges. Each is known by its IP header without what a
    router changes, and by what follows it.
    """

    def __init__(self, plan: dict[str, Any], begin: int) -> None:
        self._begin = begin
        self._steady, self._end = begin + plan["warmup"], begin + plan["duration"]
        self._wall = time.time_ns() - now()
        self._out, self._rate = plan["router_out"], plan["router_rate"]
        self._waiting: dict[bytes, list[int]] = {}
        self._delays: list[int] = []
        self._packets = 0
        self._latest = 0  # when the youngest packet arrived that has left
        enter(plan["router"])
        self._socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PACKETS)
        )
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 30)  # SO_RCVBUFFORCE
        self._socket.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        self._socket.setblocking(False)

    def run(self) -> None:
        """Read until the end, and write what was seen."""
        while now() < self._end:
            sleep_until(min(now() + SECOND // 10, self._end))
            self._read()
        delays = sorted(self._delays)
        # What came later than that may still wait.
        lost = [it for arrivals in self._waiting.values() for it in arrivals if it < self._latest]
        counts = {
            "packets": self._packets,
            "drops": sum(it >= self._steady for it in lost),
            "all_drops": len(lost),
            "queue_mean": sum(delays) / max(len(delays), 1) / SECOND,
            "queue_p95": (delays[int(0.95 * len(delays))] if delays else 0) / SECOND,
        }
        report = {"forward": [counts], "reverse": [], "late_p99": 0.0}
        (OUT / "link.json").write_text(json.dumps(report))

    def _read(self) -> None:
        while True:
            try:
                packet, extra, _, address = self._socket.recvmsg(_SEEN, 64)
            except BlockingIOError:
                return
            device, _, kind = address[:3]
            seconds, nanoseconds = struct.unpack("qq", extra[0][2])
            when = seconds * SECOND + nanoseconds - self._wall
            if len(packet) < 28 or when < self._begin:
                continue
            # Without DSCP and ECN, TTL and checksum.
            key = packet[2:8] + packet[9:10] + packet[12:52]
            if kind == _OUTGOING:
                if device == self._out and (arrivals := self._waiting.get(key)):
                    arrived = arrivals.pop(0)
                    self._latest = max(self._latest, arrived)
                    if arrived >= self._steady:
                        # Where a packet leaves when its last bit has left, without its own time.
                        size = struct.unpack("!H", packet[2:4])[0]
                        own = round(8e9 * size / self._rate) if self._rate else 0
                        self._delays.append(max(when - arrived - own, 0))
            elif device != self._out:
                self._waiting.setdefault(key, []).append(when)
                self._packets += when >= self._steady


def fork(what: Callable[[], object], priority: int) -> int:
    """Run a function in a process of its own. Its errors go to the log.

    ``priority``: among what must be in time. Programs come behind: iperf3 3.12 asks the clock
    without a pause for a round trip before it begins.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            what()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return child


def start(command: dict[str, Any], plan: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start a program on a host; what it prints is in files of its name."""
    name = command["name"]
    with (OUT / f"{name}.out").open("ab") as out, (OUT / f"{name}.err").open("ab") as err:
        return subprocess.Popen(
            command["argv"], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            preexec_fn=lambda: _be_program(command["host"], plan), start_new_session=True,
        )  # fmt: skip


def _be_traffic(part: dict[str, Any], begin: int, end: int) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    traffic = importlib.import_module(part.get("module", "traffic"))
    traffic.run(part, begin, end, OUT / f"{part['name']}.json")


def _be_program(host: str, plan: dict[str, Any]) -> None:
    """Let a program see the root read-only, without users' files and without the answers."""
    _LIBC.prctl(_SET_SLACK, _USUAL_SLACK)
    enter(host)
    _must(_LIBC.unshare(_NEW_MOUNTS), "unshare")
    mount("none", "/", flags=_PRIVATE)
    # Folders of programs that lie in those of users are seen all the same.
    kept = {it: Path(f"/run/programs-{os.getpid()}-{n}") for n, it in enumerate(plan["shown"])}
    kept = {it: place for it, place in kept.items() if os.path.isdir(it)}
    for it, place in kept.items():
        place.mkdir()
        mount("none", str(place), it, flags=_BIND)
    for place in (*plan["hidden"], str(OUT)):
        mount("tmpfs", place)
    for it, place in kept.items():
        Path(it).mkdir(parents=True, exist_ok=True)
        mount("none", it, str(place), flags=_BIND)
    for capability in _DROPPED:
        _LIBC.prctl(_DROP, capability, 0, 0, 0)


def run(plan: dict[str, Any]) -> None:
    """Do what the plan says."""
    _LIBC.prctl(_SET_SLACK, 1)  # what this program does at a time is exact
    Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    set_values(plan["global_sysctls"])
    devices = []
    for host in plan["namespaces"]:
        make_namespace(host)
        if host in plan["hosts"] and not plan["router"]:
            devices.append(make_device("wire"))
        set_values(plan["sysctls"])
    configure(plan["configure"])
    for host, device in plan["segment"]:
        enter(host)
        segment_in_software(device)
    begin = now() + plan["lead"]
    end = begin + plan["duration"]
    helpers = []
    if plan["router"]:
        helpers.append(fork(lambda: RouterLog(plan, begin).run(), 10))
    else:
        helpers.append(fork(lambda: carry(plan, devices, begin), 50))
        for file in devices:
            os.close(file)
    for part in plan["traffic"]:
        helpers.append(fork(partial(_be_traffic, part, begin, end), 40))
    started = []
    for command in sorted(plan["commands"], key=lambda it: it["at"]):
        sleep_until(begin + command["at"])
        (OUT / "time").write_text(str((now() - begin) / SECOND))
        running = start(command, plan)
        if command["wait"]:
            running.wait()
        else:
            started.append((command, running))
    while now() < end:
        sleep_until(min(end, now() + max(plan["duration"] // 20, SECOND)))
        (OUT / "time").write_text(str((now() - begin) / SECOND))
    for child in helpers:
        os.waitpid(child, 0)
    codes = {command["name"]: running.poll() for command, running in started}
    for _, running in started:
        running.send_signal(signal.SIGTERM)
    until = now() + 5 * SECOND
    for _, running in started:
        try:
            running.wait(max((until - now()) / SECOND, 0.01))
        except subprocess.TimeoutExpired:
            running.kill()
    (OUT / "codes.json").write_text(json.dumps(codes))


def main() -> None:
    """Be the first process of a kernel: mount, run, and switch it off."""
    folder = os.readlink("/proc/self/cwd")  # still the machine's own: the kernel's process
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"),
                        ("tmpfs", "/run"), ("tmpfs", "/var/tmp")):  # fmt: skip
        mount(kind, place)
    OUT.mkdir()
    mount("hostfs", str(OUT), options=folder)
    try:
        with (OUT / "log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.chdir("/run")
        plan = json.loads((OUT / "plan.json").read_text())
        os.environ |= {"TMPDIR": "/run", "HOME": "/run", "PATH": plan["path"]}
        run(plan)
        (OUT / "done").touch()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.sync()
        _LIBC.reboot(ctypes.c_int(_POWER_OFF))


if __name__ == "__main__":
    main()
