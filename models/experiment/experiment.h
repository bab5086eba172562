/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_H
#define TUNNELCC_EXPERIMENT_H

#include "probe/experiment-result.h"
#include "recorder.h"
#include "spec/experiment-spec.h"
#include "world.h"

namespace tunnelcc
{

/**
 * Run one experiment from beginning to end.
 *
 * ns-3's simulator is one per process: no two experiments may run at the same time in a process.
 *
 * \param spec the experiment
 * \param progress called a few times a second of wall time; may be empty
 * \param capture of packets; null: there is none. It changes nothing in the run
 * \param wrap may put something in place of each congestion control; may be empty
 * \throws std::invalid_argument if the specification names something that does not exist
 */
ExperimentResult RunExperiment(const ExperimentSpec& spec,
                               const ProgressCallback& progress = {},
                               Capture* capture = nullptr,
                               const AlgorithmWrapper& wrap = {});

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_H
