/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Measures the kernel's own TCP under periodic loss: one bulk flow between two network namespaces
 * whose TUN devices this program joins. Toward the receiver it loses one packet in every N; both
 * ways it delays packets by half an RTT. There is no bottleneck, and so no queue. As root:
 *
 *     g++ -O2 -std=c++17 -pthread -o periodic-loss periodic-loss.cc
 *     ip netns add tcc-a; ip netns add tcc-b
 *     chrt -f 50 ./periodic-loss cubic 100 1000 30 150
 *     ip netns del tcc-a; ip netns del tcc-b
 *
 * Prints one line of CSV: what it was given (algorithm, RTT in ms, N, seconds to leave out and to
 * measure), goodput (Mbit/s), mean smoothed RTT (ms), packets and losses toward the receiver, and
 * how late they left (99th percentile, ms). The results are in
 * tunnelcc/validation/data/linux/periodic_loss.csv.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace
{

std::atomic<bool> g_isOver{false};

[[noreturn]] void
Die(const char* what)
{
    perror(what);
    exit(1);
}

int64_t
Now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void
Enter(const char* name)
{
    int fd = open((std::string("/var/run/netns/") + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
    {
        Die(name);
    }
    close(fd);
}

void
Run(const std::string& command)
{
    if (system(command.c_str()) != 0)
    {
        Die(command.c_str());
    }
}

/// Open a TUN device in the thread's namespace.
int
OpenTun(const char* address, const char* peer)
{
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strcpy(request.ifr_name, "tun0");
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
    {
        Die("tun");
    }
    Run(std::string("ip addr add ") + address + " peer " + peer + " dev tun0");
    Run("ip link set tun0 mtu 1500 txqueuelen 100000 up");
    Run("echo '4096 131072 1073741824' > /proc/sys/net/ipv4/tcp_rmem");
    Run("echo '4096 16384 1073741824' > /proc/sys/net/ipv4/tcp_wmem");
    Run("echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save");
    return fd;
}

struct Delayed
{
    int64_t due;
    std::vector<uint8_t> bytes;
};

/// One direction: from a device to the other, later.
class Direction
{
  public:
    Direction(int from, int to, int64_t delay, uint64_t period)
        : m_from(from),
          m_to(to),
          m_delay(delay),
          m_period(period)
    {
    }

    void Read()
    {
        uint8_t buffer[2048];
        ssize_t size;
        while ((size = read(m_from, buffer, sizeof buffer)) > 0)
        {
            if (buffer[0] >> 4 != 4)
            {
                continue; // the kernel's own IPv6 chatter
            }
            ++packets;
            if (m_period > 0 && packets % m_period == 0)
            {
                ++losses;
                continue;
            }
            m_queue.push_back({Now() + m_delay, {buffer, buffer + size}});
        }
    }

    void Write()
    {
        while (!m_queue.empty() && m_queue.front().due <= Now())
        {
            const Delayed& packet = m_queue.front();
            lateness.push_back(static_cast<float>(Now() - packet.due) / 1e6F);
            if (write(m_to, packet.bytes.data(), packet.bytes.size()) < 0)
            {
                Die("write");
            }
            m_queue.pop_front();
        }
    }

    int64_t Due() const
    {
        return m_queue.empty() ? INT64_MAX : m_queue.front().due;
    }

    uint64_t packets{0};
    uint64_t losses{0};
    std::vector<float> lateness; //!< ms

  private:
    int m_from;
    int m_to;
    int64_t m_delay;
    uint64_t m_period;
    std::deque<Delayed> m_queue;
};

void
Emulate(Direction& forward, Direction& backward, int a, int b)
{
    while (!g_isOver)
    {
        int64_t wait = std::min(forward.Due(), backward.Due()) - Now();
        wait = std::clamp<int64_t>(wait, 0, 50'000'000);
        timespec timeout{0, wait};
        pollfd fds[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
        ppoll(fds, 2, &timeout, nullptr);
        forward.Read();
        backward.Read();
        forward.Write();
        backward.Write();
    }
}

sockaddr_in
Address(const char* text)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(5001);
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 6)
    {
        fprintf(stderr, "usage: %s CC RTT_MS N WARMUP_S DURATION_S\n", argv[0]);
        return 2;
    }
    const std::string cc = argv[1];
    const double rtt = atof(argv[2]);
    const double warmup = atof(argv[4]);
    const double duration = atof(argv[5]);

    Enter("tcc-b");
    int b = OpenTun("10.9.0.2", "10.9.0.1");
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in server = Address("10.9.0.2");
    if (bind(listener, reinterpret_cast<sockaddr*>(&server), sizeof server) < 0 ||
        listen(listener, 1) < 0)
    {
        Die("listen");
    }
    Enter("tcc-a");
    int a = OpenTun("10.9.0.1", "10.9.0.2");
    int sender = socket(AF_INET, SOCK_STREAM, 0);
    if (setsockopt(sender, IPPROTO_TCP, TCP_CONGESTION, cc.data(), cc.size()) < 0)
    {
        Die("TCP_CONGESTION");
    }

    const auto delay = static_cast<int64_t>(rtt / 2 * 1e6);
    Direction forward(a, b, delay, strtoull(argv[3], nullptr, 10));
    Direction backward(b, a, delay, 0);
    std::thread emulator([&] { Emulate(forward, backward, a, b); });

    std::atomic<uint64_t> received{0};
    std::thread receiver([&] {
        int socket = accept(listener, nullptr, nullptr);
        std::vector<char> buffer(1 << 20);
        ssize_t size;
        while ((size = read(socket, buffer.data(), buffer.size())) > 0)
        {
            received += size;
        }
    });
    if (connect(sender, reinterpret_cast<sockaddr*>(&server), sizeof server) < 0)
    {
        Die("connect");
    }
    std::thread writer([&] {
        std::vector<char> buffer(1 << 18);
        while (!g_isOver && write(sender, buffer.data(), buffer.size()) > 0)
        {
        }
    });

    std::this_thread::sleep_for(std::chrono::duration<double>(warmup));
    int64_t begin = Now();
    uint64_t before = received;
    uint64_t packets = forward.packets;
    uint64_t losses = forward.losses;
    double srtt = 0;
    int samples = 0;
    while (Now() - begin < duration * 1e9)
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        tcp_info info{};
        socklen_t size = sizeof info;
        getsockopt(sender, IPPROTO_TCP, TCP_INFO, &info, &size);
        srtt += info.tcpi_rtt / 1e3;
        ++samples;
    }
    double seconds = static_cast<double>(Now() - begin) / 1e9;
    double goodput = 8.0 * static_cast<double>(received - before) / seconds;
    packets = forward.packets - packets;
    losses = forward.losses - losses;
    g_isOver = true;
    emulator.join();
    std::vector<float>& late = forward.lateness;
    std::sort(late.begin(), late.end());
    printf("%s,%g,%s,%g,%g,%.4f,%.3f,%llu,%llu,%.3f\n",
           cc.c_str(),
           rtt,
           argv[3],
           warmup,
           duration,
           goodput / 1e6,
           srtt / samples,
           static_cast<unsigned long long>(packets),
           static_cast<unsigned long long>(losses),
           static_cast<double>(late[late.size() * 99 / 100]));
    fflush(stdout);
    _exit(0); // the other threads wait in the kernel
}
