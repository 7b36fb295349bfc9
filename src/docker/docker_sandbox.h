// A handle on one sandbox container.
#ifndef OSBX_DOCKER_DOCKER_SANDBOX_H_
#define OSBX_DOCKER_DOCKER_SANDBOX_H_

#include <memory>
#include <string>

#include "core/sandbox.h"
#include "docker/docker_engine.h"
#include "docker/labels.h"
#include "docker/plain_guest.h"
#include "engine/container_config.h"

namespace osbx::docker {

class DockerSandbox : public core::Sandbox {
 public:
  DockerSandbox(std::shared_ptr<DockerEngine> engine, const engine::ContainerDetails& details,
                const SandboxRecord& record);

  const core::Info& info() const override { return info_; }
  core::GuestOperations& guest() override { return guest_; }
  absl::Status Stop(const base::Context& context) override;

 private:
  const std::shared_ptr<DockerEngine> engine_;
  const core::Info info_;
  PlainGuest guest_;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_DOCKER_SANDBOX_H_
