/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment.h"

#include "event/event-loop.h"
#include "recorder.h"
#include "world.h"

namespace tunnelcc
{

ExperimentResult
RunExperiment(const ExperimentSpec& spec,
              const ProgressCallback& progress,
              Capture* capture,
              const AlgorithmWrapper& wrap)
{
    EventLoop& loop = EventLoop::Get();
    loop.Reset();
    World world(spec, capture, wrap);
    world.Start();
    Recorder recorder(spec, world, progress);
    loop.Run();
    if (capture)
    {
        capture->Finish();
    }
    return recorder.TakeResult();
}

} // namespace tunnelcc
