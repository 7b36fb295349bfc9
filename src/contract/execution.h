// One command of POST /execute, from its start until nothing of it is to be waited for.
#ifndef OSBX_CONTRACT_EXECUTION_H_
#define OSBX_CONTRACT_EXECUTION_H_

#include <signal.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child_waiter.h"
#include "base/event_loop.h"
#include "base/process_id.h"
#include "base/process_tree.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "contract/execution_result.h"
#include "contract/leftover_pipes.h"
#include "contract/output_capture.h"

namespace osbx::contract {

// What executions share; outlives each of them.
struct ExecutionServices {
  std::shared_ptr<base::EventLoop> loop;
  std::shared_ptr<base::WorkerPool> pool;  // where trees are killed
  std::shared_ptr<base::ChildWaiter> waiter;
  std::shared_ptr<LeftoverPipes> leftovers;
  std::vector<std::string> environment;  // of commands; base::CurrentEnvironment()
  std::optional<sigset_t> not_default;   // base::SignalsNotDefault(), where nobody else changes dispositions
};

// Loop thread only, its destructor as well.
class Execution : public std::enable_shared_from_this<Execution> {
 public:
  using Done = std::function<void(ExecutionResult)>;

  struct Options {
    std::string shell;
    std::string command;
    std::string workspace;
    std::optional<std::chrono::milliseconds> timeout;  // nothing: no limit
  };

  // Runs `shell -c command`. `done` runs once, as a task of the loop after this call: with the shell's exit, a short
  // grace for the output behind it, and background children left alive; or, at the timeout and after Cancel(), when the
  // whole tree is dead. Until then the execution keeps itself alive. Errors: those of base::Spawn(); nothing runs then,
  // and `done` neither.
  static absl::StatusOr<std::shared_ptr<Execution>> Start(const ExecutionServices& services, Options options,
                                                          Done done);

  // Kills the whole tree, background children too; `done` runs when it is dead. Nothing once `done` has run.
  void Cancel();

  // Where the loop ended under a running command: kills the command's group at least.
  ~Execution();

 private:
  enum class State { kRunning, kGrace, kKilling, kOver };
  struct Stream {
    base::UniqueFd fd;
    std::unique_ptr<base::EventLoop::FdWatcher> watcher;  // destroyed before its descriptor
    OutputCapture capture;
    bool open() const { return fd.valid(); }
  };

  Execution(const ExecutionServices& services, Done done);
  absl::Status Begin(const ExecutionServices& services, Options options);
  void BeginRead(Stream* stream);
  void OnReadable(Stream* stream);
  // At most `most` bytes of what is there; whether there was any.
  bool ReadSome(Stream* stream, size_t most);
  void OnExit(base::ChildExit exit);
  void BeginGrace();
  void ExtendGrace();
  void Kill();
  void OnKilled(absl::Status status);
  void OnKillOverdue();
  void FinishIfOver();
  void Finish();
  static void CloseStream(Stream* stream);

  const base::ProcessId creator_ = base::CurrentProcess();
  // Neither the loop nor the waiter is held: both hold what keeps this alive.
  const std::weak_ptr<base::EventLoop> loop_;
  const std::weak_ptr<base::WorkerPool> pool_;
  const std::shared_ptr<LeftoverPipes> leftovers_;
  Done done_;

  State state_ = State::kRunning;
  base::ProcessTree tree_;
  base::TimePoint started_;
  base::TimePoint ended_;
  Stream stdout_;
  Stream stderr_;
  std::unique_ptr<base::EventLoop::Timer> timer_;  // of the state: timeout, end of the grace, bound of the kill
  base::TimePoint grace_end_;
  std::optional<base::ChildExit> exit_;
  bool killed_ = false;  // the kill has reported
  ExecutionResult result_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_EXECUTION_H_
