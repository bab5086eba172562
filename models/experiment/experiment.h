/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_H
#define TUNNELCC_EXPERIMENT_H

#include "probe/experiment-result.h"
#include "recorder.h"
#include "spec/experiment-spec.h"
#include "world.h"

#include <optional>

namespace tunnelcc
{

/// An experiment on an event loop, which has to run to its end. A process may have several.
class Experiment
{
  public:
    /**
     * \param loop at time 0, without events; as all that follows but `wrap`, it outlives the
     * experiment
     * \param spec the experiment
     * \param progress called a few times a second of wall time; may be empty
     * \param capture of packets; null: there is none. It changes nothing in the run
     * \param wrap may put something in place of each congestion control; may be empty
     * \throws std::invalid_argument if the specification names something that does not exist
     */
    Experiment(EventLoop& loop,
               const ExperimentSpec& spec,
               const ProgressCallback& progress,
               Capture* capture,
               const AlgorithmWrapper& wrap);

    /// The result. \pre the loop has run
    ExperimentResult Finish();

  private:
    Capture* const m_capture;
    World m_world;
    std::optional<Recorder> m_recorder;
};

/// Run one experiment from beginning to end, on a loop of its own. Parameters are those of
/// Experiment.
ExperimentResult RunExperiment(const ExperimentSpec& spec,
                               const ProgressCallback& progress = {},
                               Capture* capture = nullptr,
                               const AlgorithmWrapper& wrap = {});

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_H
