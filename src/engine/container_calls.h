// /containers/... (Docker Engine API, "Container").
#ifndef OSBX_ENGINE_CONTAINER_CALLS_H_
#define OSBX_ENGINE_CONTAINER_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/client.h"
#include "engine/container_config.h"

namespace osbx::engine {

struct CreatedContainer {
  std::string id;
  std::vector<std::string> warnings;
};
// POST /containers/create?name=. kConflict: the name is taken (Podman says so with a 500); kNotFound: no such image;
// kInvalid: the engine refuses an option, an unknown runtime among them.
Call<CreatedContainer> CreateContainer(const std::string& name, const ContainerConfig& config);

Call<ContainerDetails> InspectContainer(const std::string& id_or_name);

// GET /containers/json?all=1 with these labels ("key" or "key=value"), all of them.
Call<std::vector<ContainerSummary>> ListContainers(const std::vector<std::string>& labels);

// POST /containers/{id}/start: true when this call started it, false when it ran already (304). An error of the
// runtime (no such program, broken image) is the engine's 400 or 500, with its text.
Call<bool> StartContainer(const std::string& id);
// POST /containers/{id}/stop?t=: false when it was not running (304).
Call<bool> StopContainer(const std::string& id, int timeout_seconds);
Call<Nothing> KillContainer(const std::string& id, const std::string& signal);
Call<Nothing> UnpauseContainer(const std::string& id);
// DELETE /containers/{id}?v=1. Without `force` a running container is kConflict and stays.
Call<Nothing> RemoveContainer(const std::string& id, bool force);

enum class WaitCondition { kNotRunning, kNextExit, kRemoved };
// POST /containers/{id}/wait?condition=: the exit code. The engine sends the head once it is watching.
Call<int64_t> WaitContainer(const std::string& id, WaitCondition condition);

// POST /containers/{id}/attach?stream=1&stdout=1&stderr=1, on the calling thread: output from now on, multiplexed.
absl::StatusOr<std::unique_ptr<base::DuplexStream>> AttachContainer(Client& client, const std::string& id,
                                                                    const base::Context& context);

struct PathStat {
  bool directory = false;
};
// HEAD /containers/{id}/archive?path=: what lies there, a symbolic link not followed; nothing when nothing does.
Call<std::optional<PathStat>> StatArchive(const std::string& id, const std::string& path);

// GET /containers/{id}/archive?path=: a tar of that path, at most `max_bytes` (kTooLarge).
Call<std::string> GetArchive(const std::string& id, const std::string& path, size_t max_bytes);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_CONTAINER_CALLS_H_
