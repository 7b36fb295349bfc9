#include "docker/plain_guest.h"

#include <algorithm>
#include <utility>

namespace osbx::docker {

PlainGuest::PlainGuest(std::shared_ptr<DockerEngine> engine, std::string container, const SandboxRecord& record)
    : engine_(std::move(engine)),
      target_{std::move(container), std::to_string(record.user.uid) + ":" + std::to_string(record.user.gid)},
      default_timeout_(record.default_timeout),
      max_timeout_(record.max_timeout) {}

absl::StatusOr<std::shared_ptr<core::Job>> PlainGuest::StartExec(const core::Command& command,
                                                                 const base::Context& context) {
  OSBX_RETURN_IF_ERROR(core::ValidateCommand(command));
  const std::chrono::milliseconds timeout = std::min(command.timeout.value_or(default_timeout_), max_timeout_);
  return ExecSession::StartExec(engine_, target_, command, context, context.WithTimeout(timeout));
}

}  // namespace osbx::docker
