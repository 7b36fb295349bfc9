// The plain path into a sandbox: every operation is one engine exec.
#ifndef OSBX_DOCKER_PLAIN_GUEST_H_
#define OSBX_DOCKER_PLAIN_GUEST_H_

#include <memory>
#include <string>

#include "core/guest_operations.h"
#include "docker/docker_engine.h"
#include "docker/exec_session.h"
#include "docker/labels.h"

namespace osbx::docker {

class PlainGuest : public core::GuestOperations {
 public:
  PlainGuest(std::shared_ptr<DockerEngine> engine, std::string container, const SandboxRecord& record);

  absl::StatusOr<std::shared_ptr<core::Job>> StartExec(const core::Command& command,
                                                       const base::Context& context) override;
  absl::Status PutFile(const std::string& path, uint32_t mode, std::optional<uint64_t> size,
                       const core::ReadFunction& source, const base::Context& context) override;
  absl::Status GetFile(const std::string& path, const core::WriteFunction& sink, const base::Context& context) override;

 private:
  const std::shared_ptr<DockerEngine> engine_;
  const ExecTarget target_;
  const std::chrono::milliseconds default_timeout_;
  const std::chrono::milliseconds max_timeout_;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_PLAIN_GUEST_H_
