/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment.h"

#include "event/event-loop.h"

namespace tunnelcc
{

Experiment::Experiment(EventLoop& loop,
                       const ExperimentSpec& spec,
                       const ProgressCallback& progress,
                       Capture* capture,
                       const AlgorithmWrapper& wrap)
    : m_capture(capture),
      m_world(loop, spec, capture, wrap)
{
    m_world.Start();
    m_recorder.emplace(loop, spec, m_world, progress);
    if (capture)
    {
        capture->SetClock(loop);
    }
}

ExperimentResult
Experiment::Finish()
{
    if (m_capture)
    {
        m_capture->Finish();
    }
    return m_recorder->TakeResult();
}

ExperimentResult
RunExperiment(const ExperimentSpec& spec,
              const ProgressCallback& progress,
              Capture* capture,
              const AlgorithmWrapper& wrap)
{
    EventLoop loop;
    Experiment experiment(loop, spec, progress, capture, wrap);
    loop.Run();
    return experiment.Finish();
}

} // namespace tunnelcc
