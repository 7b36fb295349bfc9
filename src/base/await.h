// Waiting on a condition under a mutex, within a context: the one shape of every blocking wait of this library.
#ifndef OSBX_BASE_AWAIT_H_
#define OSBX_BASE_AWAIT_H_

#include "base/cancel.h"
#include "base/mutex.h"

namespace osbx::base {

// Waits until `ready()`, which is called with `mutex` held, is true: OK. When the context gives up before: its status;
// what is ready already counts even then. Whoever makes it ready notifies `changed` under `mutex`. The analysis cannot
// see that `ready` is annotated for the very mutex that is held here.
template <typename Ready>
absl::Status Await(Mutex& mutex, CondVar& changed, const Context& context, Ready ready) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // The wakeup runs under the token's mutex and takes `mutex`, so nothing may touch the token while `mutex` is held; a
  // token that fires between the check and the wait is seen by `woken`.
  bool woken = false;
  const ScopedWakeup wakeup(context, [&] {
    MutexLock lock(mutex);
    woken = true;
    changed.NotifyAll();
  });
  for (;;) {
    const absl::Status allowed = context.Check();
    const TimePoint deadline = context.deadline();
    MutexLock lock(mutex);
    for (;;) {
      if (ready()) return absl::OkStatus();
      if (!allowed.ok()) return allowed;
      if (woken || Clock::now() >= deadline) break;
      changed.WaitUntil(mutex, deadline);
    }
    woken = false;
  }
}

}  // namespace osbx::base

#endif  // OSBX_BASE_AWAIT_H_
