// Reaping one child. Part of the child waiters.
#ifndef OSBX_BASE_CHILD_EXIT_H_
#define OSBX_BASE_CHILD_EXIT_H_

#include <errno.h>
#include <sys/wait.h>

#include "base/child_waiter.h"

namespace osbx::base {

inline ChildExit ExitOf(const siginfo_t& info) {
  return {true, info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status};
}

enum class ReapResult { kReaped, kRuns, kNoChild };

// Reaps `pid` if it has ended.
inline ReapResult Reap(pid_t pid, ChildExit* exit) {
  siginfo_t info = {};
  int result = 0;
  do {
    result = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return ReapResult::kNoChild;
  if (info.si_pid != pid) return ReapResult::kRuns;
  *exit = ExitOf(info);
  return ReapResult::kReaped;
}

}  // namespace osbx::base

#endif  // OSBX_BASE_CHILD_EXIT_H_
