#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Unpack Linux's source into a folder, from Debian's package of it; the file `package` names that.
# 140 MB to download.
#
#     get-source.sh FOLDER oldest|newest|PACKAGE [FILES]
#
# oldest and newest are those that apt has. FILES is a pattern as tar's: */net/ipv4/tcp_*.[ch]

set -eu
to=$(realpath "$1")
package=$2
files=${3:-*}
known() {
    apt-cache search --names-only '^linux-source-[0-9.]+$' | cut -d ' ' -f 1 | sort -V
}
if [ -z "$(known)" ] && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
fi
case $package in
oldest) package=$(known | head -n 1) ;;
newest) package=$(known | tail -n 1) ;;
esac
if [ -z "$package" ]; then
    echo "$0: apt has no package linux-source-…; this needs Debian, and \`apt-get update\`" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt downloads as a user of its own
cd "$work"
apt-get download -qq "$package"
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --wildcards '*linux-source-*.tar.*'
mkdir -p "$to"
tar -xf "$(find usr -name 'linux-source-*.tar.*')" --strip-components=1 -C "$to" \
    --wildcards "$files"
basename "$package"_*.deb > "$to/package"
