// Starts a program in a session of its own, with nothing of this process but what it is given.
#ifndef OSBX_BASE_SPAWN_H_
#define OSBX_BASE_SPAWN_H_

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace osbx::base {

struct SpawnOptions {
  std::string program;                   // a path; not looked up in PATH
  std::vector<std::string> arguments;    // argv, its first included
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // working directory; empty: this process's
  int stdout_fd = -1;
  int stderr_fd = -1;
  // What SignalsNotDefault() said, if nothing has changed since. Else it is asked: a system call for each signal.
  std::optional<sigset_t> not_default;
};

// The child leads a session of its own, reads /dev/null, and has stdout and stderr as given and no other descriptor,
// whether this process's are CLOEXEC or not; default signal dispositions, an empty signal mask, this process's umask.
// Returns when the program runs. What it fails with (exec included, so that no exit code stands for it): kNotFound,
// kPermission, kTooLarge (arguments and environment), kAtCapacity (processes), kNoMemory, kInternal. Any thread; it
// never waits for the child, which is the caller's to reap.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

// Signals that this process ignores or catches.
sigset_t SignalsNotDefault();

// The environment of this process, to be given to Spawn(). Not while another thread changes it.
std::vector<std::string> CurrentEnvironment();

}  // namespace osbx::base

#endif  // OSBX_BASE_SPAWN_H_
