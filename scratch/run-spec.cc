/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "interop/ns3-experiment.h"
#include "modules/module-loader.h"
#include "probe/columns.h"
#include "spec/spec-text.h"

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>

/**
 * \file
 * Runs the specification in a file, without Python: for debuggers, profilers and bug reports.
 *
 *     tunnelcc run --rate 50Mbps --rtt 40ms --cc bbr --write-spec spec.json
 *     build/release/scratch/run-spec spec.json > result.json
 *
 * Prints what the Python package would get, number for number. A specification with congestion
 * controls in files also needs the folder of the compiled ones, ~/.cache/tunnelcc/modules.
 */
int
main(int argc, char** argv)
{
    if (argc != 2 && argc != 3)
    {
        std::cerr << "Usage: run-spec FILE [FOLDER]   (as `tunnelcc run … --write-spec FILE` "
                     "writes it)\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    if (!file)
    {
        std::cerr << "run-spec: " << argv[1] << " cannot be read\n";
        return 2;
    }
    if (argc == 3)
    {
        tunnelcc::SetModuleFolder(argv[2]);
    }
    try
    {
        const std::string text(std::istreambuf_iterator<char>(file), {});
        std::cout << tunnelcc::FormatResult(tunnelcc::RunNs3Experiment(tunnelcc::ParseSpec(text)))
                  << "\n";
    }
    catch (const std::exception& error)
    {
        std::cerr << "run-spec: " << argv[1] << ": " << error.what() << "\n";
        return 1;
    }
    return 0;
}
