#include "engine/container_json.h"

#include <optional>
#include <utility>

#include "engine/json_reading.h"

namespace osbx::engine {
namespace {

using base::JsonBuilder;
using base::JsonValue;

// {key: value}
JsonBuilder Single(const char* key, std::string_view value) {
  JsonBuilder object = JsonBuilder::Object();
  object.Set(key, value);
  return object;
}

JsonBuilder ObjectOf(const std::map<std::string, std::string>& map) {
  JsonBuilder object = JsonBuilder::Object();
  for (const auto& [key, value] : map) object.Set(key.c_str(), value);
  return object;
}

JsonBuilder UlimitsOf(const std::vector<Ulimit>& ulimits) {
  JsonBuilder array = JsonBuilder::Array();
  for (const Ulimit& ulimit : ulimits) {
    JsonBuilder object = JsonBuilder::Object();
    object.Set("Name", ulimit.name).Set("Soft", ulimit.soft).Set("Hard", ulimit.hard);
    array.Add(std::move(object));
  }
  return array;
}

JsonBuilder HostConfigOf(const ContainerConfig& config) {
  JsonBuilder host = JsonBuilder::Object();
  if (!config.runtime.empty()) host.Set("Runtime", config.runtime);
  host.Set("NetworkMode", config.network_mode).Set("IpcMode", config.ipc_mode);
  host.Set("LogConfig", Single("Type", config.log_driver));
  host.Set("RestartPolicy", Single("Name", config.restart_policy));
  host.Set("AutoRemove", false).Set("Privileged", false).Set("PublishAllPorts", false);
  host.Set("ReadonlyRootfs", config.readonly_rootfs).Set("Init", config.init);
  if (!config.dns.empty()) host.Set("Dns", config.dns);
  host.Set("CapDrop", config.cap_drop).Set("SecurityOpt", config.security_opt);
  host.Set("Tmpfs", ObjectOf(config.tmpfs)).Set("ShmSize", config.shm_size);
  host.Set("Memory", config.memory).Set("MemorySwap", config.memory_swap).Set("NanoCpus", config.nano_cpus);
  host.Set("PidsLimit", config.pids_limit).Set("Ulimits", UlimitsOf(config.ulimits));
  return host;
}

std::string Mode(JsonValue value) { return value.AsString().value_or(kUnknown); }

// Engines write an empty list as null; a list that is not there at all is not an empty one.
std::vector<std::string> ListOrUnknown(JsonValue value) {
  if (IsNull(value)) return {};
  if (!value.is_array()) return {kUnknown};
  std::vector<std::string> strings = Strings(value);
  if (strings.size() != value.Items().size()) strings.push_back(kUnknown);
  return strings;
}

std::vector<Ulimit> ReadUlimits(JsonValue value) {
  std::vector<Ulimit> ulimits;
  for (const JsonValue& item : value.Items()) {
    const std::optional<int64_t> soft = item["Soft"].AsInt();
    const std::optional<int64_t> hard = item["Hard"].AsInt();
    if (!soft || !hard) continue;
    ulimits.push_back({item["Name"].StringOr(""), *soft, *hard});
  }
  return ulimits;
}

void ReadHostConfig(JsonValue host, ContainerConfig& config) {
  config.runtime = host["Runtime"].StringOr("");
  config.network_mode = Mode(host["NetworkMode"]);
  config.ipc_mode = Mode(host["IpcMode"]);
  config.log_driver = Mode(host["LogConfig"]["Type"]);
  config.restart_policy = Mode(host["RestartPolicy"]["Name"]);
  config.readonly_rootfs = host["ReadonlyRootfs"].BoolOr(false);
  config.init = host["Init"].BoolOr(false);
  config.privileged = host["Privileged"].BoolOr(true);
  config.dns = Strings(host["Dns"]);
  config.cap_drop = Strings(host["CapDrop"]);
  config.cap_add = ListOrUnknown(host["CapAdd"]);
  config.security_opt = Strings(host["SecurityOpt"]);
  config.binds = ListOrUnknown(host["Binds"]);
  config.tmpfs = StringMap(host["Tmpfs"]);
  config.shm_size = host["ShmSize"].IntOr(0);
  config.memory = host["Memory"].IntOr(0);
  config.memory_swap = host["MemorySwap"].IntOr(0);
  config.nano_cpus = host["NanoCpus"].IntOr(0);
  config.pids_limit = host["PidsLimit"].IntOr(0);
  config.ulimits = ReadUlimits(host["Ulimits"]);
  config.pid_mode = Mode(host["PidMode"]);
  config.uts_mode = Mode(host["UTSMode"]);
  config.userns_mode = Mode(host["UsernsMode"]);
  config.cgroupns_mode = Mode(host["CgroupnsMode"]);
}

ContainerConfig ReadConfig(JsonValue container, JsonValue host) {
  ContainerConfig config;
  config.image = container["Image"].StringOr("");
  config.entrypoint = Strings(container["Entrypoint"]);
  config.cmd = Strings(container["Cmd"]);
  config.user = container["User"].StringOr("");
  config.working_dir = container["WorkingDir"].StringOr("");
  config.env = Strings(container["Env"]);
  config.labels = StringMap(container["Labels"]);
  config.stop_signal = container["StopSignal"].StringOr("");
  config.healthcheck_none = Strings(container["Healthcheck"]["Test"]) == std::vector<std::string>{"NONE"};
  config.attach_stdout = container["AttachStdout"].BoolOr(false);
  config.attach_stderr = container["AttachStderr"].BoolOr(false);
  ReadHostConfig(host, config);
  return config;
}

std::string WithoutSlash(std::string name) {
  if (!name.empty() && name.front() == '/') name.erase(0, 1);
  return name;
}

}  // namespace

std::string WriteContainerConfig(const ContainerConfig& config) {
  JsonBuilder body = JsonBuilder::Object();
  body.Set("Image", config.image).Set("Entrypoint", config.entrypoint).Set("Cmd", config.cmd);
  body.Set("User", config.user).Set("WorkingDir", config.working_dir).Set("Env", config.env);
  body.Set("Labels", ObjectOf(config.labels)).Set("StopSignal", config.stop_signal);
  if (config.healthcheck_none) {
    JsonBuilder healthcheck = JsonBuilder::Object();
    healthcheck.Set("Test", std::vector<std::string>{"NONE"});
    body.Set("Healthcheck", std::move(healthcheck));
  }
  body.Set("AttachStdin", false).Set("AttachStdout", config.attach_stdout).Set("AttachStderr", config.attach_stderr);
  body.Set("OpenStdin", false).Set("StdinOnce", false).Set("Tty", false).Set("NetworkDisabled", false);
  body.Set("HostConfig", HostConfigOf(config));
  return body.Print();
}

absl::StatusOr<ContainerDetails> ReadContainerDetails(JsonValue root, std::string_view what) {
  ContainerDetails details;
  OSBX_ASSIGN_OR_RETURN(details.id, ReadId(root["Id"], what, "Id"));
  details.name = WithoutSlash(root["Name"].StringOr(""));
  details.image_id = root["Image"].StringOr("");
  const JsonValue state = root["State"];
  if (!state.is_object()) return BadField(what, "State");
  details.status = state["Status"].StringOr("");
  details.oom_killed = state["OOMKilled"].BoolOr(false);
  details.exit_code = state["ExitCode"].IntOr(-1);
  details.state_error = state["Error"].StringOr("");
  if (!root["Config"].is_object()) return BadField(what, "Config");
  if (!root["HostConfig"].is_object()) return BadField(what, "HostConfig");
  details.config = ReadConfig(root["Config"], root["HostConfig"]);

  const JsonValue mounts = root["Mounts"];
  if (!mounts.is_array() && !IsNull(mounts)) return BadField(what, "Mounts");
  for (const JsonValue& item : mounts.Items()) {
    Mount mount;
    mount.type = item["Type"].StringOr("");
    mount.source = item["Source"].StringOr("");
    mount.destination = item["Destination"].StringOr("");
    mount.read_write = item["RW"].BoolOr(true);
    details.mounts.push_back(std::move(mount));
  }

  const JsonValue networks = root["NetworkSettings"]["Networks"];
  if (!networks.is_object() && !IsNull(networks)) details.networks.push_back(kUnknown);
  for (const auto& [name, unused] : networks.Members()) details.networks.push_back(name);
  return details;
}

absl::StatusOr<ContainerSummary> ReadContainerSummary(JsonValue row, std::string_view what) {
  ContainerSummary summary;
  OSBX_ASSIGN_OR_RETURN(summary.id, ReadId(row["Id"], what, "Id"));
  // A name with a further slash is an alias that a link of another container made: "/other/alias".
  for (const std::string& spelled : Strings(row["Names"])) {
    std::string name = WithoutSlash(spelled);
    if (name.find('/') != std::string::npos) continue;
    summary.name = std::move(name);
    break;
  }
  summary.image = row["Image"].StringOr("");
  summary.state = row["State"].StringOr("");
  summary.labels = StringMap(row["Labels"]);
  return summary;
}

}  // namespace osbx::engine
