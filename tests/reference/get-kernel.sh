#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Compile a Linux that runs as a process and has a virtual clock, for virtual.py: user-mode Linux with
# time travel. The source is Debian's package (default: the newest that apt has).
# 150 MB to download, 2 GB while it compiles, 10 minutes of CPU time.
#
#     get-kernel.sh FOLDER [PACKAGE]

set -eu
to=${1:?"which folder?"}
if [ -e "$to/linux" ]; then
    exit
fi
mkdir -p "$to"
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
sh "$(dirname "$0")/../linux/get-source.sh" "$source" "${2:-newest}"
to=$(realpath "$to")
cd "$source"
# Timers of 4 ms, as the kernel of the other measurements. And no random numbers out of jitter: the
# search for it would never end, since on this clock nothing takes time.
sed -i '/^config HZ$/,/default/s/default 100/default 250/' arch/um/Kconfig
sed -i '/select CRYPTO_JITTERENTROPY$/d' crypto/Kconfig
for option in \
    64BIT EXPERT MULTIUSER BINFMT_ELF BINFMT_SCRIPT PROC_FS PROC_SYSCTL SYSFS SHMEM TMPFS DEVTMPFS \
    HOSTFS PRINTK STDERR_CONSOLE NULL_CHAN TTY UNIX98_PTYS FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO \
    POSIX_TIMERS HIGH_RES_TIMERS NO_HZ_IDLE BUG SYSVIPC FILE_LOCKING ADVISE_SYSCALLS MEMBARRIER \
    NAMESPACES NET_NS USER_NS PID_NS UTS_NS IPC_NS NET UNIX PACKET INET IP_ADVANCED_ROUTER NETDEVICES \
    NET_CORE VETH TUN VXLAN WIREGUARD XFRM XFRM_USER INET_ESP INET_DIAG TCP_CONG_ADVANCED \
    TCP_CONG_CUBIC TCP_CONG_BBR DEFAULT_CUBIC NET_SCHED NET_SCH_CAKE NET_SCH_FQ_CODEL NET_SCH_TBF \
    CRYPTO CRYPTO_AES CRYPTO_GCM CRYPTO_SEQIV CRYPTO_CHACHA20POLY1305 UML_TIME_TRAVEL_SUPPORT \
    CC_OPTIMIZE_FOR_PERFORMANCE; do
    echo "CONFIG_$option=y"
done > options
echo 'CONFIG_CON_CHAN="null"' >> options
make -s ARCH=um KCONFIG_ALLCONFIG=options allnoconfig
make -s ARCH=um -j"$(nproc)" linux
cp linux package "$to"
