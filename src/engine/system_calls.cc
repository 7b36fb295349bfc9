#include "engine/system_calls.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "engine/engine_error.h"
#include "engine/json_reading.h"

namespace osbx::engine {
namespace {

// A runtime entry's value, in one spelling for one meaning. Depth is bounded by the JSON gate.
void AppendCanonical(base::JsonValue value, std::string& out) {
  if (value.is_object()) {
    out += '{';
    std::map<std::string, base::JsonValue> sorted;
    for (const auto& [key, member] : value.Members()) sorted.emplace(key, member);
    for (const auto& [key, member] : sorted) {
      out += base::PercentEncode(key) + ":";
      AppendCanonical(member, out);
      out += ' ';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const base::JsonValue& item : value.Items()) {
      AppendCanonical(item, out);
      out += ' ';
    }
    out += ']';
  } else if (std::optional<std::string> text = value.AsString()) {
    out += "'" + base::PercentEncode(*text) + "'";
  } else if (std::optional<bool> flag = value.AsBool()) {
    out += *flag ? "true" : "false";
  } else if (std::optional<int64_t> number = value.AsInt()) {
    out += std::to_string(*number);
  } else {
    out += "null";
  }
}

std::string RuntimeEntry(base::JsonValue runtime) {
  std::string entry;
  // Its "status" is left out: what the runtime says of its features is no part of what was configured.
  for (const char* key : {"path", "runtimeArgs", "runtimeType", "options"}) {
    const base::JsonValue value = runtime[key];
    if (!value.exists() || value.is_null()) continue;
    entry += entry.empty() ? "" : " ";
    entry += std::string(key) + ":";
    AppendCanonical(value, entry);
  }
  return entry;
}

}  // namespace

Call<EngineInfo> Info() {
  Call<EngineInfo> call;
  call.request.target = "/info";
  call.request.idempotent = true;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<EngineInfo> {
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, "engine info"));
    const base::JsonValue root = document.root();
    EngineInfo info;
    info.id = root["ID"].StringOr("");
    info.server_version = root["ServerVersion"].StringOr("");
    info.default_runtime = root["DefaultRuntime"].StringOr("");
    for (const auto& [name, runtime] : root["Runtimes"].Members()) info.runtimes[name] = RuntimeEntry(runtime);
    info.memory_limit = root["MemoryLimit"].BoolOr(false);
    info.swap_limit = root["SwapLimit"].BoolOr(false);
    info.cpu_cfs_quota = root["CpuCfsQuota"].BoolOr(false);
    info.pids_limit = root["PidsLimit"].BoolOr(false);
    return info;
  };
  return call;
}

Call<Nothing> FindNetwork(const std::string& name) {
  Call<Nothing> call;
  call.request.target = "/networks/" + base::PercentEncode(name);
  call.request.idempotent = true;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<Nothing> {
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, "inspect network"));
    return Nothing{};
  };
  return call;
}

}  // namespace osbx::engine
