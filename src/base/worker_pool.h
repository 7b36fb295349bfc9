// A few threads for work that may block: system calls on regular files, which no event loop can wait for.
#ifndef OSBX_BASE_WORKER_POOL_H_
#define OSBX_BASE_WORKER_POOL_H_

#include <functional>
#include <memory>

#include "base/event_loop.h"
#include "base/status.h"

namespace osbx::base {

class WorkerPool {
 public:
  // Threads start with the first Run(). All signals are blocked in them.
  explicit WorkerPool(int threads);
  // Waits for work that runs; what has not begun is destroyed unrun. Not on a thread of its own.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `work` on one of the threads, in the order of the calls; any thread. Fails where no thread can be started.
  absl::Status Run(std::function<void()> work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_WORKER_POOL_H_
