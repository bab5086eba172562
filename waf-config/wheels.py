# SPDX-License-Identifier: GPL-2.0-only
"""Build wheels in dist/ and try them: ``wheels.py build|try 3.10 3.12``, or ``wheels.py here``.

``here`` builds the one for this Python, of what `make setup` has compiled. One wheel serves Python
3.12 and all later versions. A wheel holds the ns-3 libraries that it needs, and its name says which
glibc it needs (auditwheel finds that out).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build/wheels"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
SHARED = "3.12"  # its wheel serves later versions, too

# What a user who has nothing but the wheel does first.
FIRST_USE = """
import tunnelcc as tc

path = tc.Path(rate="100Mbps", rtt="100ms", loss="1%", buffer="1bdp")
for tunnel in (None, "gost-relay-ws", "gost-relay-wss"):
    result = tc.run(tc.Experiment(path=path, tunnel=tunnel, flows=[tc.Flow(cc="bbr", count=4)]))
    print(tunnel, result.goodput)
"""


def main(arguments: "list[str]") -> None:
    """Run one command for all versions."""
    command, versions = arguments[0], arguments[1:]
    if arguments == ["here"]:
        python = Path(sys.executable)
        run(*pip(python), "install", "auditwheel")
        pack(python, ROOT / "build/release", "build.targets=_core")
        return
    if command not in ("build", "try") or not set(versions) <= set(VERSIONS):
        raise SystemExit(__doc__)
    if command == "build":
        for version in dict.fromkeys(map(wheel_version, versions)):
            build(version)
    else:
        for version in versions:
            try_out(version)


def build(version: str) -> None:
    """Put the wheel for one version of Python into dist/."""
    python = environment(version, WORK / f"venv-{version}")
    listed = output(python, ROOT / "waf-config/requirements.py", "build").split("\n")
    run(*pip(python), "install", *listed, "auditwheel")
    run(*pip(python), "install", "--no-deps", "ns3==3.44.post0")
    pack(python, WORK / f"build-{version}")


def pack(python: Path, folder: Path, *settings: str) -> None:
    """Compile in a folder, with an environment that has all tools; put the wheel into dist/."""
    tools = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    options = [f"--config-settings={it}" for it in (f"build-dir={folder}", *settings)]
    with tempfile.TemporaryDirectory() as built:
        run(*pip(python), "wheel", "--no-deps", "--no-build-isolation", *options,
            "--wheel-dir", built, ROOT, env=tools)  # fmt: skip
        (wheel,) = Path(built).glob("*.whl")
        for old in DIST.glob("-".join(wheel.name.split("-")[:4]) + "-*.whl"):
            old.unlink()
        run(python, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel, env=tools)


def try_out(version: str) -> None:
    """Install the wheel as a user would, without a compiler or a clone, and use it."""
    tag = "cp" + wheel_version(version).replace(".", "")
    wheels = sorted(DIST.glob(f"tunnelcc-*-{tag}-*manylinux*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"dist/ holds {len(wheels)} wheels for Python {version}, not one")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        python = environment(version, Path(folder, "venv"))
        nobody = {
            "PATH": f"{python.parent}:/usr/bin:/bin", "HOME": folder, "CC": "false", "CXX": "false",
            **{name: os.environ[name] for name in os.environ if name.startswith("PIP_")},
        }  # fmt: skip
        run(*pip(python), "install", "--only-binary", ":all:", wheels[0], env=nobody, cwd=folder)
        installed = time.monotonic()
        used = run(python, "-c", FIRST_USE, env=nobody, cwd=folder, stdout=subprocess.PIPE)
        ended = time.monotonic()
        run("tunnelcc", "--version", env=nobody, cwd=folder)
        run("tunnelcc", "doctor", env=nobody, cwd=folder)
        files = [file for file in Path(folder).rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files if not file.is_symlink())
    print(used.stdout, end="")
    print(
        f"Python {version}: {wheels[0].name}, {wheels[0].stat().st_size / 1e6:.1f} MB, installed "
        f"in {installed - began:.0f} s, first use {ended - installed:.0f} s, "
        f"environment {size / 1e6:.0f} MB"
    )


def pip(python: Path) -> "list[object]":
    """Return the command pip of an environment."""
    return [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def wheel_version(version: str) -> str:
    """Return the version whose wheel serves this one."""
    return min(version, SHARED, key=VERSIONS.index)


def environment(version: str, folder: Path) -> Path:
    """Return the interpreter of a virtual environment, which is made if it is not there."""
    inside = folder / "bin/python"
    if not inside.exists():
        python = interpreter(version)
        if not python:
            raise SystemExit(f"Python {version} was not found: install it, with its module venv")
        run(python, "-m", "venv", folder)
    return inside


def interpreter(version: str) -> str:
    """Return a Python of the version: on PATH, of pyenv or of uv; "" if there is none."""
    candidates = [f"python{version}"]
    if shutil.which("pyenv"):
        candidates += map(
            str, Path(output("pyenv", "root")).glob(f"versions/{version}.*/bin/python")
        )
    if shutil.which("uv"):
        candidates.append(output("uv", "python", "find", version))
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    return next((it for it in candidates if it and output(it, "-c", tell) == version), "")


def run(*command: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command. It ends this program if it fails."""
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def output(*command: object) -> str:
    """Return what a command prints; nothing if it fails or does not exist."""
    if not shutil.which(str(command[0])):
        return ""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or [""])
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"wheels.py: {error}") from None
