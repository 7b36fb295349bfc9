// The part of the engine's container JSON that this library writes and reads back.
#ifndef OSBX_ENGINE_CONTAINER_CONFIG_H_
#define OSBX_ENGINE_CONTAINER_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osbx::engine {

// What stands, when an answer is read, for a mode that the engine does not tell, and as the only item of a list that it
// does not tell: equal to nothing that anybody asks for, so that an isolation nobody vouched for never looks as asked.
inline constexpr char kUnknown[] = "(unknown)";

struct Ulimit {
  std::string name;
  int64_t soft = 0;
  int64_t hard = 0;
};
inline bool operator==(const Ulimit& a, const Ulimit& b) {
  return a.name == b.name && a.soft == b.soft && a.hard == b.hard;
}

// Every field is sent by create, also an empty one where the image's value would hold otherwise. Names are the API's.
// Read back, a field that the answer lacks, or has with another type, has the value of a container without that
// protection: a limit 0, readonly_rootfs false, privileged true, a mode kUnknown, cap_add and binds {kUnknown};
// cap_drop, security_opt, tmpfs and ulimits are empty. A null list is an empty one: that is how engines write it.
struct ContainerConfig {
  std::string image;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string user;
  std::string working_dir;
  std::vector<std::string> env;
  std::map<std::string, std::string> labels;
  std::string stop_signal;
  bool healthcheck_none = false;  // {"Test": ["NONE"]}
  bool attach_stdout = false;
  bool attach_stderr = false;

  // HostConfig
  std::string runtime;  // not sent when empty
  std::string network_mode;
  std::string ipc_mode;
  std::string log_driver;
  std::string restart_policy;
  bool readonly_rootfs = false;
  bool init = false;             // the engine's own init (docker-init); sent as given
  bool privileged = false;       // read back only; never sent as true
  std::vector<std::string> dns;  // sent when not empty; else the engine takes the host's
  std::vector<std::string> cap_drop;
  std::vector<std::string> cap_add;  // read back only
  std::vector<std::string> security_opt;
  std::vector<std::string> binds;            // read back only
  std::map<std::string, std::string> tmpfs;  // path -> options
  int64_t shm_size = 0;
  int64_t memory = 0;
  int64_t memory_swap = 0;
  int64_t nano_cpus = 0;
  int64_t pids_limit = 0;
  std::vector<Ulimit> ulimits;
  std::string pid_mode, uts_mode, userns_mode, cgroupns_mode;  // read back only
};

struct Mount {
  std::string type;  // bind, volume, tmpfs
  std::string source;
  std::string destination;
  bool read_write = true;  // also where the engine does not say
};

// GET /containers/{id}/json
struct ContainerDetails {
  std::string id;
  std::string name;  // without the leading slash
  std::string image_id;
  std::string status;       // created, running, paused, restarting, removing, exited, dead; empty: not told
  bool oom_killed = false;  // false also where the engine does not say
  int64_t exit_code = -1;   // -1 where the engine does not say
  std::string state_error;
  ContainerConfig config;
  std::vector<Mount> mounts;
  std::vector<std::string> networks;  // names under NetworkSettings.Networks; {kUnknown} where that is missing
};

// One row of GET /containers/json
struct ContainerSummary {
  std::string id;
  std::string name;  // without the leading slash; empty when it has none (any more)
  std::string image;
  std::string state;
  std::map<std::string, std::string> labels;
};

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_CONTAINER_CONFIG_H_
