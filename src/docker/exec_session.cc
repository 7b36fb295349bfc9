#include "docker/exec_session.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/crypto.h"
#include "base/wall_clock.h"
#include "docker/guest_scripts.h"

namespace osbx::docker {
namespace {

// How much is moved before others on the loop get their turn.
constexpr size_t kTurnBytes = size_t{1} << 20;
constexpr size_t kInputPiece = size_t{64} << 10;

std::vector<std::string> MakeEnvironment(const core::Command& command, const std::string& marker) {
  std::vector<std::string> env = {marker};
  for (const auto& [key, value] : command.env) env.push_back(key + "=" + value);
  return env;
}

}  // namespace

absl::StatusOr<std::shared_ptr<core::Job>> ExecSession::StartExec(const std::shared_ptr<DockerEngine>& engine,
                                                                  const ExecTarget& target,
                                                                  const core::Command& command,
                                                                  const base::Context& launch,
                                                                  const base::Context& run) {
  std::string marker = std::string(kExecMarkerVariable) + "=" + base::RandomHex(16);
  std::shared_ptr<ExecSession> session(new ExecSession(engine, target, std::move(marker), run));
  OSBX_RETURN_IF_ERROR(session->Launch(command, launch));
  std::shared_ptr<core::Job> job = session->job_;
  OSBX_RETURN_IF_ERROR(engine->client->loop()->Post([session] { session->Begin(); }));
  return job;
}

ExecSession::ExecSession(std::shared_ptr<DockerEngine> engine, ExecTarget target, std::string marker, base::Context run)
    : engine_(std::move(engine)), target_(std::move(target)), marker_(std::move(marker)), run_(std::move(run)) {}

ExecSession::~ExecSession() = default;

absl::Status ExecSession::Launch(const core::Command& command, const base::Context& launch) {
  engine::Client& client = *engine_->client;
  OSBX_RETURN_IF_ERROR(client.Negotiate(launch));
  // The watch opens while the exec is created, and must stand before it is started.
  OSBX_ASSIGN_OR_RETURN(watch_, engine_->watches.Acquire(engine_->client, target_.container));

  engine::ExecConfig config;
  config.argv = command.argv;
  config.env = MakeEnvironment(command, marker_);
  config.user = target_.user;
  config.working_dir = command.directory.empty() ? "/workspace" : command.directory;
  config.attach_stdin = command.has_stdin();
  absl::StatusOr<std::string> exec = client.Run(engine::CreateExec(target_.container, config), launch);
  if (!exec.ok() && base::CodeOf(exec.status()) == base::Code::kConflict) {
    return base::Error(base::Code::kNotRunning, "the sandbox is not running", base::HttpStatusOf(exec.status()));
  }
  OSBX_ASSIGN_OR_RETURN(exec_, std::move(exec));
  OSBX_RETURN_IF_ERROR(watch_->AwaitOpen(launch));

  started_ = base::Clock::now();
  started_unix_ns_ = base::UnixNanoseconds();
  absl::StatusOr<std::unique_ptr<base::DuplexStream>> stream = engine::StartExec(client, exec_, launch);
  if (stream.ok()) {
    stream_ = *std::move(stream);
  } else {
    const bool refused = base::HttpStatusOf(stream.status()) != 0;
    if (refused || base::CodeOf(stream.status()) == base::Code::kUnreachable) return stream.status();
    launch_failure_ = stream.status();  // it may run: from here on there is a job, and its end is told by it
  }
  input_ended_ = !config.attach_stdin;
  job_ = std::make_shared<core::Job>();
  job_->SetDriver(shared_from_this());
  return absl::OkStatus();
}

void ExecSession::Begin() {
  base::EventLoop& loop = *engine_->client->loop();
  time_limit_ = loop.NewTimer();
  grace_ = loop.NewTimer();
  if (!launch_failure_.ok()) {
    output_ended_ = true;
    const base::Code code = base::CodeOf(launch_failure_);
    Kill(code == base::Code::kCanceled  ? core::EndReason::kCancelled
         : code == base::Code::kTimeout ? core::EndReason::kTimedOut
                                        : core::EndReason::kOutcomeUnknown);
    return;
  }
  stream_->Attach(loop);
  std::weak_ptr<ExecSession> weak = weak_from_this();
  exit_listener_ = watch_->AddListener([weak] {
    if (auto self = weak.lock()) self->OnContainerExit();
  });
  if (run_.token() != nullptr) {
    token_wakeup_ = run_.token()->AddWakeup([weak] {
      if (auto self = weak.lock()) self->Post(&ExecSession::CheckTime);
    });
  }
  CheckTime();
  PumpInput();
  PumpOutput();
}

void ExecSession::Post(void (ExecSession::*method)()) {
  std::weak_ptr<ExecSession> weak = weak_from_this();
  (void)engine_->client->loop()->Post([weak, method] {
    auto self = weak.lock();
    if (self != nullptr && !self->finished_) ((*self).*method)();
  });
}

// Deadline and cancel, whenever one of them may have changed.
void ExecSession::CheckTime() {
  if (finished_ || stopping_.has_value()) return;
  if (run_.token() != nullptr && run_.token()->fired()) return Kill(core::EndReason::kCancelled);
  const base::TimePoint until = run_.deadline();
  if (base::Clock::now() >= until) return Kill(core::EndReason::kTimedOut);
  std::weak_ptr<ExecSession> weak = weak_from_this();
  time_limit_->ExpireAt(until, [weak] {
    if (auto self = weak.lock()) self->CheckTime();
  });
}

void ExecSession::OnOutputRoom() { Post(&ExecSession::ResumeOutput); }

void ExecSession::OnInput() { Post(&ExecSession::PumpInput); }

void ExecSession::OnStopRequested(core::EndReason why) {
  std::weak_ptr<ExecSession> weak = weak_from_this();
  (void)engine_->client->loop()->Post([weak, why] {
    if (auto self = weak.lock()) self->Kill(why);
  });
}

void ExecSession::ResumeOutput() {
  waiting_for_room_ = false;
  PumpOutput();
}

void ExecSession::PumpOutput() {
  const auto deliver = [this](uint32_t stream, std::string_view bytes) { Deliver(stream, bytes); };
  const auto filter = [this, &deliver](uint32_t stream, std::string_view bytes) {
    start_failure_.Feed(stream, bytes, deliver);
  };
  size_t moved = 0;
  while (!finished_ && !output_ended_ && (!waiting_for_room_ || stopping_.has_value())) {
    if (moved >= kTurnBytes) return Post(&ExecSession::PumpOutput);
    const base::IoResult result = output_.Read(*stream_, filter);
    switch (result.state) {
      case base::IoResult::State::kDone:
        moved += result.bytes;
        break;
      case base::IoResult::State::kWouldBlock: {
        std::weak_ptr<ExecSession> weak = weak_from_this();
        stream_->WaitReadable([weak] {
          if (auto self = weak.lock()) self->PumpOutput();
        });
        return;
      }
      case base::IoResult::State::kEof:
        return OnStreamEnd();
      case base::IoResult::State::kError:
        return OnStreamBroken(result.status);
    }
  }
}

void ExecSession::Deliver(uint32_t stream, std::string_view bytes) {
  if (stream == core::kStderr) {
    constexpr size_t kTail = 1024;
    error_tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
    if (error_tail_.size() > kTail) error_tail_.erase(0, error_tail_.size() - kTail);
  }
  if (stopping_.has_value() && !job_->HasOutputRoom()) return;  // the end is what counts now
  try {
    if (!job_->PushOutput(stream, bytes)) waiting_for_room_ = true;
  } catch (const std::bad_alloc&) {
    // What was said is lost, so that the end cannot be told truthfully any more.
    Post(&ExecSession::LoseOutput);
  }
}

void ExecSession::LoseOutput() { Kill(core::EndReason::kOutcomeUnknown); }

void ExecSession::PumpInput() {
  while (!finished_ && !input_ended_ && !stopping_.has_value()) {
    bool closed = false;
    if (input_.empty()) input_ = job_->TakeInput(kInputPiece, &closed);
    if (input_.empty() && !closed) return;  // OnInput comes
    base::IoResult result = input_.empty()
                                ? stream_->ShutdownWrite()
                                : stream_->Write(reinterpret_cast<const uint8_t*>(input_.data()), input_.size());
    switch (result.state) {
      case base::IoResult::State::kDone:
        if (input_.empty()) {
          input_ended_ = true;
        } else {
          input_.erase(0, result.bytes);
        }
        break;
      case base::IoResult::State::kWouldBlock: {
        std::weak_ptr<ExecSession> weak = weak_from_this();
        stream_->WaitWritable([weak] {
          if (auto self = weak.lock()) self->PumpInput();
        });
        return;
      }
      case base::IoResult::State::kEof:
      case base::IoResult::State::kError:
        // Nobody reads any more. What the command still says, and how it ends, is the output's to tell.
        input_ended_ = true;
        input_.clear();
        job_->DropInput();
        break;
    }
  }
}

}  // namespace osbx::docker
