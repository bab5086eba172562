# SPDX-License-Identifier: GPL-2.0-only
"""Compile the Linux that runs as a process and has a virtual clock, and put it into a wheel.

    build.py wheel|kernel FOLDER [--deb FILE] [--jobs N]

``wheel`` writes ``tunnelcc_linux-…whl``, ``kernel`` the program ``linux`` alone. The source is
Debian's package that ``source.toml`` names; apt downloads it (170 MB), from the mirror that this
machine uses, or it is FILE. It takes 2 GB of room, and four minutes of CPU time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYRINGS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: Program → Debian's package that has it.
NEEDED = {
    "apt-get": "apt", "dpkg-deb": "dpkg", "make": "make", "gcc": "gcc", "flex": "flex",
    "bison": "bison", "bc": "bc", "patch": "patch", "xz": "xz-utils", "tar": "tar",
    "strip": "binutils",
}  # fmt: skip
PLATFORM = "manylinux_2_17_x86_64"  # it is linked statically


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("wheel", "kernel"))
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--deb", type=Path, help="the source package, if you have it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once")
    parser.add_argument(
        "--kernel", type=Path, help="a folder that `kernel` has written, for the wheel"
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tunnelcc-linux-") as work:
        built = options.kernel
        if built is None:
            check()
            built = Path(work, "kernel") if options.what == "wheel" else options.folder
            built.mkdir(exist_ok=True)
            compile_kernel(Path(work), built, options.deb, options.jobs)
        if options.what == "wheel":
            pack(Path(work), built, options.folder)


def check() -> None:
    """End with the names of all packages that are missing."""
    missing = {package for program, package in NEEDED.items() if not shutil.which(program)}
    compiler = shutil.which("gcc")
    if compiler and not Path(output(compiler, "-print-file-name=libc.a")).is_absolute():
        missing.add("libc6-dev")
    if missing:
        raise SystemExit(f"install first: apt-get install {' '.join(sorted(missing))}")


def described() -> dict[str, str]:
    """Return what source.toml says."""
    lines = (HERE / "source.toml").read_text()
    return dict(re.findall(r'^(\w+) = "(.*)"$', lines, re.MULTILINE))


def compile_kernel(work: Path, to: Path, deb: Path | None, jobs: int) -> None:
    """Write the kernel, stripped, its configuration and its licence into a folder."""
    source = described()
    deb = deb or download(work, source)
    found = hashlib.sha256(deb.read_bytes()).hexdigest()
    if found != source["sha256"]:
        raise SystemExit(f"{deb} has the SHA-256 {found}, not {source['sha256']} of source.toml")
    tree = work / "source"
    tree.mkdir()
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    run("tar", "-x", "-C", str(work), "--wildcards", "*/linux-source-*.tar.*", stdin=unpack.stdout)
    (archive,) = work.glob("usr/src/linux-source-*.tar.*")
    run("tar", "-xf", str(archive), "--strip-components=1", "-C", str(tree))
    archive.unlink()
    for change in sorted((HERE / "patches").glob("*.patch")):
        run("patch", "--strip=1", f"--input={change}", cwd=tree)
    names = re.findall(r"^[A-Z0-9_]+$", (HERE / "options").read_text(), re.MULTILINE)
    wanted = [*(f"CONFIG_{name}=y" for name in names), 'CONFIG_CON_CHAN="null"']
    (tree / "wanted").write_text("\n".join(wanted) + "\n")
    # Nothing of this machine is in the kernel, so that the same compiler makes the same bytes.
    fixed = {
        **os.environ, "KBUILD_BUILD_USER": "tunnelcc", "KBUILD_BUILD_HOST": "tunnelcc",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC", "KBUILD_BUILD_VERSION": "1",
    }  # fmt: skip
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    make = ("make", "-s", "ARCH=um", f"CC={compiler}", f"HOSTCC={compiler}")
    run(*make, "KCONFIG_ALLCONFIG=wanted", "allnoconfig", cwd=tree, env=fixed)
    given = (tree / ".config").read_text().splitlines()
    if lost := [line for line in wanted if line not in given]:
        raise SystemExit(f"options that this kernel does not have so: {', '.join(lost)}")
    run(*make, f"-j{jobs}", "linux", cwd=tree, env=fixed)
    run("strip", "-o", str(to / "linux"), str(tree / "linux"))
    shutil.copyfile(tree / ".config", to / "config")
    shutil.copyfile(tree / "LICENSES/preferred/GPL-2.0", to / "COPYING")


def download(work: Path, source: dict[str, str]) -> Path:
    """Return Debian's source package, which apt downloads without a change of this system."""
    sites = output("apt-get", "indextargets", "--format", "$(SITE) $(CREATED_BY)").splitlines()
    mirrors = [line.split()[0] for line in sites if line.endswith("debian Packages")]
    if not mirrors:
        raise SystemExit("apt has no mirror of Debian here: give the source package with --deb")
    (work / "lists/partial").mkdir(parents=True)
    (work / "sources.list").write_text(
        f"deb [signed-by={KEYRINGS}] {mirrors[0]} {source['suite']} main\n"
    )
    options = [
        f"-oDir::Etc::sourcelist={work}/sources.list", "-oDir::Etc::sourceparts=-",
        f"-oDir::State::lists={work}/lists", f"-oDir::Cache={work}/cache",
        "-oAPT::Sandbox::User=root" if os.getuid() == 0 else "-oAPT::Sandbox::Seccomp=0",
    ]  # fmt: skip
    run("apt-get", "-qq", *options, "update")
    wanted = f"{source['package']}={source['package_version']}"
    done = subprocess.run(["apt-get", "-q", *options, "download", wanted], cwd=work, check=False)
    debs = list(work.glob("*.deb"))
    if done.returncode != 0 or len(debs) != 1:
        raise SystemExit(
            f"{source['suite']} no longer has {wanted}. Debian keeps all versions: give that file "
            "with --deb, or take another in source.toml"
        )
    return debs[0]


def pack(work: Path, built: Path, to: Path) -> None:
    """Put what was compiled into a wheel, with all that it was made of."""
    source = described()
    package = work / "package"
    shutil.copytree(HERE / "package", package)
    inner = package / "tunnelcc_linux"
    for file in (built / "linux", built / "config", HERE / "source.toml", HERE / "options",
                 *(HERE / "patches").glob("*.patch"), Path(__file__)):  # fmt: skip
        shutil.copy(file, inner)
    shutil.copyfile(built / "COPYING", package / "COPYING")
    kernel = inner / "linux"
    kernel.chmod(0o755)
    (inner / "__init__.py").write_text(
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        f'"""Linux of {source["package"]} {source["package_version"]} as a program."""\n\n'
        f'__version__ = "{source["version"]}"\n'
        f'SHA256 = "{hashlib.sha256(kernel.read_bytes()).hexdigest()}"\n'
    )
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "install", "wheel")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", str(work / "wheels"), str(package))
    (wheel,) = (work / "wheels").glob("*.whl")
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", PLATFORM, str(wheel))
    (wheel,) = (work / "wheels").glob("*.whl")
    shutil.copy(wheel, to)
    print(f"{to / wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")


def run(*command: str, **how: object) -> None:
    subprocess.run(command, check=True, **how)  # type: ignore[call-overload]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
