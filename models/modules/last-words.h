/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LAST_WORDS_H
#define TUNNELCC_LAST_WORDS_H

#include <cstdint>
#include <string>

/**
 * \file
 * What a process says that dies of a call of a compiled file. Code that others wrote runs in a
 * process of its own (tunnelcc/modules/child.py); whoever watches that one reads these words.
 */

namespace tunnelcc
{

/// A call of a compiled file, while it exists. There is one at a time.
class ForeignCall
{
  public:
    /// \param name of the algorithm \param code hash of the file
    ForeignCall(const std::string& name, const std::string& code)
    {
        s_name = name.c_str();
        s_code = code.c_str();
        s_count = s_count + 1;
    }

    ~ForeignCall()
    {
        s_name = nullptr;
    }

    ForeignCall(const ForeignCall&) = delete;
    ForeignCall& operator=(const ForeignCall&) = delete;

  private:
    friend struct LastWords;

    // Handlers of signals read them.
    static inline const char* volatile s_name{nullptr}; //!< null: no call goes on
    static inline const char* volatile s_code{nullptr};
    static inline volatile uint64_t s_count{0};
};

/**
 * From now on, where this process dies of a call of a compiled file, add to a file how: "mine.cc:
 * division by zero [CODE+0xOFFSET]", with the hash of the compiled file and the address in it,
 * which debuggers turn into a line. So it ends, too, when a call takes more than a second of CPU
 * time, noticed within twice as long.
 *
 * Takes over the signals of failing instructions, SIGPROF and its timer.
 *
 * \param file its descriptor
 */
void LeaveLastWords(int file);

} // namespace tunnelcc

#endif // TUNNELCC_LAST_WORDS_H
