/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "modules/module-guard.h"

#include <array>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace tunnelcc
{

namespace
{

constexpr std::array FAILURE_SIGNALS{SIGFPE, SIGSEGV, SIGBUS, SIGILL};

/// Signal of the watch: one of those that nobody else has a use for.
int
WatchSignal()
{
    return SIGRTMIN + 9;
}

/// The call that a thread is in.
struct GuardedCall
{
    /// Of __builtin_setjmp(): fewer instructions than sigsetjmp(), and each call needs one.
    void* jump[5]{};
    volatile sig_atomic_t isInside{0};
    volatile uint64_t number{0}; //!< counts calls
    volatile uint64_t watched{0};
    ModuleFault fault;
};

/// Without a constructor to run, threads need not ask at each use whether it has run.
constinit thread_local GuardedCall g_call;

/// Handlers from before; several guards (of threads) share them.
std::array<struct sigaction, FAILURE_SIGNALS.size()> g_actionsBefore;

void
LeaveCall(int signal, void* context)
{
    g_call.fault = {};
    g_call.fault.signal = signal;
#if defined(__x86_64__)
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    g_call.fault.address = static_cast<uintptr_t>(registers[REG_RIP]);
    if (g_call.fault.address == 0)
    {
        g_call.fault.caller = *reinterpret_cast<const uintptr_t*>(registers[REG_RSP]) - 1;
    }
#else
    static_cast<void>(context);
#endif
    g_call.isInside = 0;
    __builtin_longjmp(g_call.jump, 1);
}

void
OnFailureSignal(int signal, siginfo_t* /* info */, void* context)
{
    if (g_call.isInside)
    {
        LeaveCall(signal, context);
    }
    // Not of a call: the instruction fails again, and whoever was there before handles it.
    for (size_t i = 0; i < FAILURE_SIGNALS.size(); ++i)
    {
        if (FAILURE_SIGNALS[i] == signal)
        {
            sigaction(signal, &g_actionsBefore[i], nullptr);
        }
    }
}

void
OnWatchSignal(int /* signal */, siginfo_t* /* info */, void* context)
{
    if (!g_call.isInside)
    {
        return;
    }
    if (g_call.watched == g_call.number)
    {
        LeaveCall(0, context);
    }
    g_call.watched = g_call.number;
}

} // namespace

std::string
ModuleFault::Describe() const
{
    switch (signal)
    {
    case 0:
        return "a call did not return within " + std::to_string(ModuleGuard::LONGEST_CALL) +
               " s: it loops";
    case SIGFPE:
        return "division by zero";
    case SIGILL:
        return "it stopped itself (BUG)";
    default:
        return "access outside of its memory";
    }
}

ModuleGuard::ModuleGuard()
{
    constexpr size_t STACK_BYTES = 65536;
    m_stack.resize(STACK_BYTES);
    stack_t stack{};
    stack.ss_sp = m_stack.data();
    stack.ss_size = m_stack.size();
    sigaltstack(&stack, &m_oldStack);
    auto replace = [this](int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
        struct sigaction action{};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | flags;
        sigemptyset(&action.sa_mask);
        Replaced before{signal, {}};
        sigaction(signal, &action, &before.action);
        m_replaced.push_back(before);
    };
    for (size_t i = 0; i < FAILURE_SIGNALS.size(); ++i)
    {
        replace(FAILURE_SIGNALS[i], OnFailureSignal, SA_ONSTACK);
        if (m_replaced.back().action.sa_sigaction != OnFailureSignal)
        {
            g_actionsBefore[i] = m_replaced.back().action;
        }
    }
    replace(WatchSignal(), OnWatchSignal, SA_RESTART);
    g_call.number = 0;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = WatchSignal();
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    m_hasTimer = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &m_timer) == 0;
    if (m_hasTimer)
    {
        itimerspec times{};
        times.it_interval.tv_sec = times.it_value.tv_sec = LONGEST_CALL;
        timer_settime(m_timer, 0, &times, nullptr);
    }
}

ModuleGuard::~ModuleGuard()
{
    if (m_hasTimer)
    {
        timer_delete(m_timer);
    }
    for (const Replaced& before : m_replaced)
    {
        sigaction(before.signal, &before.action, nullptr);
    }
    sigaltstack(&m_oldStack, nullptr);
}

bool
ModuleGuard::Run(void (*function)(void*), void* argument)
{
    GuardedCall& call = g_call;
    call.number = call.number + 1;
    if (__builtin_setjmp(call.jump) != 0)
    {
        return false;
    }
    call.isInside = 1;
    try
    {
        function(argument);
    }
    catch (...)
    {
        call.isInside = 0;
        throw;
    }
    call.isInside = 0;
    return true;
}

ModuleFault
ModuleGuard::Fault() const
{
    return g_call.fault;
}

} // namespace tunnelcc
