#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the Python interpreter to build with, or says in one sentence what this machine lacks and
# exits with 2. PYTHON and CXX in the environment choose the interpreter and the compiler.

fail() {
    echo "tunnelcc: $1" >&2
    exit 2
}

[ -w . ] ||
    fail "$PWD cannot be written, and the environment and the build go there: copy the clone to a folder of yours."
system=$(uname -s) machine=$(uname -m)
[ "$system $machine" = "Linux x86_64" ] ||
    fail "this is $system on $machine, and ns-3's wheel exists for Linux on x86_64 only: use such a machine, a virtual machine or a container."
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) ||
    fail "this system's C library is not glibc, which ns-3's wheel needs: use a distribution with glibc 2.28 or later (Debian 10, Ubuntu 20.04, RHEL 8 or newer)."
[ "$(printf '%s\n' 2.28 "${libc#glibc }" | sort -V | head -n 1)" = 2.28 ] ||
    fail "this system has $libc, and ns-3's wheel needs glibc 2.28 or later: use a newer distribution (Debian 10, Ubuntu 20.04, RHEL 8 or newer)."

is_supported='import sys; sys.exit(not ((3, 10) <= sys.version_info < (3, 14) and sys.implementation.name == "cpython" and sys.maxsize > 2**32))'
python=
if [ -n "$PYTHON" ]; then
    set -- "$PYTHON" # whose path may have spaces
else
    set -- python3 python3.13 python3.12 python3.11 python3.10
fi
for candidate; do
    if "$candidate" -c "$is_supported" 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] ||
    fail "no CPython from 3.10 to 3.13 found (looked for ${PYTHON:-python3, python3.13, python3.12, python3.11, python3.10}): install one (apt install python3 python3-venv python3-dev) or name it with PYTHON=/path/to/python3."
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$python has no venv module: install it (apt install python3-venv)."
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
[ -f "$include/Python.h" ] ||
    fail "$python has no C headers ($include/Python.h): install them (apt install python3-dev)."

cxx=${CXX:-c++}
# CXX may hold a compiler and its options.
# shellcheck disable=SC2086
command -v $cxx >/dev/null ||
    fail "no C++ compiler found (looked for $cxx): install one (apt install g++) or name it with CXX=/path/to/compiler."
# shellcheck disable=SC2086
printf '#include <concepts>\n#include <span>\nint main() { return []<std::integral T>(T x) { return x; }(0); }\n' |
    $cxx -std=c++20 -x c++ -fsyntax-only - 2>/dev/null ||
    fail "$cxx does not compile C++20: install GCC 11 or Clang 14 or newer (apt install g++) or name one with CXX=/path/to/compiler."

echo "$python"
