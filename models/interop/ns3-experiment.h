/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NS3_EXPERIMENT_H
#define TUNNELCC_NS3_EXPERIMENT_H

#include "experiment/experiment.h"

namespace tunnelcc
{

/**
 * Run one experiment as RunExperiment() does, with ns3::Simulator at its clock and ns-3's random
 * numbers by its seed: what ns-3's congestion controls need. Nothing may be pending in
 * ns3::Simulator.
 */
ExperimentResult RunNs3Experiment(const ExperimentSpec& spec,
                                  const ProgressCallback& progress = {},
                                  Capture* capture = nullptr);

} // namespace tunnelcc

#endif // TUNNELCC_NS3_EXPERIMENT_H
