/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/last-words.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

namespace tunnelcc
{

namespace
{

constexpr int LONGEST_CALL = 1; //!< s of CPU time

int g_file = -1;

/// For handlers, because the thread's stack may be full.
std::array<char, 65536> g_stack;

} // namespace

/// Handlers of signals: they allocate nothing, because the heap may be damaged.
struct LastWords
{
    /// Whether an address is in a compiled file, and where.
    static bool Locate(uintptr_t address, uintptr_t& offset)
    {
        Dl_info found{};
        if (address == 0 || dladdr(reinterpret_cast<void*>(address), &found) == 0 ||
            std::strncmp(found.dli_fname, "/proc/self/fd/", 14) != 0)
        {
            return false;
        }
        offset = address - reinterpret_cast<uintptr_t>(found.dli_fbase);
        return true;
    }

    /// End the process. \pre a call goes on \param context of the signal; null: none
    [[noreturn]] static void Die(const char* what, void* context)
    {
        std::array<uintptr_t, 2> addresses{}; // of the instruction; of its caller
#if defined(__x86_64__)
        if (context)
        {
            const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
            addresses[0] = static_cast<uintptr_t>(registers[REG_RIP]);
            if (addresses[0] == 0)
            {
                addresses[1] = *reinterpret_cast<const uintptr_t*>(registers[REG_RSP]) - 1;
            }
        }
#else
        static_cast<void>(context);
#endif
        std::array<char, 1024> text;
        std::array<char, 64> place{};
        uintptr_t offset = 0;
        if (Locate(addresses[0], offset) || Locate(addresses[1], offset))
        {
            std::snprintf(place.data(), place.size(), " [%s+0x%zx]", ForeignCall::s_code, offset);
        }
        std::snprintf(text.data(),
                      text.size(),
                      "%s: %s%s",
                      ForeignCall::s_name,
                      what,
                      place.data());
        lseek(g_file, 0, SEEK_END);
        [[maybe_unused]] const auto written = write(g_file, text.data(), std::strlen(text.data()));
        _exit(EXIT_FAILURE);
    }

    static void OnFailure(int signal, siginfo_t* /* info */, void* context)
    {
        if (ForeignCall::s_name)
        {
            Die(signal == SIGFPE   ? "division by zero"
                : signal == SIGILL ? "it stopped itself (BUG)"
                                   : "access outside of its memory",
                context);
        }
        std::signal(signal, SIG_DFL); // the instruction fails again
    }

    static void OnWatch(int /* signal */, siginfo_t* /* info */, void* context)
    {
        static uint64_t watched = 0;
        if (ForeignCall::s_name && watched == ForeignCall::s_count)
        {
            Die("a call did not return within 1 s: it loops", context);
        }
        watched = ForeignCall::s_count;
    }

    static void OnExit()
    {
        if (ForeignCall::s_name)
        {
            Die("it ended the process (exit)", nullptr);
        }
    }
};

void
LeaveLastWords(int file)
{
    if (g_file < 0)
    {
        std::atexit(LastWords::OnExit);
    }
    g_file = file;
    stack_t stack{};
    stack.ss_sp = g_stack.data();
    stack.ss_size = g_stack.size();
    sigaltstack(&stack, nullptr);
    const auto handle = [](int signal, void (*handler)(int, siginfo_t*, void*)) {
        struct sigaction action{};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigaction(signal, &action, nullptr);
    };
    for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL})
    {
        handle(signal, LastWords::OnFailure);
    }
    handle(SIGPROF, LastWords::OnWatch);
    const itimerval each{{LONGEST_CALL, 0}, {LONGEST_CALL, 0}};
    setitimer(ITIMER_PROF, &each, nullptr);
}

} // namespace tunnelcc
