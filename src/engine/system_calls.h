// /info and /events (Docker Engine API, "System").
#ifndef OSBX_ENGINE_SYSTEM_CALLS_H_
#define OSBX_ENGINE_SYSTEM_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/client.h"

namespace osbx::engine {

struct EngineInfo {
  std::string id;
  std::string server_version;
  std::string default_runtime;
  std::map<std::string, std::string>
      runtimes;  // name -> its whole entry as one string: what a cached verdict is keyed by
  // What the daemon says that it can limit; an engine that does not say reads as false. Every Docker from 20.10 on, and
  // every Podman from 4.3 on, says.
  bool memory_limit = false;
  bool swap_limit = false;
  bool cpu_cfs_quota = false;
  bool pids_limit = false;
};
// GET /info
Call<EngineInfo> Info();

// GET /networks/{name}: kNotFound when there is none.
Call<Nothing> FindNetwork(const std::string& name);

struct Event {
  std::string type;                               // "container"
  std::string action;                             // "exec_die", "oom", "die" ...
  std::string id;                                 // Actor.ID
  std::map<std::string, std::string> attributes;  // execID, exitCode ...
  int64_t time_ns = 0;  // to within half a microsecond: the value is larger than a JSON number can hold exactly
};
// GET /events for one container, from `since_ns` (Unix nanoseconds, may lie in the past) until the call is destroyed or
// `until_ns` (0: for ever). On the loop; `on_head` when the engine has begun to answer, `on_event` for each event,
// `on_end` once when the stream ends (OK) or fails. Any of them may destroy the returned call.
std::unique_ptr<transport::PendingCall> StartEvents(Client& client, const std::string& container,
                                                    const std::vector<std::string>& actions, int64_t since_ns,
                                                    int64_t until_ns, base::TimePoint deadline,
                                                    std::function<void()> on_head,
                                                    std::function<void(const Event&)> on_event,
                                                    std::function<void(absl::Status)> on_end);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_SYSTEM_CALLS_H_
