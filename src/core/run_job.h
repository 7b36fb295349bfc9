// Runs a job to its end on the calling thread: the blocking form of exec, and what put and get are made of.
#ifndef OSBX_CORE_RUN_JOB_H_
#define OSBX_CORE_RUN_JOB_H_

#include <functional>
#include <memory>

#include "base/cancel.h"
#include "core/command.h"
#include "core/job.h"
#include "core/result.h"

namespace osbx::core {

// Feeds the command's stdin and delivers or collects its output until it has ended. Callbacks run on this thread. One
// that gives up ends the tree; its reason is kCallbackAborted, and no callback runs afterwards. The job's own driver
// holds deadline and cancel.
Result RunToEnd(Job& job, const Command& command);

// Starts a job and runs it to its end. A command that found every place of the sandbox's process limit taken is started
// again for up to five seconds, within `context`: in a fork bomb places come free all the time. One whose stdin comes
// from a reader is not, since what the reader gave cannot be had twice.
absl::StatusOr<Result> StartAndRun(const std::function<absl::StatusOr<std::shared_ptr<Job>>()>& start,
                                   const Command& command, const base::Context& context);

}  // namespace osbx::core

#endif  // OSBX_CORE_RUN_JOB_H_
