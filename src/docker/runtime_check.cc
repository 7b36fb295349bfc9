#include "docker/runtime_check.h"

#include <string_view>

#include "base/crypto.h"
#include "base/text.h"
#include "engine/exec_calls.h"

namespace osbx::docker {
namespace {

constexpr std::chrono::minutes kRemember(10);

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "runsc", "runsc22", "runsc-kvm"; or a path whose last element begins so. A definition holds its texts
// percent-encoded: "path:'%2Fusr%2Fbin%2Frunsc' ...".
bool ClaimsGvisor(const std::string& name, const std::string& definition) {
  if (name.rfind("runsc", 0) == 0) return true;
  const std::string path = definition.substr(0, definition.find(' '));
  const std::string slash = base::PercentEncode("/");
  return Contains(path, slash) && path.rfind("runsc") == path.rfind(slash) + slash.size();
}

}  // namespace

bool RuntimeEntry::network_disabled() const {
  return Contains(definition, base::PercentEncode("-network=none")) || Contains(definition, "-network' 'none'");
}

absl::StatusOr<engine::EngineInfo> RuntimeCheck::CachedInfo(const base::Context& context, bool refresh) {
  if (!refresh) {
    base::MutexLock lock(mutex_);
    if (info_.has_value() && base::Clock::now() < info_until_) return *info_;
  }
  OSBX_ASSIGN_OR_RETURN(engine::EngineInfo info, client_.Run(engine::Info(), context));
  base::MutexLock lock(mutex_);
  info_ = info;
  info_until_ = base::Clock::now() + kRemember;
  return info;
}

absl::StatusOr<RuntimeEntry> RuntimeCheck::Find(const std::string& runtime, const base::Context& context) {
  OSBX_ASSIGN_OR_RETURN(engine::EngineInfo info, CachedInfo(context, false));
  if (info.runtimes.count(runtime) == 0) {
    OSBX_ASSIGN_OR_RETURN(info, CachedInfo(context, true));  // it may have been registered meanwhile
  }
  auto found = info.runtimes.find(runtime);
  if (found == info.runtimes.end()) {
    return base::Error(base::Code::kRuntimeUnavailable,
                       "the runtime \"" + runtime + "\" is not registered with the Docker daemon");
  }
  auto cannot = [](const char* limit) {
    return base::Error(base::Code::kRuntimeUnavailable,
                       std::string("the Docker daemon reports that this host cannot limit ") + limit);
  };
  if (!info.memory_limit) return cannot("memory");
  if (!info.cpu_cfs_quota) return cannot("CPU time");
  if (!info.pids_limit) return cannot("the number of processes");

  RuntimeEntry entry;
  entry.name = runtime;
  entry.definition = found->second;
  entry.engine_id = info.id;
  entry.gvisor = ClaimsGvisor(runtime, entry.definition);
  return entry;
}

absl::Status RuntimeCheck::Verify(const RuntimeEntry& entry, const std::string& container,
                                  const base::Context& context) {
  if (!entry.gvisor) return absl::OkStatus();
  const std::string key = entry.engine_id + "\n" + entry.name + "\n" + entry.definition;
  {
    base::MutexLock lock(mutex_);
    auto known = verified_until_.find(key);
    if (known != verified_until_.end() && base::Clock::now() < known->second) return absl::OkStatus();
  }

  engine::ExecConfig config;
  config.argv = {"/osbx-no-such-program-" + base::RandomHex(16)};
  config.user = "65532:65532";
  config.working_dir = "/";
  OSBX_ASSIGN_OR_RETURN(std::string exec, client_.Run(engine::CreateExec(container, config), context));
  // Most engines answer inside the stream, some refuse the start: both texts are the runtime's own.
  absl::StatusOr<std::string> answer = client_.Run(engine::RunExec(exec), context);
  std::string text;
  if (answer.ok()) {
    text = *answer;
  } else if (base::HttpStatusOf(answer.status()) != 0) {
    text = std::string(answer.status().message());
  } else {
    return answer.status();
  }
  if (!Contains(text, "executing command") || !Contains(text, "in sandbox")) {
    return base::Error(base::Code::kRuntimeUnavailable,
                       "the runtime \"" + entry.name + "\" is not gVisor: it answered \"" + text + "\"");
  }
  base::MutexLock lock(mutex_);
  verified_until_[key] = base::Clock::now() + kRemember;
  return absl::OkStatus();
}

}  // namespace osbx::docker
