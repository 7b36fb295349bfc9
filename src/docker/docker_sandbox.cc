#include "docker/docker_sandbox.h"

#include <utility>

#include "engine/container_calls.h"

namespace osbx::docker {
namespace {

// Init ends at once on TERM; what does not end by then is killed.
constexpr int kStopSeconds = 2;

core::Info MakeInfo(const engine::ContainerDetails& details, const SandboxRecord& record) {
  core::Info info;
  info.name = record.name;
  info.id = details.id;
  info.image = details.config.image;
  info.state = StateFromStatus(details.status);
  info.created_ms = record.created_ms;
  info.labels = record.user_labels;
  return info;
}

}  // namespace

DockerSandbox::DockerSandbox(std::shared_ptr<DockerEngine> engine, const engine::ContainerDetails& details,
                             const SandboxRecord& record)
    : engine_(std::move(engine)), info_(MakeInfo(details, record)), guest_(engine_, details.id, record) {}

absl::Status DockerSandbox::Stop(const base::Context& context) {
  return engine_->client->Run(engine::StopContainer(info_.id, kStopSeconds), context).status();
}

}  // namespace osbx::docker
