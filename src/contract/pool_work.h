// Work that may block, from the loop's thread to the pool and back.
#ifndef OSBX_CONTRACT_POOL_WORK_H_
#define OSBX_CONTRACT_POOL_WORK_H_

#include <functional>

#include "base/event_loop.h"
#include "base/worker_pool.h"

namespace osbx::contract {

// The pool is destroyed before the loop, and both after the last exchange has been answered or its server is gone.
struct Workers {
  base::EventLoop* loop = nullptr;
  base::WorkerPool* pool = nullptr;
};

// Runs `slice` in the pool, behind what others have queued there, again and again until it returns true; then
// `done(true)` on the loop's thread. `done(false)`: there was no thread or no memory for it. Call on the loop's thread.
// What `done` holds is released on the loop's thread as well, unless the loop or the pool ends first.
void RunInPool(const Workers& workers, std::function<bool()> slice, std::function<void(bool ran)> done);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_POOL_WORK_H_
