// Tells on an event loop that a child has ended, and reaps it.
#ifndef OSBX_BASE_CHILD_WAITER_H_
#define OSBX_BASE_CHILD_WAITER_H_

#include <sys/types.h>

#include <functional>
#include <memory>

#include "base/event_loop.h"
#include "base/status.h"

namespace osbx::base {

struct ChildExit {
  // False where somebody else in this process took the exit: it ignores SIGCHLD, or waits for any child.
  bool known = false;
  int code = 0;  // what it exited with, or 128 and the signal that ended it
};

// Loop thread only, its destructor as well: that reaps no more, runs no callback, and kills those watched children for
// which a thread waits.
class ChildWaiter {
 public:
  using Callback = std::function<void(ChildExit)>;

  virtual ~ChildWaiter() = default;
  // Runs `done` once, as a task of its own on the loop, when the child `pid` has ended and been reaped; also when that
  // was before this call.
  virtual void Watch(pid_t pid, Callback done) = 0;
  // Whether this process adopts orphans, and the waiter reaps them.
  virtual bool adopts_orphans() const = 0;
};

// For a guest in somebody's process: SIGCHLD, the subreaper flag and other children are not touched. A descriptor per
// child, or a thread where the kernel has no pidfd_open(), or where `use_threads` says so.
std::shared_ptr<ChildWaiter> NewChildWaiter(const std::shared_ptr<EventLoop>& loop, bool use_threads = false);

// For a program that owns its process and is PID 1 or a subreaper: reaps every child, the adopted ones too. SIGCHLD
// must be blocked in every thread and not be ignored, and nobody else may wait for children. At most one in a process;
// loop thread only.
absl::StatusOr<std::shared_ptr<ChildWaiter>> NewReapingChildWaiter(const std::shared_ptr<EventLoop>& loop);

}  // namespace osbx::base

#endif  // OSBX_BASE_CHILD_WAITER_H_
