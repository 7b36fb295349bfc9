// Whether a runtime is there, and is what its name says.
#ifndef OSBX_DOCKER_RUNTIME_CHECK_H_
#define OSBX_DOCKER_RUNTIME_CHECK_H_

#include <map>
#include <optional>
#include <string>

#include "base/cancel.h"
#include "base/mutex.h"
#include "core/spec.h"
#include "engine/client.h"
#include "engine/system_calls.h"

namespace osbx::docker {

// What is known of one registered runtime.
struct RuntimeEntry {
  std::string name;
  std::string definition;  // path and arguments, as /info gives them
  std::string engine_id;
  bool gvisor = false;  // it is gVisor, or claims to be by its name or path

  // The runtime's own arguments keep the network from every sandbox.
  bool network_disabled() const;
};

// Remembers /info and verified runtimes for ten minutes. Thread-safe.
class RuntimeCheck {
 public:
  explicit RuntimeCheck(engine::Client& client) : client_(client) {}

  // kRuntimeUnavailable: not registered, or the daemon says that it cannot hold a limit.
  absl::StatusOr<RuntimeEntry> Find(const std::string& runtime, const base::Context& context);

  // Proves that a running container is under gVisor, if its runtime claims so: an exec of a program that does not exist
  // is answered by the runtime itself, whatever the image holds. kRuntimeUnavailable when it is something else.
  absl::Status Verify(const RuntimeEntry& entry, const std::string& container, const base::Context& context);

 private:
  absl::StatusOr<engine::EngineInfo> CachedInfo(const base::Context& context, bool refresh);

  engine::Client& client_;
  base::Mutex mutex_;
  std::optional<engine::EngineInfo> info_ ABSL_GUARDED_BY(mutex_);
  base::TimePoint info_until_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, base::TimePoint> verified_until_ ABSL_GUARDED_BY(mutex_);  // by engine id and definition
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_RUNTIME_CHECK_H_
