// Runs a job to its end on the calling thread: the blocking form of exec, and what put and get are made of.
#ifndef OSBX_CORE_RUN_JOB_H_
#define OSBX_CORE_RUN_JOB_H_

#include "core/command.h"
#include "core/job.h"
#include "core/result.h"

namespace osbx::core {

// Feeds the command's stdin and delivers or collects its output until it has ended. Callbacks run on this thread. One
// that gives up ends the tree; its reason is kCallbackAborted, and no callback runs afterwards. The job's own driver
// holds deadline and cancel.
Result RunToEnd(Job& job, const Command& command);

}  // namespace osbx::core

#endif  // OSBX_CORE_RUN_JOB_H_
