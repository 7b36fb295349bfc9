// Create: from whatever is found under a name to a running, verified sandbox, or a clear error.
#ifndef OSBX_DOCKER_CREATE_SANDBOX_H_
#define OSBX_DOCKER_CREATE_SANDBOX_H_

#include <memory>
#include <optional>
#include <string>

#include "core/spec.h"
#include "docker/docker_engine.h"
#include "docker/image_user.h"
#include "docker/labels.h"
#include "engine/container_calls.h"
#include "engine/image_calls.h"

namespace osbx::docker {

// A sandbox's container as the engine and its labels describe it.
struct FoundSandbox {
  engine::ContainerDetails details;
  SandboxRecord record;
};

// Nothing: no container has the sandbox's container name. kConflict: one has it that is not a sandbox of that name.
absl::StatusOr<std::optional<FoundSandbox>> FindSandbox(engine::Client& client, const std::string& name,
                                                        const base::Context& context);

class SandboxCreation {
 public:
  SandboxCreation(std::shared_ptr<DockerEngine> engine, ImageUsers& users, std::string name, core::Options options)
      : engine_(std::move(engine)), users_(users), name_(std::move(name)), options_(std::move(options)) {}

  absl::StatusOr<FoundSandbox> Run(const base::Context& context);

 private:
  // Each gives true when the state of things has changed and must be looked at again.
  absl::StatusOr<bool> Make(const base::Context& context);
  absl::StatusOr<bool> Mend(const FoundSandbox& found, const base::Context& context);
  absl::StatusOr<bool> Start(const std::string& id, bool made, const base::Context& context);

  absl::StatusOr<engine::ImageDetails> FindImage(const base::Context& context);
  absl::StatusOr<bool> CheckMade(const engine::ContainerConfig& asked, const std::string& image_id,
                                 const engine::CreatedContainer& made, const base::Context& context);
  absl::Status Discard(const std::string& id, bool force, absl::Status why);

  const std::shared_ptr<DockerEngine> engine_;
  ImageUsers& users_;
  const std::string name_;
  const core::Options options_;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_CREATE_SANDBOX_H_
