#include "docker/create_payload.h"

#include <cmath>

#include "docker/guest_scripts.h"
#include "docker/labels.h"

namespace osbx::docker {
namespace {

// PID 1 runs under a user of its own, so that the guest can neither signal nor replace it.
constexpr int64_t kInitUser = 65534;
constexpr int64_t kInitUserInstead = 65533;  // where the sandbox user is 65534

constexpr int64_t kPage = 4096;
constexpr int64_t kRunBytes = int64_t{256} << 10;
constexpr int64_t kUserBytes = int64_t{16} << 20;

std::string Tmpfs(int64_t bytes, int64_t uid, int64_t gid, const char* mode, bool allow_exec) {
  return std::string("rw,nosuid,nodev,") + (allow_exec ? "exec" : "noexec") + ",size=" + std::to_string(bytes) +
         ",uid=" + std::to_string(uid) + ",gid=" + std::to_string(gid) + ",mode=" + mode;
}

bool IsOurMount(const std::string& path) {
  return path == "/tmp" || path == "/workspace" || path == "/.osbx" || path.rfind("/.osbx/", 0) == 0;
}

// "/data/" and "/a//b" as the engine's clean path; empty for what is not absolute or leaves the root.
std::string CleanPath(const std::string& path) {
  if (path.empty() || path[0] != '/') return "";
  std::string clean;
  size_t start = 1;
  while (start <= path.size()) {
    size_t end = path.find('/', start);
    if (end == std::string::npos) end = path.size();
    std::string part = path.substr(start, end - start);
    start = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return "";
    clean += "/" + part;
  }
  return clean;
}

// gVisor counts the guest's processes itself (nproc), and the host's limit is only a backstop for its own threads:
// about 40 + 2 a process with systrap, 50 + 5 with ptrace. Elsewhere nproc would count the uid over the whole host.
void LimitProcesses(engine::ContainerConfig& config, int64_t processes, bool gvisor) {
  constexpr int64_t kAgents = 8;
  if (gvisor) {
    int64_t limit = processes + kAgents;
    config.ulimits.push_back({"nproc", limit, limit});
    config.pids_limit = 8 * limit + 512;
  } else {
    config.pids_limit = processes + kAgents + 1;
  }
}

absl::Status Differs(const std::string& what) {
  return base::Error(base::Code::kRuntimeUnavailable, "the engine did not apply the sandbox's " + what);
}

bool SameUlimits(const std::vector<engine::Ulimit>& asked, const std::vector<engine::Ulimit>& given) {
  for (const engine::Ulimit& want : asked) {
    bool found = false;
    for (const engine::Ulimit& have : given) {
      found = found || (have.name == want.name && have.soft == want.soft && have.hard == want.hard);
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace

engine::ContainerConfig MakeCreatePayload(const core::Options& options, const CreateInput& input) {
  const int64_t init_user = input.user.uid == kInitUser ? kInitUserInstead : kInitUser;
  const int64_t uid = input.user.uid;
  const int64_t gid = input.user.gid;

  engine::ContainerConfig config;
  config.image = options.image;
  config.entrypoint = {"/bin/sh", "-c"};
  config.cmd = {kInitScript, "osbx-init"};
  config.user = std::to_string(init_user) + ":" + std::to_string(init_user);
  config.working_dir = "/";
  config.env = options.env;
  config.labels = MakeLabels(input.name, options, input.user, input.now_ms, input.image.labels);
  config.stop_signal = "SIGTERM";
  config.healthcheck_none = true;
  config.attach_stdout = true;
  config.attach_stderr = true;

  config.runtime = options.runtime;
  config.network_mode = options.egress == core::Egress::kUnrestricted ? "bridge" : "none";
  // Without a network nobody answers anyway: the host's resolvers are not the guest's to know, and a look-up fails at
  // once.
  if (options.egress == core::Egress::kNone) config.dns = {"127.0.0.1"};
  config.ipc_mode = "private";
  config.shm_size = kPage;
  config.log_driver = "none";
  config.restart_policy = "no";
  config.readonly_rootfs = true;
  config.cap_drop = {"ALL"};
  config.security_opt = {"no-new-privileges"};
  config.memory = options.memory_bytes;
  config.memory_swap = options.memory_bytes;  // the same: no swap on top
  config.nano_cpus = std::llround(options.cpus * 1e9);
  LimitProcesses(config, options.max_processes, input.gvisor);

  // Whole pages, rounded down: the parts together are never above what was asked.
  const int64_t tmp_bytes = options.disk_bytes / 4 / kPage * kPage;
  const int64_t workspace_bytes = (options.disk_bytes - options.disk_bytes / 4) / kPage * kPage;
  config.tmpfs["/tmp"] = Tmpfs(tmp_bytes, uid, gid, "1777", options.allow_exec);
  config.tmpfs["/workspace"] = Tmpfs(workspace_bytes, uid, gid, "0755", options.allow_exec);
  config.tmpfs["/.osbx/run"] = Tmpfs(kRunBytes, init_user, init_user, "0755", false);
  config.tmpfs["/.osbx/user"] = Tmpfs(kUserBytes, uid, gid, "0700", false);
  // A volume of the image would be executable host disk without a limit.
  for (const std::string& volume : input.image.volumes) {
    std::string path = CleanPath(volume);
    if (path.empty() || IsOurMount(path)) continue;
    config.tmpfs[path] = "ro,nosuid,nodev,noexec,size=" + std::to_string(kPage);
  }
  return config;
}

absl::Status CheckCreated(const engine::ContainerConfig& asked, const engine::ContainerDetails& given) {
  const engine::ContainerConfig& have = given.config;
  if (have.runtime != asked.runtime) return Differs("runtime (" + have.runtime + " for " + asked.runtime + ")");
  if (have.privileged) return Differs("privileges");
  if (!have.readonly_rootfs) return Differs("read-only root");
  if (have.user != asked.user) return Differs("user");
  if (have.cap_drop != asked.cap_drop || !have.cap_add.empty()) return Differs("capabilities");
  if (have.security_opt != asked.security_opt) return Differs("security options");
  if (have.network_mode != asked.network_mode) return Differs("network mode");
  if (have.dns != asked.dns) return Differs("resolver");
  if (have.ipc_mode != asked.ipc_mode) return Differs("IPC mode");
  if (!have.pid_mode.empty()) return Differs("process namespace");
  if (have.log_driver != asked.log_driver) return Differs("log driver");
  if (have.memory != asked.memory) return Differs("memory limit");
  if (have.memory_swap != asked.memory_swap) return Differs("swap limit");
  if (have.nano_cpus != asked.nano_cpus) return Differs("CPU limit");
  if (have.pids_limit != asked.pids_limit) return Differs("process limit");
  if (!SameUlimits(asked.ulimits, have.ulimits)) return Differs("ulimits");
  if (have.shm_size != asked.shm_size) return Differs("shared memory size");
  if (have.tmpfs != asked.tmpfs) return Differs("scratch mounts");
  if (have.entrypoint != asked.entrypoint || have.cmd != asked.cmd) return Differs("init program");
  if (!have.binds.empty()) return Differs("mounts (a bind)");
  for (const engine::Mount& mount : given.mounts) {
    // tmpfs mounts are listed above; anything else here came from the image or the engine.
    if (mount.type != "tmpfs") return Differs("mounts (" + mount.type + " at " + mount.destination + ")");
  }
  return absl::OkStatus();
}

}  // namespace osbx::docker
