// /images/... (Docker Engine API, "Image").
#ifndef OSBX_ENGINE_IMAGE_CALLS_H_
#define OSBX_ENGINE_IMAGE_CALLS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/client.h"

namespace osbx::engine {

struct ImageDetails {
  std::string id;
  std::string architecture;
  std::vector<std::string> env;
  std::vector<std::string> volumes;  // paths under Config.Volumes
  std::map<std::string, std::string> labels;
};
// GET /images/{name}/json. An answer without an Id, or whose Config is neither an object nor null, is kBackend.
Call<ImageDetails> InspectImage(const std::string& reference);

// One object of the engine's progress; every field may be empty or 0.
struct PullProgress {
  std::string id;      // of a layer
  std::string status;  // "Downloading", "Pull complete" ...
  int64_t current = 0;
  int64_t total = 0;
};
// Runs on the thread that called PullImage; a false ends the pull with kCallback. Never an interest in every single
// line: a slow one misses the oldest of what came meanwhile.
using PullProgressFunction = std::function<bool(const PullProgress& progress)>;

// POST /images/create, its progress stream read to the end, on the loop, while the caller waits; never on the loop's
// thread. An error inside the 200, a refused or unknown image, or a stream that breaks off is kImageUnavailable; the
// daemon's text is the message. `name` is the reference without tag or digest, `tag` the tag or digest; never empty.
// `registry_auth` is the X-Registry-Auth value, or empty.
absl::Status PullImage(Client& client, const std::string& name, const std::string& tag,
                       const std::string& registry_auth, const base::Context& context,
                       const PullProgressFunction& progress = nullptr);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_IMAGE_CALLS_H_
