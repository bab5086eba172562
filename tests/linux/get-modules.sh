#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Put Linux's congestion control modules into a folder (default: build/linux), for the tests that run
# them: net/ipv4/tcp_*.[ch] of Debian's package of the kernel's source (default: the oldest that apt
# has). 140 MB to download, 25 s.
#
#     get-modules.sh [FOLDER [PACKAGE]]

set -eu
to=${1:-build/linux}
if [ -e "$to/tcp_cubic.c" ]; then
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$(dirname "$0")/get-source.sh" "$work" "${2:-oldest}" '*/net/ipv4/tcp_*.[ch]'
mkdir -p "$to"
cp "$work"/net/ipv4/* "$work/package" "$to"
