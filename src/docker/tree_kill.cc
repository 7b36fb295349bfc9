#include "docker/tree_kill.h"

#include <utility>

#include "docker/guest_scripts.h"
#include "engine/container_calls.h"
#include "engine/exec_calls.h"

namespace osbx::docker {
namespace {

// USER_HZ, the unit of /proc/PID/stat, is 100 on every Linux that this runs on, gVisor included.
int64_t TicksSince(base::TimePoint start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock::now() - start).count() / 10;
}

}  // namespace

TreeKill::TreeKill(std::shared_ptr<engine::Client> client, Target target, base::TimePoint deadline,
                   std::function<void(absl::Status)> done)
    : client_(std::move(client)),
      target_(std::move(target)),
      deadline_(deadline),
      done_(std::move(done)),
      timer_(client_->loop()->NewTimer()) {}

std::shared_ptr<TreeKill> TreeKill::Start(std::shared_ptr<engine::Client> client, Target target,
                                          base::TimePoint deadline, std::function<void(absl::Status)> done) {
  std::shared_ptr<TreeKill> kill(new TreeKill(std::move(client), std::move(target), deadline, std::move(done)));
  kill->Attempt();
  return kill;
}

void TreeKill::Attempt() {
  engine::ExecConfig config;
  config.argv = {
      "/bin/sh",       "-c", kKillTreeScript, "sh", target_.marker, std::to_string(TicksSince(target_.started)),
      target_.leftover};
  config.user = target_.user;
  config.working_dir = "/";
  std::weak_ptr<TreeKill> weak = weak_from_this();
  call_ = client_->Start<std::string>(
      engine::CreateExec(target_.container, config), deadline_, [weak](absl::StatusOr<std::string> exec) {
        auto self = weak.lock();
        if (self == nullptr) return;
        if (!exec.ok()) return self->OnAnswer(exec.status());
        self->call_ = self->client_->Start<std::string>(engine::RunExec(*exec), self->deadline_,
                                                        [weak](absl::StatusOr<std::string> output) {
                                                          auto kill = weak.lock();
                                                          if (kill != nullptr) kill->OnAnswer(std::move(output));
                                                        });
      });
}

void TreeKill::OnAnswer(absl::StatusOr<std::string> output) {
  if (output.ok()) {
    if (output->find(kTreeEnded) != std::string::npos) return Finish(absl::OkStatus());
    return RetryAfter(base::Error(base::Code::kBackend, "the sandbox could not run the kill script: " + *output));
  }
  switch (base::CodeOf(output.status())) {
    case base::Code::kNotFound:
      return Finish(output.status());
    case base::Code::kConflict:
      if (output.status().message().find("paused") != std::string_view::npos) return Unpause();
      return Finish(base::Error(base::Code::kNotRunning, std::string(output.status().message())));
    default:
      return RetryAfter(output.status());
  }
}

// A frozen tree would run on when somebody thaws the sandbox, as create does.
void TreeKill::Unpause() {
  std::weak_ptr<TreeKill> weak = weak_from_this();
  call_ = client_->Start<engine::Nothing>(
      engine::UnpauseContainer(target_.container), deadline_, [weak](absl::StatusOr<engine::Nothing> done) {
        auto self = weak.lock();
        if (self == nullptr) return;
        self->RetryAfter(done.ok() ? base::Error(base::Code::kBackend, "the sandbox is paused") : done.status());
      });
}

// A full process table, or an engine that stumbles: the tree must go, so this insists, with a growing pause.
void TreeKill::RetryAfter(absl::Status failure) {
  call_.reset();
  base::TimePoint next = base::Clock::now() + pause_;
  if (next >= deadline_) return Finish(std::move(failure));
  pause_ *= 2;
  std::weak_ptr<TreeKill> weak = weak_from_this();
  timer_->ExpireAt(next, [weak] {
    if (auto self = weak.lock()) self->Attempt();
  });
}

void TreeKill::Finish(absl::Status status) {
  call_.reset();
  std::function<void(absl::Status)> done = std::move(done_);
  done_ = nullptr;
  if (done) done(std::move(status));
}

}  // namespace osbx::docker
