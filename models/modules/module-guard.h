/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MODULE_GUARD_H
#define TUNNELCC_MODULE_GUARD_H

#include <csignal>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/**
 * \file
 * Calls of compiled files that others wrote. What would kill the process (a division by zero, an
 * access outside of their memory, an endless loop) ends the call with a ModuleError instead.
 *
 * A signal handler jumps out of the call, so objects that the called function has on its stack are
 * not destroyed; the run ends, and the process goes on. A write that hits memory of the simulator
 * is not noticed: what may not be touched is not known for all memory.
 */

namespace tunnelcc
{

/// A compiled file failed. The message names the algorithm, what happened, and, in brackets, where:
/// `[CODE+0xOFFSET]`, the file's hash and the address in it, which debuggers turn into a line.
class ModuleError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/// How a call ended early.
struct ModuleFault
{
    int signal{0};        //!< 0: it took too long
    uintptr_t address{0}; //!< of the instruction; of its caller, where a call led nowhere
    uintptr_t caller{0};  //!< top of the stack, then

    /// "division by zero" and the like.
    std::string Describe() const;
};

/**
 * Watches calls of one thread, the one that made it, while it exists.
 *
 * Takes over the signals of failing instructions, and one of real time for the watch. Those of the
 * process's other code go to whoever handled them before.
 */
class ModuleGuard
{
  public:
    /// A call that takes longer is one that loops, seconds of CPU time; it is noticed within twice
    /// as long.
    static constexpr int LONGEST_CALL = 1;

    ModuleGuard();
    ~ModuleGuard();

    ModuleGuard(const ModuleGuard&) = delete;
    ModuleGuard& operator=(const ModuleGuard&) = delete;

    /**
     * Call `function(argument)`. It must not call Run().
     *
     * \returns whether it returned; if not, Fault() tells why
     */
    [[gnu::noinline]] bool Run(void (*function)(void*), void* argument); // it may be jumped into

    /// The same for anything that can be called.
    template <typename F>
    bool Run(F&& function)
    {
        using Function = std::remove_reference_t<F>;
        return Run([](void* argument) { (*static_cast<Function*>(argument))(); }, &function);
    }

    /// Why the last call did not return.
    ModuleFault Fault() const;

  private:
    struct Replaced
    {
        int signal;
        struct sigaction action;
    };

    std::vector<Replaced> m_replaced;
    std::vector<char> m_stack; //!< for handlers, because the thread's may be full
    stack_t m_oldStack{};
    timer_t m_timer{};
    bool m_hasTimer{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_MODULE_GUARD_H
