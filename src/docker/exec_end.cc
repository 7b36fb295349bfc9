// How a command's end is found out and told: the second half of ExecSession.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/wall_clock.h"
#include "docker/exec_session.h"
#include "engine/container_calls.h"
#include "engine/system_calls.h"

namespace osbx::docker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCallTime(10000);        // one question to the engine
constexpr milliseconds kKillTime(15000);        // all attempts to end a tree, in a fork bomb on a busy host
constexpr milliseconds kStopTime(5000);         // to end the sandbox itself, when its tree could not be
constexpr milliseconds kOutputGrace(2000);      // for output that is still under way after the tree has ended
constexpr milliseconds kExitGrace(300);         // the same after the sandbox has ended
constexpr milliseconds kDeathGrace(3000);       // for the sandbox's end, once its runtime has said that it lost it
constexpr milliseconds kSigkillGrace(1000);     // for the sandbox's end, when a command was killed by who knows whom
constexpr milliseconds kUnexplainedGrace(150);  // the same, when the engine may have lost its stream

}  // namespace

void ExecSession::OnStreamEnd() {
  output_ended_ = true;
  if (stopping_.has_value()) {
    if (killed_) FinishStopped();
  } else if (container_exited_) {
    AskWhetherOutOfMemory({core::EndReason::kSandboxGone, -1, 0});
  } else {
    Inspect();
  }
}

// The daemon went away, or talks nonsense. What became of the command is asked for, not guessed.
void ExecSession::OnStreamBroken(const absl::Status& why) {
  engine_->Log(base::LogLevel::kWarning, "the stream of a command broke: " + std::string(why.message()));
  output_ended_ = true;
  if (stopping_.has_value()) {
    if (killed_) FinishStopped();
  } else {
    Kill(core::EndReason::kOutcomeUnknown);
  }
}

void ExecSession::Inspect() {
  std::weak_ptr<ExecSession> weak = weak_from_this();
  call_ = engine_->client->Start<engine::ExecState>(engine::InspectExec(exec_), base::Clock::now() + kCallTime,
                                                    [weak](absl::StatusOr<engine::ExecState> state) {
                                                      if (auto self = weak.lock()) self->OnInspected(state);
                                                    });
}

void ExecSession::OnInspected(const absl::StatusOr<engine::ExecState>& state) {
  call_.reset();
  if (finished_ || stopping_.has_value()) return;
  if (!state.ok()) {
    if (base::CodeOf(state.status()) == base::Code::kNotFound) {
      // Forgotten with its sandbox, or (by an engine that was started anew) without it.
      return AskWhetherOutOfMemory({core::EndReason::kOutcomeUnknown, -1, 0});
    }
    engine_->Log(base::LogLevel::kWarning, "a command's end is unknown: " + std::string(state.status().message()));
    // It may run on, with nobody to read it. A daemon that is gone cannot be asked to end it.
    if (base::CodeOf(state.status()) == base::Code::kUnreachable) return FinishWith(core::EndReason::kOutcomeUnknown);
    return Kill(core::EndReason::kOutcomeUnknown);
  }
  if (!state->running && state->exit_code.has_value()) return ConcludeExit(*state->exit_code, state->pid > 0);
  if (events_ == nullptr) return AwaitExecDie();
}

// The program closed its output and runs on. The engine replays events from the start on, so none is missed; one more
// inspect after the subscription stands covers an engine that has forgotten it.
void ExecSession::AwaitExecDie() {
  std::weak_ptr<ExecSession> weak = weak_from_this();
  events_ = engine::StartEvents(
      *engine_->client, target_.container, {"exec_die"}, started_unix_ns_, 0, base::TimePoint::max(),
      [weak] {
        auto self = weak.lock();
        if (self != nullptr && !self->finished_ && !self->stopping_.has_value()) self->Inspect();
      },
      [weak](const engine::Event& event) {
        auto self = weak.lock();
        if (self == nullptr || self->finished_ || self->stopping_.has_value()) return;
        auto exec = event.attributes.find("execID");
        if (exec != event.attributes.end() && exec->second == self->exec_) self->Inspect();
      },
      [weak](absl::Status) {
        auto self = weak.lock();
        if (self != nullptr && !self->finished_ && !self->stopping_.has_value()) {
          self->Kill(core::EndReason::kOutcomeUnknown);
        }
      });
}

// `ran`: the engine knows a process of it, so that whatever it printed is its own.
void ExecSession::ConcludeExit(int64_t exit_code, bool ran) {
  auto deliver = [this](uint32_t stream, std::string_view bytes) { Deliver(stream, bytes); };
  if (std::optional<int32_t> code = start_failure_.Conclude(ran ? -1 : exit_code, deliver)) {
    engine_->Log(base::LogLevel::kInfo, "a command could not be started: " + start_failure_.text());
    core::JobEnd end = {core::EndReason::kExited, *code, 0, {}, true};
    if (start_failure_.not_running())
      end.not_started = base::Error(base::Code::kNotRunning, "the sandbox is not running");
    if (start_failure_.runtime_failed()) {
      end.not_started = base::Error(base::Code::kBackend, "the command could not be started: " + start_failure_.text());
    }
    if (start_failure_.at_capacity()) {
      end.not_started =
          base::Error(base::Code::kAtCapacity, "the command could not be started: the sandbox is at its process limit");
    }
    return Finish(end);
  }
  const core::JobEnd end = EndFromExitCode(exit_code);
  // gVisor's own words when the sandbox died under a command: the container's end follows.
  const bool lost = error_tail_.find("containerManager.WaitPID") != std::string::npos;
  const bool killed = end.reason == core::EndReason::kSignalled && end.signal == 9;
  // Docker's own word, without a text, when it lost the stream: a sandbox that ended does that too.
  const bool unexplained = exit_code == 126;
  if (!killed && !unexplained && !(lost && exit_code == 128)) return Finish(end);
  // Killed by a signal that is not ours: by the kernel for want of memory, with the whole sandbox, or by the guest.
  std::weak_ptr<ExecSession> weak = weak_from_this();
  grace_->ExpireAt(base::Clock::now() + (lost     ? kDeathGrace
                                         : killed ? kSigkillGrace
                                                  : kUnexplainedGrace),
                   [weak, end] {
                     auto self = weak.lock();
                     if (self != nullptr && !self->finished_) self->AskWhetherOutOfMemory(end);
                   });
}

void ExecSession::OnContainerExit() {
  if (finished_) return;
  container_exited_ = true;
  std::weak_ptr<ExecSession> weak = weak_from_this();
  auto conclude = [weak] {
    auto self = weak.lock();
    if (self == nullptr || self->finished_) return;
    if (self->stopping_.has_value()) {
      self->kill_confirmed_ = true;
      return self->FinishStopped();
    }
    self->AskWhetherOutOfMemory({core::EndReason::kSandboxGone, -1, 0});
  };
  // What it said before is on its way; the end of its stream may never come.
  if (output_ended_) return conclude();
  grace_->ExpireAt(base::Clock::now() + kExitGrace, conclude);
}

void ExecSession::AskWhetherOutOfMemory(core::JobEnd otherwise) {
  grace_->Cancel();
  std::weak_ptr<ExecSession> weak = weak_from_this();
  auto ask_container = [weak, otherwise] {
    auto self = weak.lock();
    if (self == nullptr || self->finished_) return;
    self->events_.reset();
    self->call_ = self->engine_->client->Start<engine::ContainerDetails>(
        engine::InspectContainer(self->target_.container), base::Clock::now() + kCallTime,
        [weak, otherwise](absl::StatusOr<engine::ContainerDetails> details) {
          auto session = weak.lock();
          if (session == nullptr || session->finished_) return;
          core::JobEnd end = otherwise;
          const bool gone = !details.ok() || details->status != "running" || session->container_died_;
          if (gone) end = {core::EndReason::kSandboxGone, -1, 0};
          if (gone && details.ok() && details->oom_killed) end.reason = core::EndReason::kOutOfMemory;
          if (end.reason == core::EndReason::kOutcomeUnknown) return session->Kill(end.reason);
          session->Finish(end);
        });
  };
  // Events tell it even where the container's own flag does not (an exec under runc, an old daemon, a container that
  // somebody has started again).
  call_.reset();
  events_ = engine::StartEvents(
      *engine_->client, target_.container, {"oom", "die", "exec_start"}, started_unix_ns_, base::UnixNanoseconds(),
      base::Clock::now() + kCallTime, nullptr,
      [weak](const engine::Event& event) {
        if (auto self = weak.lock()) self->OnPastEvent(event);
      },
      [ask_container](absl::Status) { ask_container(); });
}

void ExecSession::OnPastEvent(const engine::Event& event) {
  if (finished_) return;
  if (event.action == "oom") return FinishWith(core::EndReason::kOutOfMemory);
  // A death before this command's own start is not its end: the clocks of two machines differ.
  if (event.action == "die") {
    container_died_ = seen_start_;
  } else if (auto exec = event.attributes.find("execID"); exec != event.attributes.end() && exec->second == exec_) {
    seen_start_ = true;
  }
}

void ExecSession::Kill(core::EndReason why) {
  if (finished_ || stopping_.has_value()) return;
  stopping_ = why;
  time_limit_->Cancel();
  grace_->Cancel();
  call_.reset();
  events_.reset();
  input_.clear();
  job_->DropInput();
  if (container_exited_) {
    kill_confirmed_ = true;
    return FinishStopped();
  }
  std::weak_ptr<ExecSession> weak = weak_from_this();
  kill_ = TreeKill::Start(engine_->client, {target_.container, target_.user, marker_, started_, target_.leftover},
                          base::Clock::now() + kKillTime, [weak](absl::Status status) {
                            if (auto self = weak.lock()) self->OnKilled(status);
                          });
  if (output_ended_) return;
  // An engine that cannot get rid of a command's output does not notice ends either, that of the kill included.
  grace_->ExpireAt(base::Clock::now() + kOutputGrace, [weak] {
    auto self = weak.lock();
    if (self == nullptr || self->finished_ || self->killed_ || self->output_ended_) return;
    self->output_ended_ = true;
    self->stream_->Close();
  });
  PumpOutput();  // a reader that was waited for is waited for no more
}

void ExecSession::OnKilled(const absl::Status& status) {
  kill_.reset();
  if (finished_) return;
  const base::Code code = base::CodeOf(status);
  if (status.ok() || code == base::Code::kNotFound || code == base::Code::kNotRunning) {
    killed_ = kill_confirmed_ = true;
    if (output_ended_) return FinishStopped();
    std::weak_ptr<ExecSession> weak = weak_from_this();
    grace_->ExpireAt(base::Clock::now() + kOutputGrace, [weak] {
      auto self = weak.lock();
      if (self != nullptr && !self->finished_) self->FinishStopped();
    });
    return;
  }
  engine_->Log(base::LogLevel::kError, "a command's tree could not be killed: " + std::string(status.message()));
  if (code == base::Code::kUnreachable) return FinishStopped();
  // A process table so full that nothing gets in (runc): the sandbox itself is ended rather than left to run on.
  std::weak_ptr<ExecSession> weak = weak_from_this();
  call_ = engine_->client->Start<engine::Nothing>(engine::KillContainer(target_.container, "SIGKILL"),
                                                  base::Clock::now() + kStopTime,
                                                  [weak](absl::StatusOr<engine::Nothing> killed) {
                                                    auto self = weak.lock();
                                                    if (self == nullptr || self->finished_) return;
                                                    self->kill_confirmed_ = killed.ok();
                                                    self->FinishStopped();
                                                  });
}

void ExecSession::FinishStopped() { FinishWith(kill_confirmed_ ? *stopping_ : core::EndReason::kOutcomeUnknown); }

void ExecSession::FinishWith(core::EndReason reason) { Finish({reason, -1, 0}); }

void ExecSession::Finish(const core::JobEnd& end) {
  if (finished_) return;
  // Without an exit code that explains it, what was held back is the program's.
  start_failure_.Conclude(-1, [this](uint32_t stream, std::string_view bytes) { Deliver(stream, bytes); });
  finished_ = true;
  std::shared_ptr<ExecSession> self = shared_from_this();  // the job drops us
  if (run_.token() != nullptr) run_.token()->RemoveWakeup(token_wakeup_);
  watch_->RemoveListener(exit_listener_);
  watch_.reset();
  time_limit_.reset();
  grace_.reset();
  call_.reset();
  events_.reset();
  kill_.reset();
  if (stream_ != nullptr) stream_->Close();
  stream_.reset();
  job_->Finish(end);
  job_.reset();
}

}  // namespace osbx::docker
