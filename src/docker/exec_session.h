// One command of a sandbox, driven through an engine exec from its start to its truthful end.
#ifndef OSBX_DOCKER_EXEC_SESSION_H_
#define OSBX_DOCKER_EXEC_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/duplex_stream.h"
#include "core/command.h"
#include "core/job.h"
#include "docker/docker_engine.h"
#include "docker/exec_outcome.h"
#include "docker/tree_kill.h"
#include "engine/exec_calls.h"
#include "engine/output_reader.h"
#include "engine/system_calls.h"

namespace osbx::docker {

// Which sandbox, and as whom.
struct ExecTarget {
  std::string container;
  std::string user;           // uid:gid
  std::string leftover = {};  // a file that the command cannot remove when it is killed: removed with its tree
};

// Everything below the first line of StartExec happens on the event loop.
class ExecSession : public core::JobDriver, public std::enable_shared_from_this<ExecSession> {
 public:
  // Starts `command` on the calling thread, for which `launch` holds. It ends at `deadline`, and by `run`'s token and
  // deadline, with its whole tree. An error means that nothing ran.
  static absl::StatusOr<std::shared_ptr<core::Job>> StartExec(const std::shared_ptr<DockerEngine>& engine,
                                                              const ExecTarget& target, const core::Command& command,
                                                              const base::Context& launch, const base::Context& run);

  ~ExecSession() override;

  void OnOutputRoom() override;
  void OnInput() override;
  void OnStopRequested(core::EndReason why) override;

 private:
  ExecSession(std::shared_ptr<DockerEngine> engine, ExecTarget target, std::string marker, base::Context run);

  // Until the session belongs to the loop:
  absl::Status Launch(const core::Command& command, const base::Context& launch);

  // The command runs:
  void Begin();
  void CheckTime();
  void PumpOutput();
  void ResumeOutput();
  void LoseOutput();
  void PumpInput();
  void Deliver(uint32_t stream, std::string_view bytes);

  // It ends, one way or another:
  void OnStreamEnd();
  void OnStreamBroken(const absl::Status& why);
  void Inspect();
  void OnInspected(const absl::StatusOr<engine::ExecState>& state);
  void AwaitExecDie();
  void OnContainerExit();
  void Kill(core::EndReason why);
  void OnKilled(const absl::Status& status);
  void FinishStopped();
  void ConcludeExit(int64_t exit_code, bool ran);
  void AskWhetherOutOfMemory(core::JobEnd otherwise);
  void OnPastEvent(const engine::Event& event);
  void Finish(const core::JobEnd& end);
  void FinishWith(core::EndReason reason);

  void Post(void (ExecSession::*method)());

  const std::shared_ptr<DockerEngine> engine_;
  const ExecTarget target_;
  const std::string marker_;
  const base::Context run_;
  std::shared_ptr<core::Job> job_;
  std::shared_ptr<ExitWatch> watch_;
  std::string exec_;
  absl::Status launch_failure_;  // the start was sent, and its answer did not come
  base::TimePoint started_;
  int64_t started_unix_ns_ = 0;

  // Loop thread only from here on.
  std::unique_ptr<base::DuplexStream> stream_;
  engine::OutputReader output_;
  StartFailureFilter start_failure_;
  uint64_t token_wakeup_ = 0;
  uint64_t exit_listener_ = 0;
  std::unique_ptr<base::EventLoop::Timer> time_limit_;
  std::unique_ptr<base::EventLoop::Timer> grace_;
  std::unique_ptr<engine::PendingCall> call_;
  std::unique_ptr<engine::PendingCall> events_;
  std::shared_ptr<TreeKill> kill_;
  std::string input_;         // taken from the job, not written yet
  std::string error_tail_;    // the last of stderr
  bool input_ended_ = false;  // half-closed, or nobody reads
  bool output_ended_ = false;
  bool waiting_for_room_ = false;
  bool container_exited_ = false;
  bool seen_start_ = false;      // among past events
  bool container_died_ = false;  // after that, by the same
  bool killed_ = false;          // the kill has been confirmed, or given up
  bool kill_confirmed_ = false;
  std::optional<core::EndReason> stopping_;
  bool finished_ = false;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_EXEC_SESSION_H_
