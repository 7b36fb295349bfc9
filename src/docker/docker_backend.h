// Sandboxes on a Docker daemon: the container is the sandbox, its labels are the registry.
#ifndef OSBX_DOCKER_DOCKER_BACKEND_H_
#define OSBX_DOCKER_DOCKER_BACKEND_H_

#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "core/backend.h"

namespace osbx::docker {

struct DockerConfig {
  // What is absent is read from DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, DOCKER_API_VERSION.
  std::optional<std::string> host;
  std::optional<std::string> cert_path;  // given: TLS
  std::optional<std::string> api_version;
  base::LogLevel log_level = base::LogLevel::kWarning;
  base::LogFunction log;
};

// Reads the environment and checks syntax; no I/O. kInvalid.
absl::StatusOr<std::shared_ptr<core::Backend>> NewDockerBackend(const DockerConfig& config);

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_DOCKER_BACKEND_H_
