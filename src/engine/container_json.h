// The container JSON of the engine API, written and read.
#ifndef OSBX_ENGINE_CONTAINER_JSON_H_
#define OSBX_ENGINE_CONTAINER_JSON_H_

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "engine/container_config.h"

namespace osbx::engine {

// The body of POST /containers/create.
std::string WriteContainerConfig(const ContainerConfig& config);

// The answer of GET /containers/{id}/json. kBackend when it lacks Id, State, Config or HostConfig, or when Mounts is
// neither an array nor null; what else is missing reads as container_config.h says.
absl::StatusOr<ContainerDetails> ReadContainerDetails(base::JsonValue root, std::string_view what);

// One row of GET /containers/json. kBackend when it has no Id.
absl::StatusOr<ContainerSummary> ReadContainerSummary(base::JsonValue row, std::string_view what);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_CONTAINER_JSON_H_
