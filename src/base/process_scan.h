// What /proc tells of processes. All of it was written by them: bounded, and never trusted further than needed.
#ifndef OSBX_BASE_PROCESS_SCAN_H_
#define OSBX_BASE_PROCESS_SCAN_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace osbx::base {

struct ProcessInfo {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  int64_t threads = 0;
  uint64_t start = 0;  // in clock ticks since boot: with the pid, a process's identity

  // Nothing of it runs any more. A leader that ended before its other threads is a zombie that lives.
  bool ended() const { return (state == 'Z' && threads <= 1) || state == 'X' || state == 'x'; }
  bool stopped() const { return state == 'T' || state == 't'; }
};

// The text of /proc/PID/stat. The name in it can hold anything, parentheses and line feeds too.
std::optional<ProcessInfo> ParseProcessStat(std::string_view text);

// One process, without a scan; nothing where /proc does not tell.
std::optional<ProcessInfo> ReadProcess(pid_t pid);

class ProcessScan {
 public:
  // Fails where /proc is not mounted, or is that of another pid namespace.
  static absl::StatusOr<ProcessScan> Open();

  std::optional<ProcessInfo> Read(pid_t pid) const;
  // Every process; fewer where there are more than `limit`. `vanished` becomes whether one ended meanwhile, whose
  // children may be missing. Nothing where descriptors or memory are too short to tell.
  std::optional<std::vector<ProcessInfo>> ReadAll(size_t limit, bool* vanished) const;

  enum class Mark { kNone, kOurs, kOther };
  // Whether the environment holds the whole entry `marker`, or another one of the same name.
  Mark ReadMark(pid_t pid, std::string_view marker) const;

 private:
  explicit ProcessScan(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd OpenFile(pid_t pid, const char* name) const;
  UniqueFd directory_;
};

// The same over pieces of an environment that arrive one after the other.
class MarkFinder {
 public:
  explicit MarkFinder(std::string_view marker);
  void Add(std::string_view piece);
  void Finish();  // the last entry may lack its end
  ProcessScan::Mark result() const { return result_; }

 private:
  void EndEntry();
  const std::string_view marker_;
  const size_t name_bytes_;  // with the '='
  std::string entry_;        // its beginning, one byte more than a marker at most
  ProcessScan::Mark result_ = ProcessScan::Mark::kNone;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_PROCESS_SCAN_H_
