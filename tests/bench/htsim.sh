#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds build/htsim, which `make bench` then runs beside tunnelcc: htsim.cc on csg-htsim's library.
# The argument is a clone of csg-htsim; without one, the commit that was measured is fetched.
set -eu
cd "$(dirname "$0")/../.."
commit=841d9e7be46bb968eece766aa4b6c044c7799f67
mkdir -p build
clone=${1:-build/csg-htsim}
if [ ! -d "$clone" ]; then
    git init -q "$clone"
    git -C "$clone" fetch -q --depth 1 https://github.com/Broadcom/csg-htsim "$commit"
    git -C "$clone" checkout -q FETCH_HEAD
fi
make -s -C "$clone/sim" -j"$(nproc)" libhtsim.a
"${CXX:-c++}" -std=c++17 -O3 -I"$clone/sim" tests/bench/htsim.cc "$clone/sim/libhtsim.a" -o build/htsim
echo "built build/htsim"
