// The processes of one command, and their end.
#ifndef OSBX_BASE_PROCESS_TREE_H_
#define OSBX_BASE_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/process_scan.h"
#include "base/status.h"

namespace osbx::base {

struct ProcessTree {
  pid_t root = 0;  // leads a session of its own
  // ProcessInfo::start of it, read before it was reaped: nothing older is of the tree. Nothing where there is no /proc.
  std::optional<uint64_t> root_start;
  std::string marker;  // "NAME=value" in its environment; empty: none
  // Whether orphans come to this process.
  bool adopts_orphans = false;
};

// Kills the root and every process reachable from it by parent links, by its session or group, or by the marker, until
// none is left. With `adopts_orphans` also the orphans that came here since the root started, without a marker of
// their own, whose session has no member from before. Never this process, PID 1, or what is older than the root. Not
// found: what has a session of its own, has lost its parents *and* cleared its environment, where this process adopts
// no orphans.
//
// Blocks for as long as it takes, up to `deadline`: kTimeout then, with the number of those left; kPermission where all
// that is left are another user's; kUnsupported without /proc, when the root's group alone was killed.
absl::Status KillProcessTree(const ProcessTree& tree, TimePoint deadline);

// Processes that were found once: they stay of the tree, whatever they do to their links and their environment. One
// that is ending has no environment any more.
using FoundProcesses = std::unordered_map<pid_t, uint64_t>;  // pid and start

// Those of `processes` that belong to `tree`, ended ones left out. `mark` answers for a process's environment.
std::vector<ProcessInfo> FindProcessTree(const ProcessTree& tree, const std::vector<ProcessInfo>& processes,
                                         const FoundProcesses& found_before,
                                         const std::function<ProcessScan::Mark(const ProcessInfo&)>& mark);

}  // namespace osbx::base

#endif  // OSBX_BASE_PROCESS_TREE_H_
