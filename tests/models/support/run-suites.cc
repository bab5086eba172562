/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Runs the TestSuites that are linked into this program. The arguments are those of ns-3's own
 * test runner: `--list`, `--suite=NAME`, `--verbose`, `--stop-on-failure`.
 */
#include "ns3/test.h"

int
main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
