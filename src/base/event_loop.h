// One thread that moves bytes between descriptors and queues, and runs timers and posted tasks.
//
// Everything that outlives a single call lives here: streams of running commands, watches on sandboxes, later dials and
// channels. Asio stays behind this header, so that it is compiled in one file.
#ifndef OSBX_BASE_EVENT_LOOP_H_
#define OSBX_BASE_EVENT_LOOP_H_

#include <functional>
#include <memory>

#include "base/cancel.h"

namespace osbx::base {

class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  using Task = std::function<void()>;

  // One-shot readiness waits on one descriptor, which stays the caller's; it is made non-blocking. Loop thread only.
  // Destroying it, or Cancel(), ends the waits without running their tasks. A wait replaces an earlier one of the same
  // direction. Errors of the descriptor run the task too, whose read or write then meets them. A descriptor has one
  // watcher at a time, destroyed before it is closed. Once the loop has ended, no wait runs any more.
  class FdWatcher {
   public:
    virtual ~FdWatcher() = default;
    virtual void WaitReadable(Task task) = 0;
    virtual void WaitWritable(Task task) = 0;
    virtual void Cancel() = 0;
  };

  // Loop thread only. ExpireAt replaces an earlier expiry; TimePoint::max() disarms.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void ExpireAt(TimePoint when, Task task) = 0;
    virtual void Cancel() = 0;
  };

  // The thread starts with the first Post(). All signals are blocked in it: they are the host program's.
  static std::shared_ptr<EventLoop> Create();

  // Stops the thread and joins it; tasks that did not run yet are destroyed unrun. When the last reference is dropped
  // on the loop's own thread, the thread ends by itself and is joined by the next owner that can (JoinRetiredThreads).
  // In a forked child, where the thread does not exist, nothing is joined.
  ~EventLoop();

  // Runs `task` on the loop's thread, soon; any thread. Tasks run in the order they were posted. Fails only where the
  // thread cannot be started: for want of resources, in a forked child, and while the loop ends. A task should not
  // throw; what it throws is dropped.
  absl::Status Post(Task task);
  // Runs `task` on the loop's thread and returns when it has run; runs it at once when called on that thread. What it
  // throws comes back as a status; kCanceled where the loop ended first.
  absl::Status RunAndWait(Task task);

  bool InLoopThread() const;

  std::unique_ptr<FdWatcher> WatchFd(int fd);
  std::unique_ptr<Timer> NewTimer();

 private:
  struct Impl;
  explicit EventLoop(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// Joins loop threads that could not be joined by their own last owner. Called at unload; loop creation joins those that
// have ended by then.
void JoinRetiredThreads();

}  // namespace osbx::base

#endif  // OSBX_BASE_EVENT_LOOP_H_
