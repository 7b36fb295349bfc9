// What is asked of the engine for one sandbox, and whether the engine gave it.
#ifndef OSBX_DOCKER_CREATE_PAYLOAD_H_
#define OSBX_DOCKER_CREATE_PAYLOAD_H_

#include <string>

#include "core/spec.h"
#include "engine/container_config.h"
#include "engine/image_calls.h"

namespace osbx::docker {

// What is known about the sandbox-to-be beside its options.
struct CreateInput {
  std::string name;
  core::UserId user;
  bool gvisor = true;  // the runtime is, or claims to be, gVisor
  engine::ImageDetails image;
  int64_t now_ms = 0;
};

engine::ContainerConfig MakeCreatePayload(const core::Options& options, const CreateInput& input);

// Compares what the engine reports with what was asked: isolation, limits, user, mounts, network. kRuntimeUnavailable
// names the first difference in meaning.
absl::Status CheckCreated(const engine::ContainerConfig& asked, const engine::ContainerDetails& given);

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_CREATE_PAYLOAD_H_
