/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MEASURED_RUN_H
#define MEASURED_RUN_H

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/resource.h>

/**
 * \file
 * What the programs tell of which bench.py compares the speed with tunnelcc's.
 */

/// CPU time of this process, s.
inline double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Most memory that this process has had, bytes.
inline uint64_t
PeakRssBytes()
{
    // Not ru_maxrss, which a program inherits from the one that started it.
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word && word != "VmHWM:")
    {
    }
    uint64_t kibibytes = 0;
    status >> kibibytes;
    return 1024 * kibibytes;
}

/// A run as bench.py reads it.
struct MeasuredRun
{
    bool isTimedOut;       //!< it reached the limit of CPU time
    double simulated;      //!< s
    double cpu;            //!< s
    uint64_t dataSegments; //!< that crossed the path
    double goodput;        //!< bit/s
    uint64_t events;

    /// Print it, with the memory, as one JSON object.
    void Print() const
    {
        std::cout << "{\"timed_out\": " << (isTimedOut ? "true" : "false")
                  << ", \"simulated_seconds\": " << simulated << ", \"cpu_seconds\": " << cpu
                  << ", \"data_segments\": " << dataSegments << ", \"goodput_bps\": " << goodput
                  << ", \"events\": " << events << ", \"peak_rss_bytes\": " << PeakRssBytes() << "}"
                  << std::endl;
    }
};

#endif // MEASURED_RUN_H
