/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Measures the kernel's own TCP across an emulated link: for `tunnelcc measure`, and the programs
 * in tests/reference. TCP endpoints in two network namespaces send through TUN devices that this
 * program joins. Toward the receivers a packet meets a drop-tail queue of N waiting packets (the
 * one in service is not counted), a server that counts IP bytes, loss, and half an RTT of delay.
 * ACKs meet the other half and, if wanted, a queue of their own.
 * Queue and server follow a virtual clock: when a packet leaves the server depends on when packets
 * arrived, not on when this program runs. Without a rate there is no queue.
 *
 *     g++ -O2 -std=c++17 -Wall -Wextra -pthread -o linux-link linux-link.cc
 *
 * As root, one CUBIC and, half a second later, one BBR over 50 Mbit/s × 40 ms with 1 BDP:
 *
 *     ./linux-link --header --rate 50 --queue 167 --rtt 40 --duration 30
 *                  --flow cubic --flow bbr,start=0.5 --series series.csv
 *
 * One CUBIC without a bottleneck, one packet in a thousand lost, as for
 * tests/validation/data/linux/periodic_loss.csv:
 *
 *     ./linux-link --rtt 100 --period 1000 --rmem 1024 --wmem 1024 --warmup 30 --duration 180
 *                  --flow cubic,write=262144
 *
 * Other programs across the same link, here a tunnel; the run ends when both have ended:
 *
 *     ./linux-link --header --rate 100 --queue 1000 --rtt 40 --loss 0.05
 *                  --sender "COMMAND" --receiver "COMMAND"
 *
 * Options (times in s but for RTTs, rates in Mbit/s; packets are counted from one):
 *
 *     --flow CC[,KEY[=VALUE]]...  a flow; its keys:
 *         start=S      when it connects
 *         rtt=MS       RTT in addition to the path's, half of it behind the queue
 *         write=BYTES  size of the application's writes (131072)
 *         app=RATE     what the application writes at most
 *         nodelay      TCP_NODELAY
 *         rcvbuf=BYTES SO_RCVBUF of the receiver
 *         tunnel       it goes through the tunnel: to --target
 *     --server COMMAND, --client COMMAND
 *                        a tunnel's programs, at 10.9.0.2 and 10.9.0.1, for flows with `tunnel`.
 *                        All flows then have the path's RTT, and the counts of the link are in the
 *                        first row. They need --contained and --lead
 *     --target IP:PORT   where these flows connect
 *     --ready COMMAND    ends with success at 10.9.0.1 when the tunnel is up
 *     --lead S           before time 0: the tunnel is started, nothing is lost or counted
 *     --carrier-cc CC    of connections across the path that set none
 *     --contained PID    run in namespaces of processes, files and, unless root, users, all of
 *                        which end with the process PID, which has started this one
 *     --sender COMMAND, --receiver COMMAND
 *                        instead of flows: what a shell runs at 10.9.0.1, and where its packets go,
 *                        at 10.9.0.2. The link carries their UDP, TCP and pings over IPv4;
 *                        --duration means nothing then, --trace is refused
 *     --window BEGIN,STEADY,END
 *                        with commands, ns of CLOCK_MONOTONIC: packets are lost from BEGIN on, and
 *                        counted from then to END, how late they are, too; soj_mean_ms begins with
 *                        STEADY. Without it, all is from the start to the end
 *     --rate R[,S:R]...  of the server; from time S on another one
 *     --queue N          packets that may wait
 *     --loss P           each packet is lost with probability P
 *     --period N         one packet in every N is lost
 *     --losses FILE      the packets whose numbers the file lists are lost
 *     --seed N           of --loss
 *     --rtt MS           the path's
 *     --ack-rate R, --ack-queue N, --ack-loss P  the same for ACKs; their losses are others
 *     --rmem MIB, --wmem MIB       maxima of tcp_rmem and tcp_wmem; otherwise the machine's
 *     --duration S       (30)
 *     --warmup S         what steady values leave out (3)
 *     --interval S       between samples (0.1)
 *     --series FILE      every sample of every flow; with commands, what the link had toward the
 *                        receiver in each interval from BEGIN on: packets and bytes behind the
 *                        queue, losses, drops, mean and longest time in queue and service
 *     --trace FILE       every packet: when it was read and written, its number at the point where
 *                        packets are lost, its fate (delivered, queue or loss), its TCP header
 *     --name NAME        of the run, for the first column
 *     --header           print the names of the columns first
 *
 * Prints a row of CSV per flow, or one for two commands: what the link had of theirs toward the
 * receiver and back, how late it was, and how soon the ends answered after STEADY: from the latest
 * packet that an end got to the first that it sent then, by the link's clock, per protocol (pings
 * count as TCP). Goodput is what the receiving application read; the steady one and the RTT
 * (samples of the smoothed RTT) leave out the flow's first seconds, soj_mean_ms the run's. max_outq
 * is the most that was in the send queue (SIOCOUTQ) after a write. How late packets left, both
 * ways, is in late_*: more than a few hundredths of a millisecond in the 99th percentile may change
 * what is measured.
 *
 * The namespaces have no names and go with the program, which aborts its connections at the end. So
 * runs share nothing, and several may go at once. The emulator's thread is real-time (SCHED_FIFO),
 * those of the applications less so.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iomanip>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <random>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <unordered_set>
#include <vector>

namespace
{

constexpr int FIRST_PORT = 5001; //!< each flow has its own
constexpr int EMULATOR_PRIORITY = 50;
constexpr int APPLICATION_PRIORITY = 40;
constexpr int PROGRAM_PRIORITY = 30; //!< of a tunnel
constexpr int64_t SECOND = 1'000'000'000;
constexpr int SYN = 2; //!< the flag

std::atomic<bool> g_isOver{false};
bool g_isContained{false};
int64_t g_begin{0}; //!< ns

struct FlowOptions
{
    std::string cc;
    double start{0};
    double rtt{0}; //!< ms, in addition to the path's
    size_t write{1 << 17};
    double app{0}; //!< Mbit/s, 0: as much as the socket takes
    bool isNoDelay{false};
    int receiveBuffer{0};
    bool isInTunnel{false};
};

struct LinkOptions
{
    std::vector<std::pair<int64_t, double>> rates; //!< from when on, bits per ns; none: no queue
    size_t queue{0};
    double loss{0};
    uint64_t period{0};
    std::optional<std::unordered_set<uint64_t>> losses;
    uint64_t seed{1};
};

/// What is counted of commands, ns.
struct Window
{
    int64_t begin{0};
    int64_t steady{0};
    int64_t end{INT64_MAX};

    bool Has(int64_t time) const
    {
        return time >= begin && time < end;
    }
};

struct Options
{
    std::vector<FlowOptions> flows; //!< with commands: one, which nothing sends
    std::string sender;
    std::string receiver; //!< commands
    Window window;        //!< of these
    std::string server;
    std::string client; //!< commands of a tunnel's programs
    std::string ready;  //!< a command
    sockaddr_in target{};
    double lead{0};
    std::string carrierCc;
    pid_t container{0}; //!< what has started this program, 0: it is not contained
    LinkOptions data;
    LinkOptions acks;
    double rtt{0}; //!< ms
    double rmem{0};
    double wmem{0}; //!< MiB, 0: the machine's
    double duration{30};
    double warmup{3};
    double interval{0.1};
    std::string series;
    std::string trace;
    std::string name{"run"};
    bool hasHeader{false};

    bool RunsCommands() const
    {
        return !sender.empty();
    }

    bool HasTunnel() const
    {
        return !server.empty();
    }
};

[[noreturn]] void
Die(const std::string& what)
{
    perror(what.c_str());
    exit(1);
}

int64_t
Now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/// Since the run's begin, in s.
double
Elapsed()
{
    return static_cast<double>(Now() - g_begin) / SECOND;
}

void
SleepUntil(double time)
{
    int64_t at = g_begin + static_cast<int64_t>(time * SECOND);
    timespec t{at / SECOND, at % SECOND};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

void
BeRealTime(int priority)
{
    sched_param parameter{};
    parameter.sched_priority = priority;
    if (sched_setscheduler(0, SCHED_FIFO, &parameter) < 0 && !g_isContained)
    {
        Die("SCHED_FIFO"); // otherwise late_* tells whether it was needed
    }
}

// ------------------------------------------------------------------------------------- packets

enum Fate : uint8_t
{
    UNDERWAY,
    DELIVERED,
    QUEUE,
    LOSS
};

/// What the trace keeps of a packet.
struct Record
{
    int64_t read{0};
    int64_t written{0};
    uint64_t number{0};
    bool isData{false}; //!< the direction, not the content
    uint8_t flow{0};
    Fate fate{UNDERWAY};
    uint8_t flags{0};
    uint16_t length{0};
    uint16_t window{0};
    int8_t windowScale{-1}; //!< of a SYN
    uint32_t seq{0};
    uint32_t ack{0};
    uint8_t sackEdges{0};
    std::array<uint32_t, 8> sack{};
};

struct Packet
{
    std::vector<uint8_t> bytes;
    size_t flow;
    int64_t read;
    int64_t due{0};
    Record* record{nullptr};
};

uint32_t
Word(const uint8_t* bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return ntohl(word);
}

uint16_t
Half(const uint8_t* bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return ntohs(half);
}

Record
Parse(const std::vector<uint8_t>& bytes)
{
    constexpr uint8_t END = 0;
    constexpr uint8_t NOP = 1;
    constexpr uint8_t WINDOW_SCALE = 3;
    constexpr uint8_t SACK = 5;
    Record record;
    const size_t header = (bytes[0] & 15) * 4;
    const uint8_t* tcp = &bytes[header];
    const size_t tcpHeader = (tcp[12] >> 4) * 4;
    record.seq = Word(tcp + 4);
    record.ack = Word(tcp + 8);
    record.flags = tcp[13];
    record.window = Half(tcp + 14);
    record.length = static_cast<uint16_t>(bytes.size() - header - tcpHeader);
    for (size_t i = 20; i < tcpHeader && tcp[i] != END;)
    {
        if (tcp[i] == NOP)
        {
            ++i;
            continue;
        }
        if (tcp[i] == WINDOW_SCALE)
        {
            record.windowScale = static_cast<int8_t>(tcp[i + 2]);
        }
        if (tcp[i] == SACK)
        {
            for (size_t edge = i + 2; edge < i + tcp[i + 1] && record.sackEdges < 8; edge += 4)
            {
                record.sack[record.sackEdges++] = Word(tcp + edge);
            }
        }
        i += std::max<size_t>(tcp[i + 1], 2);
    }
    return record;
}

/// One direction: from a device to the other, later or never.
class Direction
{
  public:
    /// What it had in a time of the series.
    struct Interval
    {
        uint64_t packets{0};
        uint64_t bytes{0}; //!< behind the queue
        uint64_t queueDrops{0};
        uint64_t randomDrops{0};
        int64_t sojourn{0}; //!< of all, ns
        int64_t longest{0}; //!< ns
    };

    Direction(int from, int to, bool isData, const Options& options)
        : m_from(from),
          m_to(to),
          m_isData(isData),
          m_isTraced(!options.trace.empty()),
          m_isOfPrograms(options.RunsCommands() || options.HasTunnel()),
          m_window(options.window),
          m_options(isData ? options.data : options.acks),
          m_interval(options.series.empty() ? 0 : static_cast<int64_t>(options.interval * SECOND)),
          m_steady(std::max(g_begin + static_cast<int64_t>(options.warmup * SECOND),
                            options.window.steady)),
          m_random(m_options.seed * 0x9E3779B97F4A7C15),
          m_delayed(options.flows.size()),
          queueDrops(options.flows.size()),
          randomDrops(options.flows.size())
    {
        for (const FlowOptions& flow : options.flows)
        {
            m_delays.push_back(static_cast<int64_t>((options.rtt + flow.rtt) / 2 * 1e6));
        }
    }

    /// What it hands out is answered by packets of the other direction.
    void SetAnswers(Direction& answers)
    {
        m_answers = &answers;
    }

    /// Take some packets from the device; not all, as others may be due.
    void Read()
    {
        constexpr int BATCH = 16;
        for (int i = 0; i < BATCH; ++i)
        {
            uint8_t buffer[2048];
            ssize_t size = read(m_from, buffer, sizeof buffer);
            if (size <= 0)
            {
                return;
            }
            const bool isOther = buffer[9] == IPPROTO_UDP || buffer[9] == IPPROTO_ICMP;
            const bool isOfPrograms = isOther && m_isOfPrograms;
            if (buffer[0] >> 4 == 4 && (buffer[9] == IPPROTO_TCP || isOfPrograms))
            {
                Arrive({{buffer, buffer + size}, 0, Now()});
            }
        }
    }

    /// Hand out the packets that are due.
    void Write()
    {
        Serve(Now());
        for (std::deque<Packet>& delayed : m_delayed)
        {
            while (!delayed.empty() && delayed.front().due <= Now())
            {
                const Packet& packet = delayed.front();
                int64_t now = Now();
                if (m_window.Has(now))
                {
                    lateness.push_back(static_cast<float>(now - packet.due) / 1e6F);
                }
                if (write(m_to, packet.bytes.data(), packet.bytes.size()) < 0)
                {
                    Die("write");
                }
                m_answers->m_askedTimes[IsUdp(packet)] = now;
                if (packet.record)
                {
                    packet.record->written = now;
                    packet.record->fate = DELIVERED;
                }
                delayed.pop_front();
            }
        }
    }

    /// When the next packet is.
    int64_t Due() const
    {
        int64_t due = INT64_MAX;
        for (const std::deque<Packet>& delayed : m_delayed)
        {
            if (!delayed.empty())
            {
                due = std::min(due, delayed.front().due);
            }
        }
        if (m_inService)
        {
            // the one behind it may be of a flow with less delay, so it must not wait in service
            due = std::min(due, m_done + *std::min_element(m_delays.begin(), m_delays.end()));
        }
        return due;
    }

    /// Mean time in the queue and in service, ms.
    double Sojourn() const
    {
        return m_served > 0 ? m_sojourn / 1e6 / static_cast<double>(m_served) : 0;
    }

  private:
    static bool IsUdp(const Packet& packet)
    {
        return packet.bytes[9] == IPPROTO_UDP;
    }

    void Arrive(Packet packet)
    {
        int64_t& asked = m_askedTimes[IsUdp(packet)];
        if (asked > 0 && packet.read >= m_steady && m_window.Has(packet.read))
        {
            answerTimes[IsUdp(packet)].push_back(static_cast<float>(packet.read - asked) / 1e3F);
        }
        asked = 0;
        if (!m_isOfPrograms)
        {
            const uint8_t* tcp = &packet.bytes[(packet.bytes[0] & 15) * 4];
            packet.flow = static_cast<size_t>(Half(tcp + (m_isData ? 2 : 0)) - FIRST_PORT);
            if (packet.flow >= m_delays.size())
            {
                return;
            }
        }
        if (m_isTraced)
        {
            packet.record = &records.emplace_back(Parse(packet.bytes));
            packet.record->read = packet.read;
            packet.record->isData = m_isData;
            packet.record->flow = static_cast<uint8_t>(packet.flow);
        }
        Serve(packet.read);
        if (m_options.rates.empty())
        {
            int64_t now = packet.read;
            Leave(std::move(packet), now);
        }
        else if (!m_inService)
        {
            int64_t now = packet.read;
            Start(std::move(packet), now);
        }
        else if (m_waiting.size() < m_options.queue)
        {
            m_waiting.push_back(std::move(packet));
        }
        else
        {
            Drop(packet, QUEUE);
        }
    }

    void Start(Packet packet, int64_t now)
    {
        double rate = m_options.rates.front().second;
        for (const auto& [from, value] : m_options.rates)
        {
            if (now - g_begin >= from)
            {
                rate = value;
            }
        }
        m_done = now + static_cast<int64_t>(static_cast<double>(packet.bytes.size()) * 8 / rate);
        m_inService = std::move(packet);
    }

    void Serve(int64_t now)
    {
        while (m_inService && m_done <= now)
        {
            Packet packet = std::move(*m_inService);
            m_inService.reset();
            const int64_t done = m_done;
            if (!m_waiting.empty())
            {
                Start(std::move(m_waiting.front()), done);
                m_waiting.pop_front();
            }
            Leave(std::move(packet), done);
        }
    }

    /// The interval of a time that is counted, if there is a series.
    Interval* At(int64_t time)
    {
        if (m_interval == 0 || !m_window.Has(time))
        {
            return nullptr;
        }
        const int64_t first = std::max(m_window.begin, g_begin);
        const auto index = static_cast<size_t>(std::max<int64_t>(time - first, 0) / m_interval);
        if (index >= series.size())
        {
            series.resize(index + 1);
        }
        return &series[index];
    }

    void Leave(Packet packet, int64_t now)
    {
        const bool isCounted = m_window.Has(now);
        if (Interval* interval = At(now))
        {
            const int64_t sojourn = now - packet.read;
            ++interval->packets;
            interval->bytes += packet.bytes.size();
            interval->sojourn += sojourn;
            interval->longest = std::max(interval->longest, sojourn);
        }
        if (isCounted && now >= m_steady)
        {
            m_sojourn += static_cast<double>(now - packet.read);
            ++m_served;
        }
        if (isCounted)
        {
            ++packets;
            bytes += packet.bytes.size();
        }
        if (packet.record)
        {
            packet.record->number = packets;
        }
        if (now >= m_window.begin && IsLost())
        {
            Drop(packet, LOSS);
            return;
        }
        packet.due = now + m_delays[packet.flow];
        m_delayed[packet.flow].push_back(std::move(packet));
    }

    bool IsLost()
    {
        if (m_options.losses)
        {
            return m_options.losses->count(packets) > 0;
        }
        if (m_options.period > 0)
        {
            return packets % m_options.period == 0;
        }
        return m_options.loss > 0 && m_uniform(m_random) < m_options.loss;
    }

    void Drop(const Packet& packet, Fate fate)
    {
        if (m_window.Has(packet.read))
        {
            ++(fate == QUEUE ? queueDrops : randomDrops)[packet.flow];
            udpQueueDrops += fate == QUEUE && IsUdp(packet);
        }
        if (Interval* interval = At(packet.read))
        {
            ++(fate == QUEUE ? interval->queueDrops : interval->randomDrops);
        }
        if (packet.record)
        {
            packet.record->fate = fate;
        }
    }

    int m_from;
    int m_to;
    bool m_isData;
    bool m_isTraced;
    bool m_isOfPrograms;
    const Window& m_window;
    const LinkOptions& m_options;
    int64_t m_interval; //!< of the series, ns; 0: there is none
    int64_t m_steady;
    std::mt19937_64 m_random;
    std::uniform_real_distribution<> m_uniform{0, 1};
    std::vector<int64_t> m_delays; //!< of each flow
    std::deque<Packet> m_waiting;
    std::optional<Packet> m_inService;
    int64_t m_done{0};                         //!< when the service ends
    std::vector<std::deque<Packet>> m_delayed; //!< of each flow
    double m_sojourn{0};
    uint64_t m_served{0};
    Direction* m_answers{nullptr};
    std::array<int64_t, 2> m_askedTimes{}; //!< of TCP and UDP, 0: already answered

  public:
    uint64_t packets{0}; //!< behind the queue
    uint64_t bytes{0};   //!< of these, with their IP headers
    std::vector<uint64_t> queueDrops;
    std::vector<uint64_t> randomDrops;
    uint64_t udpQueueDrops{0};
    std::vector<float> lateness; //!< ms
    /// Of TCP and UDP, us: from the latest packet handed to an end to the first that it sends then.
    std::array<std::vector<float>, 2> answerTimes;
    std::deque<Record> records;
    std::vector<Interval> series;
};

void
Emulate(Direction& data, Direction& acks, int a, int b)
{
    BeRealTime(EMULATOR_PRIORITY);
    data.SetAnswers(acks);
    acks.SetAnswers(data);
    while (!g_isOver)
    {
        int64_t wait = std::min(data.Due(), acks.Due()) - Now();
        wait = std::clamp<int64_t>(wait, 0, SECOND / 20);
        timespec timeout{0, wait};
        pollfd fds[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
        ppoll(fds, 2, &timeout, nullptr);
        data.Read();
        acks.Read();
        data.Write();
        acks.Write();
    }
}

// ---------------------------------------------------------------------------------- namespaces

void
Run(const std::string& command)
{
    if (system(command.c_str()) != 0)
    {
        Die(command);
    }
}

/// Write a file of the kernel.
void
WriteFile(const std::string& path, const std::string& text)
{
    std::ofstream file(path);
    file << text << std::flush;
    if (!file)
    {
        Die(path);
    }
}

/// Go on as the first process of namespaces that end with it, which ends with \p parent.
void
Contain(pid_t parent)
{
    constexpr int NOT_ALLOWED = 3; // exit status
    g_isContained = true;
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    if (uid != 0)
    {
        if (unshare(CLONE_NEWUSER) < 0)
        {
            _exit(NOT_ALLOWED);
        }
        WriteFile("/proc/self/setgroups", "deny");
        WriteFile("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
        WriteFile("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
    {
        _exit(1); // it has ended meanwhile
    }
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
    {
        _exit(NOT_ALLOWED);
    }
    int pipe[2];
    const pid_t first = pipe2(pipe, O_CLOEXEC) < 0 ? -1 : fork();
    if (first < 0)
    {
        Die("fork");
    }
    if (first > 0)
    {
        int status = 0;
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pipe[1]);
    pollfd end{pipe[0], 0, 0};
    if (poll(&end, 1, 0) != 0)
    {
        _exit(1); // the parent has ended meanwhile
    }
    // The programs' files in /run go with the namespace.
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
        mount("tunnelcc", "/run", "tmpfs", 0, nullptr) < 0)
    {
        Die("/run");
    }
}

/// Keep the program's memory from being written to disk.
void
LockMemory()
{
    // Users, and root of a container, may lock so little that no thread would get its stack.
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_MEMLOCK, &all) == 0)
    {
        mlockall(MCL_CURRENT | MCL_FUTURE);
    }
}

/// Set the maximum of a tcp_rmem or tcp_wmem.
void
SetMaximum(const std::string& path, double mib)
{
    if (mib == 0)
    {
        return;
    }
    int least = 0;
    int first = 0;
    FILE* file = fopen(path.c_str(), "r");
    if (!file || fscanf(file, "%d %d", &least, &first) != 2)
    {
        Die(path);
    }
    fclose(file);
    file = fopen(path.c_str(), "w");
    const auto most = static_cast<int>(mib * (1 << 20));
    if (!file ||
        fprintf(file, "%d %d %d", std::min(least, most), std::min(first, most), most) < 0 ||
        fclose(file) != 0)
    {
        Die(path);
    }
}

/// Move the thread to a new namespace and open a TUN device there.
int
OpenTun(const std::string& address, const std::string& peer, const Options& options)
{
    if (unshare(CLONE_NEWNET) < 0)
    {
        Die("unshare");
    }
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strcpy(request.ifr_name, "tun0");
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
    {
        Die("/dev/net/tun");
    }
    Run("ip addr add " + address + " peer " + peer + " dev tun0");
    Run("ip link set tun0 mtu 1500 txqueuelen 100000 up");
    if (!options.carrierCc.empty())
    {
        Run("ip route replace " + peer + " dev tun0 congctl " + options.carrierCc);
    }
    SetMaximum("/proc/sys/net/ipv4/tcp_rmem", options.rmem);
    SetMaximum("/proc/sys/net/ipv4/tcp_wmem", options.wmem);
    return fd;
}

/// Start a command in the thread's namespace. With a \p priority, it is real-time.
pid_t
Start(const std::string& command, int priority = 0)
{
    Run("ip link set lo up");
    const pid_t pid = fork();
    if (pid < 0)
    {
        Die("fork");
    }
    if (pid == 0)
    {
        if (priority > 0)
        {
            // The kernel ends what runs so long (us) without waiting: nothing else would run.
            const rlimit most{2'000'000, 3'000'000};
            setrlimit(RLIMIT_RTTIME, &most);
            BeRealTime(priority);
        }
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        Die("sh");
    }
    return pid;
}

void
WaitFor(pid_t pid, const std::string& command)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0)
    {
        fprintf(stderr, "failed: %s\n", command.c_str());
        _exit(1); // other threads may run
    }
}

sockaddr_in
Address(const std::string& ip, int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
    return address;
}

// --------------------------------------------------------------------------------------- flows

/// What a flow had at some time.
struct Sample
{
    double time{0};
    uint64_t received{0};
    tcp_info sender{};
    tcp_info receiver{};
    std::array<uint32_t, SK_MEMINFO_VARS> senderMemory{};
    std::array<uint32_t, SK_MEMINFO_VARS> receiverMemory{};
    int sendQueue{0};
};

class Flow
{
  public:
    Flow(const FlowOptions& given, size_t index)
        : options(given),
          m_index(index),
          m_address(Address("10.9.0.2", FIRST_PORT + static_cast<int>(index)))
    {
    }

    /// Behind a tunnel, all flows come to one port, and are told apart by their first byte.
    void UseTunnel(const sockaddr_in& target, const std::vector<std::unique_ptr<Flow>>& flows)
    {
        m_address = options.isInTunnel ? target : Address("10.9.0.2", FIRST_PORT);
        m_flows = &flows;
    }

    void Listen()
    {
        if (m_flows && m_index > 0)
        {
            m_listener = m_flows->front()->m_listener;
            return;
        }
        m_listener = socket(AF_INET, SOCK_STREAM, 0);
        if (options.receiveBuffer > 0)
        {
            Set(m_listener, SOL_SOCKET, SO_RCVBUF, options.receiveBuffer);
        }
        sockaddr_in address = Address("0.0.0.0", FIRST_PORT + static_cast<int>(m_index));
        if (bind(m_listener, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
            listen(m_listener, 1024) < 0)
        {
            Die("listen");
        }
    }

    void OpenSender()
    {
        m_sender = socket(AF_INET, SOCK_STREAM, 0);
        SetCongestionControl();
        Set(m_sender, IPPROTO_TCP, TCP_NODELAY, options.isNoDelay);
    }

    /// In threads of their own, which end with the program.
    void Start()
    {
        std::thread([this] { Receive(); }).detach();
        std::thread([this] { Send(); }).detach();
    }

    Sample Look() const
    {
        Sample sample;
        sample.time = Elapsed();
        sample.received = m_received;
        Get(m_sender, IPPROTO_TCP, TCP_INFO, sample.sender);
        Get(m_sender, SOL_SOCKET, SO_MEMINFO, sample.senderMemory);
        ioctl(m_sender, SIOCOUTQ, &sample.sendQueue);
        if (m_receiver >= 0)
        {
            Get(m_receiver, IPPROTO_TCP, TCP_INFO, sample.receiver);
            Get(m_receiver, SOL_SOCKET, SO_MEMINFO, sample.receiverMemory);
        }
        return sample;
    }

    /// See that sockets that close send no more.
    void Abort()
    {
        const linger now{1, 0};
        setsockopt(m_sender, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        if (m_receiver >= 0)
        {
            setsockopt(m_receiver, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
    }

    const FlowOptions options;
    std::atomic<int> largestSendQueue{0};
    std::vector<Sample> samples;

  private:
    void SetCongestionControl() const
    {
        if (setsockopt(m_sender,
                       IPPROTO_TCP,
                       TCP_CONGESTION,
                       options.cc.data(),
                       static_cast<socklen_t>(options.cc.size())) < 0)
        {
            Die("TCP_CONGESTION");
        }
    }

    static void Set(int fd, int level, int name, int value)
    {
        if (setsockopt(fd, level, name, &value, sizeof value) < 0)
        {
            Die("setsockopt");
        }
    }

    template <typename T>
    static void Get(int fd, int level, int name, T& value)
    {
        socklen_t size = sizeof value;
        getsockopt(fd, level, name, &value, &size);
    }

    void Receive()
    {
        BeRealTime(APPLICATION_PRIORITY);
        std::vector<char> buffer(1 << 20);
        int receiver = -1;
        ssize_t size = 0;
        do
        {
            close(receiver); // it only tried whether the tunnel is up
            receiver = accept(m_listener, nullptr, nullptr);
            size = read(receiver, buffer.data(), buffer.size());
        } while (size <= 0 && m_flows && !g_isOver);
        const auto first = static_cast<uint8_t>(buffer.front());
        Flow& flow = m_flows && size > 0 ? *m_flows->at(first) : *this;
        flow.m_receiver = receiver;
        for (; size > 0; size = read(receiver, buffer.data(), buffer.size()))
        {
            flow.m_received += static_cast<uint64_t>(size);
        }
    }

    void Send()
    {
        BeRealTime(APPLICATION_PRIORITY);
        SleepUntil(options.start);
        if (connect(m_sender, reinterpret_cast<sockaddr*>(&m_address), sizeof m_address) < 0)
        {
            Die("connect");
        }
        if (m_flows)
        {
            SetCongestionControl(); // the route has set the carriers'
        }
        const double begin = Elapsed();
        const std::vector<char> buffer(options.write, static_cast<char>(m_index));
        for (uint64_t i = 0; write(m_sender, buffer.data(), buffer.size()) > 0; ++i)
        {
            int queued = 0;
            ioctl(m_sender, SIOCOUTQ, &queued);
            largestSendQueue = std::max<int>(largestSendQueue, queued);
            if (options.app > 0)
            {
                SleepUntil(begin +
                           static_cast<double>((i + 1) * options.write) * 8 / (options.app * 1e6));
            }
        }
    }

    size_t m_index;
    sockaddr_in m_address;
    const std::vector<std::unique_ptr<Flow>>* m_flows{nullptr}; //!< with a tunnel
    int m_listener{-1};
    int m_sender{-1};
    std::atomic<int> m_receiver{-1};
    std::atomic<uint64_t> m_received{0};
};

// -------------------------------------------------------------------------------------- output

std::ofstream
Create(const std::string& path)
{
    std::ofstream file(path);
    if (!file)
    {
        Die(path);
    }
    return file;
}

void
WriteSeries(const std::string& path, const std::vector<std::unique_ptr<Flow>>& flows)
{
    std::ofstream file = Create(path);
    file << "flow,t,received,cwnd,ssthresh,srtt_us,rttvar_us,min_rtt_us,ca_state,pacing_rate,"
            "delivery_rate,app_limited,bytes_acked,data_segs_out,retrans,unacked,sacked,lost,"
            "notsent,snd_wnd,busy_us,rwnd_limited_us,sndbuf_limited_us,reordering,outq,w_queued,"
            "sndbuf,wmem_alloc,rcv_ssthresh,rcv_space,rcv_rtt_us,rcv_ooopack,rmem_alloc,rcvbuf,"
            "rcv_backlog\n"
         << std::fixed << std::setprecision(4);
    for (size_t i = 0; i < flows.size(); ++i)
    {
        for (const Sample& sample : flows[i]->samples)
        {
            const tcp_info& sender = sample.sender;
            const tcp_info& receiver = sample.receiver;
            file << i << ',' << sample.time;
            for (uint64_t value :
                 std::initializer_list<uint64_t>{sample.received,
                                                 sender.tcpi_snd_cwnd,
                                                 sender.tcpi_snd_ssthresh,
                                                 sender.tcpi_rtt,
                                                 sender.tcpi_rttvar,
                                                 sender.tcpi_min_rtt,
                                                 sender.tcpi_ca_state,
                                                 sender.tcpi_pacing_rate,
                                                 sender.tcpi_delivery_rate,
                                                 sender.tcpi_delivery_rate_app_limited,
                                                 sender.tcpi_bytes_acked,
                                                 sender.tcpi_data_segs_out,
                                                 sender.tcpi_total_retrans,
                                                 sender.tcpi_unacked,
                                                 sender.tcpi_sacked,
                                                 sender.tcpi_lost,
                                                 sender.tcpi_notsent_bytes,
                                                 sender.tcpi_snd_wnd,
                                                 sender.tcpi_busy_time,
                                                 sender.tcpi_rwnd_limited,
                                                 sender.tcpi_sndbuf_limited,
                                                 sender.tcpi_reordering,
                                                 static_cast<uint64_t>(sample.sendQueue),
                                                 sample.senderMemory[SK_MEMINFO_WMEM_QUEUED],
                                                 sample.senderMemory[SK_MEMINFO_SNDBUF],
                                                 sample.senderMemory[SK_MEMINFO_WMEM_ALLOC],
                                                 receiver.tcpi_rcv_ssthresh,
                                                 receiver.tcpi_rcv_space,
                                                 receiver.tcpi_rcv_rtt,
                                                 receiver.tcpi_rcv_ooopack,
                                                 sample.receiverMemory[SK_MEMINFO_RMEM_ALLOC],
                                                 sample.receiverMemory[SK_MEMINFO_RCVBUF],
                                                 sample.receiverMemory[SK_MEMINFO_BACKLOG]})
            {
                file << ',' << value;
            }
            file << '\n';
        }
    }
}

/// Times are the begins of the intervals, from the window's begin on.
void
WriteLinkSeries(const std::string& path, const Direction& data, double interval)
{
    std::ofstream file = Create(path);
    file << "t,packets,ip_bytes,queue_drops,random_drops,soj_mean_ms,soj_max_ms\n"
         << std::fixed << std::setprecision(4);
    for (size_t i = 0; i < data.series.size(); ++i)
    {
        const Direction::Interval& it = data.series[i];
        const double mean =
            it.packets > 0 ? static_cast<double>(it.sojourn) / static_cast<double>(it.packets) : 0;
        file << static_cast<double>(i) * interval << ',' << it.packets << ',' << it.bytes << ','
             << it.queueDrops << ',' << it.randomDrops << ',' << mean / 1e6 << ','
             << static_cast<double>(it.longest) / 1e6 << '\n';
    }
}

/// Sequence numbers count from the SYN's, windows are scaled.
void
WriteTrace(const std::string& path, const Direction& data, const Direction& acks, size_t flows)
{
    struct End
    {
        uint32_t first{0};
        int scale{0};
    };

    std::vector<const Record*> records;
    std::vector<std::array<End, 2>> ends(flows); // what sends ACKs, what sends data
    for (const Direction* direction : {&data, &acks})
    {
        for (const Record& record : direction->records)
        {
            records.push_back(&record);
            if (record.flags & SYN)
            {
                const int scale = std::max<int>(record.windowScale, 0);
                ends[record.flow][record.isData] = {record.seq, scale};
            }
        }
    }
    std::sort(records.begin(), records.end(), [](const Record* a, const Record* b) {
        return a->read < b->read;
    });

    std::ofstream file = Create(path);
    file << "read_ns,written_ns,direction,flow,number,fate,flags,seq,length,ack,window,sack\n";
    for (const Record* record : records)
    {
        const End& own = ends[record->flow][record->isData];
        const End& other = ends[record->flow][!record->isData];
        const int scale = record->flags & SYN ? 0 : own.scale;
        const char* fates[] = {"underway", "delivered", "queue", "loss"};
        file << record->read - g_begin << ','
             << (record->written > 0 ? record->written - g_begin : 0) << ','
             << (record->isData ? "data" : "ack") << ',' << int{record->flow} << ','
             << record->number << ',' << fates[record->fate] << ',';
        for (int bit = 0; bit < 5; ++bit)
        {
            if (record->flags >> bit & 1)
            {
                file << "FSRPA"[bit];
            }
        }
        file << ',' << record->seq - own.first << ',' << record->length << ','
             << record->ack - other.first << ',' << (uint32_t{record->window} << scale) << ',';
        for (size_t i = 0; i < record->sackEdges; ++i)
        {
            const char* before = i == 0 ? "" : i % 2 == 1 ? "-" : " ";
            file << before << record->sack[i] - other.first;
        }
        file << '\n';
    }
}

/// \p values are sorted.
double
Quantile(const std::vector<float>& values, double share)
{
    if (values.empty())
    {
        return 0;
    }
    return values[std::min(values.size() - 1,
                           static_cast<size_t>(share * static_cast<double>(values.size())))];
}

/// Of both directions, sorted.
std::vector<float>
Lateness(const Direction& data, const Direction& acks)
{
    std::vector<float> late = data.lateness;
    late.insert(late.end(), acks.lateness.begin(), acks.lateness.end());
    std::sort(late.begin(), late.end());
    return late;
}

/// What the link had of the commands.
void
PrintLink(const Options& options, Direction& data, Direction& acks)
{
    const std::vector<float> late = Lateness(data, acks);
    if (options.hasHeader)
    {
        printf("run,rate_mbps,rtt_ms,loss,buffer_pkts,seed,packets,ip_bytes,random_drops,"
               "queue_drops,udp_queue_drops,back_packets,back_ip_bytes,back_random_drops,"
               "soj_mean_ms,late_p50_ms,late_p99_ms,late_p999_ms,late_max_ms");
        for (const char* end : {"sender", "receiver"})
        {
            for (const char* protocol : {"tcp", "udp"})
            {
                for (int percent : {10, 50, 90})
                {
                    printf(",%s_%s_answer_p%d_us", end, protocol, percent);
                }
            }
        }
        printf("\n");
    }
    const auto& rates = options.data.rates;
    printf("%s,%g,%g,%g,%zu,%llu,",
           options.name.c_str(),
           rates.empty() ? 0 : rates[0].second * 1e3,
           options.rtt,
           options.data.loss,
           options.data.queue,
           static_cast<unsigned long long>(options.data.seed));
    for (uint64_t count : {data.packets,
                           data.bytes,
                           data.randomDrops[0],
                           data.queueDrops[0],
                           data.udpQueueDrops,
                           acks.packets,
                           acks.bytes,
                           acks.randomDrops[0]})
    {
        printf("%llu,", static_cast<unsigned long long>(count));
    }
    printf("%.4f,%.3f,%.3f,%.3f,%.3f",
           data.Sojourn(),
           Quantile(late, 0.5),
           Quantile(late, 0.99),
           Quantile(late, 0.999),
           Quantile(late, 1));
    for (Direction* direction : {&data, &acks})
    {
        for (std::vector<float>& times : direction->answerTimes)
        {
            std::sort(times.begin(), times.end());
            for (double share : {0.1, 0.5, 0.9})
            {
                printf(",%.1f", Quantile(times, share));
            }
        }
    }
    printf("\n");
}

void
PrintRows(const Options& options,
          const std::vector<std::unique_ptr<Flow>>& flows,
          const Direction& data,
          const Direction& acks)
{
    const std::vector<float> late = Lateness(data, acks);
    if (options.hasHeader)
    {
        printf("run,rate_mbps,rtt_ms,loss,buffer_pkts,duration,seed,flow,cc,flow_rtt_ms,start_s,"
               "write,nodelay,goodput_steady_mbps,goodput_mbps,retrans_segs,data_segs_out,"
               "mean_srtt_ms,p95_srtt_ms,flow_random_drops,flow_queue_drops,soj_mean_ms,busy_s,"
               "rwnd_limited_s,sndbuf_limited_s,max_outq,packets,late_p50_ms,late_p99_ms,"
               "late_p999_ms,late_max_ms\n");
    }
    for (size_t i = 0; i < flows.size(); ++i)
    {
        const FlowOptions& flow = flows[i]->options;
        const Sample& last = flows[i]->samples.back();
        Sample first;
        std::vector<float> rtts;
        for (const Sample& sample : flows[i]->samples)
        {
            if (sample.time < flow.start + options.warmup)
            {
                first = sample;
            }
            else if (sample.sender.tcpi_rtt > 0)
            {
                rtts.push_back(static_cast<float>(sample.sender.tcpi_rtt) / 1e3F);
            }
        }
        double sum = 0;
        for (float rtt : rtts)
        {
            sum += static_cast<double>(rtt);
        }
        std::sort(rtts.begin(), rtts.end());
        double loss = options.data.loss;
        if (options.data.period > 0)
        {
            loss = 1.0 / static_cast<double>(options.data.period);
        }
        const auto& rates = options.data.rates;
        printf("%s,%g,%g,%g,%zu,%g,%llu,%zu,%s,%g,%g,%zu,%d,",
               options.name.c_str(),
               rates.empty() ? 0 : rates[0].second * 1e3,
               options.rtt,
               loss,
               options.data.queue,
               options.duration,
               static_cast<unsigned long long>(options.data.seed),
               i,
               flow.cc.c_str(),
               options.rtt + flow.rtt,
               flow.start,
               flow.write,
               flow.isNoDelay);
        printf("%.4f,%.4f,%u,%u,%.3f,%.3f,%llu,%llu,%.4f,",
               static_cast<double>(last.received - first.received) * 8e-6 /
                   (last.time - first.time),
               static_cast<double>(last.received) * 8e-6 / (last.time - flow.start),
               last.sender.tcpi_total_retrans,
               last.sender.tcpi_data_segs_out,
               rtts.empty() ? 0 : sum / static_cast<double>(rtts.size()),
               Quantile(rtts, 0.95),
               static_cast<unsigned long long>(data.randomDrops[i]),
               static_cast<unsigned long long>(data.queueDrops[i]),
               data.Sojourn());
        printf("%.3f,%.3f,%.3f,%d,%llu,%.3f,%.3f,%.3f,%.3f\n",
               static_cast<double>(last.sender.tcpi_busy_time) / 1e6,
               static_cast<double>(last.sender.tcpi_rwnd_limited) / 1e6,
               static_cast<double>(last.sender.tcpi_sndbuf_limited) / 1e6,
               flows[i]->largestSendQueue.load(),
               static_cast<unsigned long long>(data.packets),
               Quantile(late, 0.5),
               Quantile(late, 0.99),
               Quantile(late, 0.999),
               Quantile(late, 1));
    }
}

// ------------------------------------------------------------------------------------- options

[[noreturn]] void
Refuse(const std::string& what)
{
    fprintf(stderr,
            "not understood: %s (the options are in the source's first comment)\n",
            what.c_str());
    exit(2);
}

double
Number(const std::string& text)
{
    size_t used = 0;
    double value = 0;
    try
    {
        value = std::stod(text, &used);
    }
    catch (const std::exception&)
    {
    }
    if (text.empty() || used != text.size())
    {
        Refuse(text);
    }
    return value;
}

uint64_t
Whole(const std::string& text)
{
    return static_cast<uint64_t>(Number(text));
}

std::vector<std::string>
Split(const std::string& text)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
    {
        parts.push_back(part);
    }
    return parts;
}

FlowOptions
ParseFlow(const std::string& text)
{
    FlowOptions flow;
    const std::map<std::string, std::function<void(double)>> setters{
        {"start", [&](double value) { flow.start = value; }},
        {"rtt", [&](double value) { flow.rtt = value; }},
        {"write", [&](double value) { flow.write = static_cast<size_t>(value); }},
        {"app", [&](double value) { flow.app = value; }},
        {"rcvbuf", [&](double value) { flow.receiveBuffer = static_cast<int>(value); }},
    };
    for (const std::string& part : Split(text))
    {
        const size_t at = part.find('=');
        const auto setter = setters.find(part.substr(0, at));
        if (flow.cc.empty())
        {
            flow.cc = part;
        }
        else if (part == "nodelay")
        {
            flow.isNoDelay = true;
        }
        else if (part == "tunnel")
        {
            flow.isInTunnel = true;
        }
        else if (at != std::string::npos && setter != setters.end())
        {
            setter->second(Number(part.substr(at + 1)));
        }
        else
        {
            Refuse(part);
        }
    }
    return flow;
}

std::vector<std::pair<int64_t, double>>
ParseRates(const std::string& text)
{
    std::vector<std::pair<int64_t, double>> rates;
    for (const std::string& part : Split(text))
    {
        const size_t at = part.find(':');
        const bool isLater = at != std::string::npos;
        const double from = isLater ? Number(part.substr(0, at)) : 0;
        const double rate = Number(isLater ? part.substr(at + 1) : part);
        rates.emplace_back(static_cast<int64_t>(from * SECOND), rate / 1e3);
    }
    return rates;
}

Window
ParseWindow(const std::string& text)
{
    const std::vector<std::string> parts = Split(text);
    if (parts.size() != 3)
    {
        Refuse(text);
    }
    // not as doubles, which are too coarse for a host that has been up for some months
    return {std::stoll(parts[0]), std::stoll(parts[1]), std::stoll(parts[2])};
}

sockaddr_in
ParseAddress(const std::string& text)
{
    const size_t at = text.find(':');
    if (at == std::string::npos)
    {
        Refuse(text);
    }
    return Address(text.substr(0, at), static_cast<int>(Whole(text.substr(at + 1))));
}

std::unordered_set<uint64_t>
ReadNumbers(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
    {
        Die(path);
    }
    std::unordered_set<uint64_t> numbers;
    for (uint64_t number; file >> number;)
    {
        numbers.insert(number);
    }
    return numbers;
}

Options
ParseOptions(int argc, char** argv)
{
    Options options;
    using Text = const std::string&;
    const std::map<std::string, std::function<void(Text)>> setters{
        {"--flow", [&](Text text) { options.flows.push_back(ParseFlow(text)); }},
        {"--sender", [&](Text text) { options.sender = text; }},
        {"--receiver", [&](Text text) { options.receiver = text; }},
        {"--window", [&](Text text) { options.window = ParseWindow(text); }},
        {"--server", [&](Text text) { options.server = text; }},
        {"--client", [&](Text text) { options.client = text; }},
        {"--target", [&](Text text) { options.target = ParseAddress(text); }},
        {"--ready", [&](Text text) { options.ready = text; }},
        {"--lead", [&](Text text) { options.lead = Number(text); }},
        {"--carrier-cc", [&](Text text) { options.carrierCc = text; }},
        {"--contained", [&](Text text) { options.container = static_cast<pid_t>(Whole(text)); }},
        {"--rate", [&](Text text) { options.data.rates = ParseRates(text); }},
        {"--queue", [&](Text text) { options.data.queue = Whole(text); }},
        {"--loss", [&](Text text) { options.data.loss = Number(text); }},
        {"--period", [&](Text text) { options.data.period = Whole(text); }},
        {"--losses", [&](Text text) { options.data.losses = ReadNumbers(text); }},
        {"--seed", [&](Text text) { options.data.seed = Whole(text); }},
        {"--rtt", [&](Text text) { options.rtt = Number(text); }},
        {"--ack-rate", [&](Text text) { options.acks.rates = ParseRates(text); }},
        {"--ack-queue", [&](Text text) { options.acks.queue = Whole(text); }},
        {"--ack-loss", [&](Text text) { options.acks.loss = Number(text); }},
        {"--rmem", [&](Text text) { options.rmem = Number(text); }},
        {"--wmem", [&](Text text) { options.wmem = Number(text); }},
        {"--duration", [&](Text text) { options.duration = Number(text); }},
        {"--warmup", [&](Text text) { options.warmup = Number(text); }},
        {"--interval", [&](Text text) { options.interval = Number(text); }},
        {"--series", [&](Text text) { options.series = text; }},
        {"--trace", [&](Text text) { options.trace = text; }},
        {"--name", [&](Text text) { options.name = text; }},
    };
    for (int i = 1; i < argc; ++i)
    {
        if (argv[i] == std::string("--header"))
        {
            options.hasHeader = true;
            continue;
        }
        const auto setter = setters.find(argv[i]);
        if (setter == setters.end() || i + 1 == argc)
        {
            Refuse(argv[i]);
        }
        setter->second(argv[++i]);
    }
    constexpr uint64_t OTHER_LOSSES = 1U << 31;
    options.acks.seed = options.data.seed + OTHER_LOSSES;
    if (options.sender.empty() != options.receiver.empty())
    {
        Refuse("--sender without --receiver, or the reverse");
    }
    if (options.flows.empty() != options.RunsCommands())
    {
        Refuse("a run takes --flow, or else --sender and --receiver");
    }
    if (options.HasTunnel() && (options.client.empty() || options.lead == 0 ||
                                options.container == 0 || !options.trace.empty()))
    {
        Refuse("--server goes with --client, --lead and --contained, and without --trace");
    }
    if (options.window.begin > 0 && !options.RunsCommands())
    {
        Refuse("--window is for --sender and --receiver");
    }
    if (options.RunsCommands())
    {
        if (!options.trace.empty())
        {
            Refuse("--trace is for --flow");
        }
        options.flows.emplace_back();
        options.warmup = 0;
    }
    return options;
}

/// Carry what two commands send until both have ended.
void
RunCommands(const Options& options)
{
    const int b = OpenTun("10.9.0.2", "10.9.0.1", options);
    const pid_t receiver = Start(options.receiver);
    const int a = OpenTun("10.9.0.1", "10.9.0.2", options);
    const pid_t sender = Start(options.sender);
    LockMemory();

    g_begin = Now();
    Direction data(a, b, true, options);
    Direction acks(b, a, false, options);
    std::thread emulator([&] { Emulate(data, acks, a, b); });
    WaitFor(sender, options.sender);
    WaitFor(receiver, options.receiver);
    g_isOver = true;
    emulator.join();
    PrintLink(options, data, acks);
    if (!options.series.empty())
    {
        WriteLinkSeries(options.series, data, options.interval);
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Options options = ParseOptions(argc, argv);
    if (options.container != 0)
    {
        Contain(options.container);
    }
    if (options.RunsCommands())
    {
        RunCommands(options);
        return 0;
    }
    std::vector<std::unique_ptr<Flow>> flows;
    for (const FlowOptions& flow : options.flows)
    {
        flows.push_back(std::make_unique<Flow>(flow, flows.size()));
    }
    if (options.HasTunnel())
    {
        for (auto& flow : flows)
        {
            flow->UseTunnel(options.target, flows);
        }
    }
    const int b = OpenTun("10.9.0.2", "10.9.0.1", options);
    for (auto& flow : flows)
    {
        flow->Listen();
    }
    const pid_t server = options.HasTunnel() ? Start(options.server, PROGRAM_PRIORITY) : 0;
    const int a = OpenTun("10.9.0.1", "10.9.0.2", options);
    for (auto& flow : flows)
    {
        flow->OpenSender();
    }
    const pid_t client = options.HasTunnel() ? Start(options.client, PROGRAM_PRIORITY) : 0;
    LockMemory();

    g_begin = Now() + static_cast<int64_t>(options.lead * SECOND);
    options.window.begin = options.HasTunnel() ? g_begin : 0;
    Direction data(a, b, true, options);
    Direction acks(b, a, false, options);
    std::thread emulator([&] { Emulate(data, acks, a, b); });
    const pid_t ready = options.ready.empty() ? 0 : Start(options.ready);
    while (ready > 0 && waitpid(ready, nullptr, WNOHANG) == 0)
    {
        if (Now() > g_begin)
        {
            fprintf(stderr, "the tunnel was not up in %g s\n", options.lead);
            _exit(1);
        }
        usleep(10'000);
    }
    BeRealTime(APPLICATION_PRIORITY);
    for (auto& flow : flows)
    {
        flow->Start();
    }
    const auto count = static_cast<int>(options.duration / options.interval + 0.5);
    for (int i = 1; i <= count; ++i)
    {
        SleepUntil(i * options.interval);
        for (auto& flow : flows)
        {
            flow->samples.push_back(flow->Look());
        }
    }
    g_isOver = true;
    emulator.join();
    for (const pid_t program : {server, client})
    {
        if (program > 0 && waitpid(program, nullptr, WNOHANG) != 0)
        {
            fprintf(stderr, "a program of the tunnel ended\n");
            _exit(1);
        }
    }

    PrintRows(options, flows, data, acks);
    if (!options.series.empty())
    {
        WriteSeries(options.series, flows);
    }
    if (!options.trace.empty())
    {
        WriteTrace(options.trace, data, acks, flows.size());
    }
    for (auto& flow : flows)
    {
        flow->Abort();
    }
    fflush(stdout);
    _exit(0); // the other threads wait in the kernel
}
