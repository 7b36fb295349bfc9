#include "base/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace osbx::base {
namespace {

constexpr size_t kMostProcesses = 65536;  // in one scan; what is beyond has its turn when others are gone
// Scans without a find that are believed: the second one because a pid below those that were read already can be given
// to a new child; many more where processes came and went meanwhile: most are somebody else's, but one that moves on
// from child to child is met alive by every other scan at best.
constexpr int kQuietScans = 2;
constexpr int kEmptyScans = 64;
constexpr int kFewestEmptyScans = 8;  // where the machine is so busy that more would keep somebody waiting
constexpr std::chrono::milliseconds kEmptyTime(200);
constexpr int kRoundsBeforeStopping = 3;
constexpr int kStopScans = 64;
constexpr int kRefusedRounds = 3;
constexpr int64_t kFirstPauseNanoseconds = 250'000;
constexpr int kMostPauseShift = 5;
constexpr int64_t kDescriptorPauseNanoseconds = 10'000'000;

using MarkFunction = std::function<ProcessScan::Mark(const ProcessInfo&)>;

// For others to let go of some.
void WaitForDescriptors() {
  const timespec pause = {0, kDescriptorPauseNanoseconds};
  nanosleep(&pause, nullptr);
}

// The closure of one tree over one scan.
class TreeFinder {
 public:
  TreeFinder(const ProcessTree& tree, const std::vector<ProcessInfo>& processes, const FoundProcesses& found_before)
      : tree_(tree), root_start_(tree.root_start.value_or(0)), found_before_(found_before) {
    // A session's number is given to no process while the session has a member. So a stranger with the root's pid says
    // that nothing is left of the root's session, and that the one of this number is the stranger's.
    bool root_is_another = false;
    for (const ProcessInfo& process : processes) {
      if (process.start < root_start_) older_sessions_.insert(process.session);
      if (process.pid == tree.root && process.start != root_start_) root_is_another = true;
      if (process.pid == getpid() || process.pid == 1 || process.start < root_start_) continue;
      outside_.push_back(&process);
    }
    if (!root_is_another) sessions_.insert(tree.root);
  }

  void FollowLinks() {
    bool grown = true;
    while (grown) {
      grown = TakeIf([this](const ProcessInfo& process) {
        const auto parent = members_.find(process.parent);
        const auto before = found_before_.find(process.pid);
        return (before != found_before_.end() && before->second == process.start) ||
               (process.pid == tree_.root && process.start == root_start_) || sessions_.count(process.session) != 0 ||
               (parent != members_.end() && parent->second <= process.start);
      });
    }
  }

  void FollowMarks(const MarkFunction& mark) {
    const pid_t here = getpid();
    const pid_t own_session = getsid(0);
    TakeIf([&](const ProcessInfo& process) {
      if (process.ended()) return false;
      switch (mark(process)) {
        case ProcessScan::Mark::kOurs:
          return true;
        case ProcessScan::Mark::kOther:
          return false;
        case ProcessScan::Mark::kNone:
          break;
      }
      // A kernel that tells no start times (an old gVisor) cannot say which orphans are new.
      // Of those that began in the root's own tick, the ones with a smaller pid were there before it.
      if (process.start == root_start_ && process.pid < tree_.root) return false;
      return tree_.adopts_orphans && root_start_ > 0 && process.parent == here && process.session != own_session &&
             older_sessions_.count(process.session) == 0;
    });
  }

  const std::vector<ProcessInfo>& found() const { return found_; }

 private:
  template <typename Belongs>
  bool TakeIf(Belongs belongs) {
    const auto rest = std::partition(outside_.begin(), outside_.end(),
                                     [&](const ProcessInfo* process) { return !belongs(*process); });
    const bool taken = rest != outside_.end();
    for (auto it = rest; it != outside_.end(); ++it) {
      const ProcessInfo& process = **it;
      members_.emplace(process.pid, process.start);
      // A command's processes can only make sessions, so one from before is not theirs.
      if (process.session > 1 && older_sessions_.count(process.session) == 0) sessions_.insert(process.session);
      found_.push_back(process);
    }
    outside_.erase(rest, outside_.end());
    return taken;
  }

  const ProcessTree& tree_;
  const uint64_t root_start_;
  const FoundProcesses& found_before_;
  std::vector<const ProcessInfo*> outside_;
  std::unordered_set<pid_t> older_sessions_;
  std::unordered_set<pid_t> sessions_;
  std::unordered_map<pid_t, uint64_t> members_;
  std::vector<ProcessInfo> found_;  // ended ones too: they link others
};

class TreeKiller {
 public:
  TreeKiller(const ProcessTree& tree, const ProcessScan& scan, TimePoint deadline)
      : tree_(tree), scan_(scan), deadline_(deadline) {}

  absl::Status Run() {
    int empty_scans = 0;
    int quiet_scans = 0;
    TimePoint empty_since;
    int refused_rounds = 0;
    for (int round = 0;; ++round) {
      Look();
      if (blind_) return Error(Code::kAtCapacity, "cannot look for a command's processes: no descriptor is free");
      if (found_.empty()) {
        if (empty_scans == 0) empty_since = Clock::now();
        ++empty_scans;
        if (!vanished_) ++quiet_scans;
        const bool waited = empty_scans >= kFewestEmptyScans && Clock::now() - empty_since >= kEmptyTime;
        if (quiet_scans >= kQuietScans || empty_scans >= kEmptyScans || waited) return absl::OkStatus();
        continue;
      }
      empty_scans = quiet_scans = 0;
      // What grows faster than it is killed is halted first: one that is killed makes room for another's child.
      if (round >= kRoundsBeforeStopping) StopAll();
      const size_t refused = SignalAll(SIGKILL);
      refused_rounds = !found_.empty() && refused == found_.size() ? refused_rounds + 1 : 0;
      if (refused_rounds >= kRefusedRounds) return Left(Code::kPermission, "another user's");
      if (Clock::now() >= deadline_) return Left(Code::kTimeout, "not dead in time");
      if (!new_ones_) Pause(round);
    }
  }

 private:
  void Look() {
    auto processes = scan_.ReadAll(kMostProcesses, &vanished_);
    // Others let go of descriptors in time.
    while (!processes.has_value() && Clock::now() < deadline_) {
      WaitForDescriptors();
      processes = scan_.ReadAll(kMostProcesses, &vanished_);
    }
    blind_ = !processes.has_value();
    processes_ = std::move(processes).value_or(std::vector<ProcessInfo>());
    found_ = FindProcessTree(tree_, processes_, seen_,
                             [this](const ProcessInfo& process) { return scan_.ReadMark(process.pid, tree_.marker); });
    new_ones_ = false;
    for (const ProcessInfo& process : found_) new_ones_ |= IsNew(process, &seen_);
    // One that is met dead may have left a child behind, which this scan was too early for.
    FoundProcesses ended;
    for (const ProcessInfo& process : processes_) {
      if (process.ended() && IsNew(process, &ended_)) vanished_ = true;
      if (process.ended()) ended[process.pid] = process.start;
    }
    ended_ = std::move(ended);
  }

  static bool IsNew(const ProcessInfo& process, FoundProcesses* known) {
    const auto [entry, added] = known->emplace(process.pid, process.start);
    return added || std::exchange(entry->second, process.start) != process.start;
  }

  void StopAll() {
    for (int i = 0; i < kStopScans && Clock::now() < deadline_; ++i) {
      const bool all_stopped =
          std::all_of(found_.begin(), found_.end(), [](const ProcessInfo& process) { return process.stopped(); });
      if (all_stopped && !new_ones_) return;
      SignalAll(SIGSTOP);
      Look();
    }
  }

  // The number of those that may not be signalled.
  size_t SignalAll(int signal) {
    // Groups first: a group gets its signal whole, with no time to fork in between.
    std::unordered_set<pid_t> groups;
    std::unordered_set<pid_t> members;
    for (const ProcessInfo& process : found_) {
      members.insert(process.pid);
      if (process.group > 1) groups.insert(process.group);
    }
    groups.erase(getpgrp());
    for (const ProcessInfo& process : processes_) {
      if (!process.ended() && members.count(process.pid) == 0) groups.erase(process.group);
    }
    for (const pid_t group : groups) kill(-group, signal);
    size_t refused = 0;
    for (const ProcessInfo& process : found_) refused += SignalOne(process, signal) ? 0 : 1;
    return refused;
  }

  // False: not allowed. The pid may be another's since the scan.
  bool SignalOne(const ProcessInfo& process, int signal) {
    const UniqueFd descriptor(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0u)));
    const std::optional<ProcessInfo> now = scan_.Read(process.pid);
    if (!now.has_value() || now->start != process.start) return true;
    const long result = descriptor.valid() ? syscall(SYS_pidfd_send_signal, descriptor.get(), signal, nullptr, 0u)
                                           : kill(process.pid, signal);
    return result == 0 || errno != EPERM;
  }

  absl::Status Left(Code code, const char* why) const {
    return Error(code, "processes of a command are left: " + std::to_string(found_.size()) + ", " + why +
                           ", the first with pid " + std::to_string(found_.empty() ? 0 : found_.front().pid));
  }

  // The kernel announces no end of a process that is not a child.
  static void Pause(int round) {
    const timespec pause = {0, kFirstPauseNanoseconds << std::min(round, kMostPauseShift)};
    nanosleep(&pause, nullptr);
  }

  const ProcessTree& tree_;
  const ProcessScan& scan_;
  const TimePoint deadline_;
  std::vector<ProcessInfo> processes_;
  std::vector<ProcessInfo> found_;
  FoundProcesses seen_;
  FoundProcesses ended_;   // in the scan before
  bool vanished_ = false;  // somebody ended meanwhile
  bool new_ones_ = false;
  bool blind_ = false;  // no scan could be made until the deadline
};

}  // namespace

std::vector<ProcessInfo> FindProcessTree(const ProcessTree& tree, const std::vector<ProcessInfo>& processes,
                                         const FoundProcesses& found_before, const MarkFunction& mark) {
  TreeFinder finder(tree, processes, found_before);
  finder.FollowLinks();
  if (!tree.marker.empty()) {
    finder.FollowMarks(mark);
    finder.FollowLinks();
  }
  std::vector<ProcessInfo> found;
  for (const ProcessInfo& process : finder.found()) {
    if (!process.ended()) found.push_back(process);
  }
  return found;
}

absl::Status KillProcessTree(const ProcessTree& tree, TimePoint deadline) {
  // Nothing here may ever mean "every process".
  if (tree.root <= 1) return Error(Code::kInvalid, "no process to kill");
  absl::StatusOr<ProcessScan> scan = ProcessScan::Open();
  while (!scan.ok() && CodeOf(scan.status()) == Code::kAtCapacity && Clock::now() < deadline) {
    WaitForDescriptors();
    scan = ProcessScan::Open();
  }
  if (!scan.ok() || !tree.root_start.has_value()) {
    kill(-tree.root, SIGKILL);
    return scan.ok()
               ? Error(Code::kUnsupported, "cannot look for a command's processes: /proc was not there when it began")
               : scan.status();
  }
  return TreeKiller(tree, *scan, deadline).Run();
}

}  // namespace osbx::base
