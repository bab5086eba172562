#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Put Linux's congestion control modules into a folder (default: build/linux), for the tests that run
# them. They come from Debian's package of the kernel's source (default: the oldest that apt has), of
# which only net/ipv4/tcp_*.[ch] is kept: 140 MB to download, 25 s.
#
#     get-modules.sh [FOLDER [PACKAGE]]

set -eu
to=${1:-build/linux}
if [ -e "$to/tcp_cubic.c" ]; then
    exit
fi
find_package() {
    apt-cache search --names-only '^linux-source-[0-9.]+$' | cut -d ' ' -f 1 | sort -V | head -n 1
}
package=${2:-$(find_package)}
if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    package=$(find_package)
fi
if [ -z "$package" ]; then
    echo "$0: apt has no package linux-source-…; this needs Debian, and \`apt-get update\`" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt downloads as a user of its own
(
    cd "$work"
    apt-get download -qq "$package"
    dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --wildcards '*linux-source-*.tar.*'
    mkdir modules
    tar -xf "$(find usr -name 'linux-source-*.tar.*')" --strip-components=3 -C modules \
        --wildcards '*/net/ipv4/tcp_*.[ch]'
    basename "$package"_*.deb > modules/package
)
mkdir -p "$to"
cp "$work"/modules/* "$to"
