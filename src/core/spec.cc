#include "core/spec.h"

#include <cmath>
#include <string>

#include "base/text.h"
#include "core/command.h"

namespace osbx::core {
namespace {

using base::Code;
using base::Error;
using std::chrono::milliseconds;

absl::Status Invalid(std::string_view message) { return Error(Code::kInvalid, message); }

absl::Status ValidateImage(std::string_view reference) {
  constexpr size_t kMaxReferenceBytes = 1024;
  if (reference.empty() || reference.size() > kMaxReferenceBytes) {
    return Invalid("image: a reference of 1 to 1024 bytes is required");
  }
  if (!base::IsValidUtf8(reference) || base::HasControlCharacter(reference) ||
      reference.find(' ') != std::string_view::npos) {
    return Invalid("image: a reference has no spaces, no control characters and is UTF-8");
  }
  return absl::OkStatus();
}

absl::Status ValidateRuntime(std::string_view name) {
  constexpr size_t kMaxRuntimeBytes = 128;
  const auto letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  bool good = !name.empty() && name.size() <= kMaxRuntimeBytes && letter_or_digit(name[0]);
  for (const char c : name) good = good && (letter_or_digit(c) || c == '.' || c == '_' || c == '-');
  if (good) return absl::OkStatus();
  return Invalid("runtime: a name is 1 to 128 letters, digits, '.', '_' and '-', and begins with a letter or digit");
}

absl::Status ValidateName(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= 255 && base::IsValidUtf8(name) && !base::HasControlCharacter(name)) {
    return absl::OkStatus();
  }
  return Invalid(std::string(what) + ": must be 1 to 255 bytes of UTF-8 without control characters");
}

milliseconds Bounded(int64_t ms) { return std::min(milliseconds(ms), kMaxDuration); }

// Zero keeps the default, a negative value means "no bound".
void ApplyBound(const std::optional<int64_t>& ms, milliseconds& option) {
  if (ms.has_value() && *ms != 0) option = *ms < 0 ? milliseconds(-1) : Bounded(*ms);
}

}  // namespace

void SpecBuilder::Fail(absl::Status status) {
  if (first_error_.ok()) first_error_ = std::move(status);
}

void SpecBuilder::Refuse(std::string_view why) { Fail(Invalid(why)); }

void SpecBuilder::SetImage(std::string_view reference) {
  if (absl::Status status = ValidateImage(reference); !status.ok()) return Fail(std::move(status));
  image_ = std::string(reference);
}

void SpecBuilder::SetRuntime(std::string_view name) {
  if (absl::Status status = ValidateRuntime(name); !status.ok()) return Fail(std::move(status));
  runtime_ = std::string(name);
}

void SpecBuilder::SetUser(std::string_view user) {
  if (absl::Status status = ValidateUser(user); !status.ok()) return Fail(std::move(status));
  user_ = std::string(user);
}

void SpecBuilder::SetCpus(double cpus) {
  // Less than the minimum, or what is no number at all, would reach the engine as 0, which means "unlimited" there.
  if (!std::isfinite(cpus) || cpus < kMinCpus || cpus > kMaxCpus) {
    return Refuse("cpus: must be a number from 0.01 to 1000000");
  }
  cpus_ = cpus;
}

void SpecBuilder::SetMemoryBytes(int64_t bytes) {
  if (bytes < kMinMemoryBytes || bytes > kMaxMemoryBytes) {
    return Refuse("memory: must be 16 MiB (16777216 bytes) to 1 PiB (1125899906842624 bytes)");
  }
  memory_bytes_ = bytes;
}

void SpecBuilder::SetDiskBytes(int64_t bytes) {
  if (bytes < kMinDiskBytes) return Refuse("disk: must be at least 1 MiB (1048576 bytes) and at most the memory");
  disk_bytes_ = bytes;
}

void SpecBuilder::SetMaxProcesses(int64_t count) {
  if (count < 1 || count > kMaxProcesses) return Refuse("processes: must be 1 to 1000000");
  max_processes_ = count;
}

void SpecBuilder::SetIdleTimeoutMs(int64_t ms) { idle_timeout_ms_ = ms; }

void SpecBuilder::SetMaxAgeMs(int64_t ms) { max_age_ms_ = ms; }

void SpecBuilder::SetDefaultTimeoutMs(int64_t ms) {
  if (ms < 0) return Refuse("default timeout: must be 0 (keep the default of 60 s) or more milliseconds");
  default_timeout_ms_ = ms;
}

void SpecBuilder::SetMaxTimeoutMs(int64_t ms) {
  if (ms < 0) return Refuse("maximum timeout: must be 0 (keep the default of 10 minutes) or more milliseconds");
  max_timeout_ms_ = ms;
}

void SpecBuilder::SetEgress(uint32_t policy) {
  if (policy > static_cast<uint32_t>(Egress::kUnrestricted)) {
    return Refuse("egress: must be 0 (none) or 1 (unrestricted)");
  }
  egress_ = policy;
}

void SpecBuilder::SetAllowExec(bool allow) { allow_exec_ = allow; }

void SpecBuilder::SetProfile(std::string_view name) {
  if (absl::Status status = ValidateName("profile", name); !status.ok()) return Fail(std::move(status));
  profile_ = std::string(name);
}

void SpecBuilder::AddEnv(std::string_view key, std::string_view value) {
  if (absl::Status status = ValidateEnvironment(key, value); !status.ok()) return Fail(std::move(status));
  const size_t added = key.size() + value.size() + 2;  // '=' and NUL
  const auto position = env_positions_.find(std::string(key));
  const size_t replaced = position == env_positions_.end() ? 0 : env_[position->second].size() + 1;
  if (added > kMaxEnvBytes || env_bytes_ - replaced > kMaxEnvBytes - added) {
    return Refuse("environment: must be at most 1 MiB altogether");
  }
  std::string entry(key);
  entry += '=';
  entry += value;
  if (position != env_positions_.end()) {
    env_[position->second] = std::move(entry);
  } else {
    env_.push_back(std::move(entry));
    env_positions_.emplace(key, env_.size() - 1);
  }
  env_bytes_ = env_bytes_ - replaced + added;
}

void SpecBuilder::AddLabel(std::string_view key, std::string_view value) {
  if (absl::Status status = ValidateName("label key", key); !status.ok()) return Fail(std::move(status));
  if (!base::IsValidUtf8(value) || value.find('\0') != std::string_view::npos) {
    return Refuse("label value: must be UTF-8 without NUL");
  }
  const auto old = labels_.find(std::string(key));
  const size_t replaced = old == labels_.end() ? 0 : key.size() + old->second.size();
  const size_t added = key.size() + value.size();
  if (added > kMaxLabelBytes || label_bytes_ - replaced > kMaxLabelBytes - added) {
    return Refuse("labels: must be at most 64 KiB altogether");
  }
  labels_[std::string(key)] = std::string(value);
  label_bytes_ = label_bytes_ - replaced + added;
}

absl::StatusOr<Options> SpecBuilder::Resolve() const {
  OSBX_RETURN_IF_ERROR(first_error_);
  if (profile_.has_value()) return Invalid("profile: this backend has no profiles");
  if (!image_.has_value()) return Invalid("image: required, and not set");

  Options options;
  options.image = *image_;
  if (runtime_.has_value()) options.runtime = *runtime_;
  if (user_.has_value()) options.user = *user_;
  if (cpus_.has_value()) options.cpus = *cpus_;
  if (memory_bytes_.has_value()) options.memory_bytes = *memory_bytes_;
  if (max_processes_.has_value()) options.max_processes = *max_processes_;
  if (egress_.has_value()) options.egress = static_cast<Egress>(*egress_);
  if (allow_exec_.has_value()) options.allow_exec = *allow_exec_;
  ApplyBound(idle_timeout_ms_, options.idle_timeout);
  ApplyBound(max_age_ms_, options.max_age);
  options.env = env_;
  options.labels = labels_;

  if (!disk_bytes_.has_value()) {
    options.disk_bytes = std::min(options.disk_bytes, options.memory_bytes / 2);
  } else if (*disk_bytes_ > options.memory_bytes) {
    return Invalid("disk: " + std::to_string(*disk_bytes_) +
                   " bytes are more than the memory, of which it is a part: " + std::to_string(options.memory_bytes) +
                   " bytes");
  } else {
    options.disk_bytes = *disk_bytes_;
  }

  if (max_timeout_ms_.value_or(0) != 0) options.max_timeout = Bounded(*max_timeout_ms_);
  if (default_timeout_ms_.value_or(0) == 0) {
    options.default_timeout = std::min(options.default_timeout, options.max_timeout);
  } else if (Bounded(*default_timeout_ms_) > options.max_timeout) {
    return Invalid("default timeout: " + std::to_string(*default_timeout_ms_) + " ms are more than the maximum of " +
                   std::to_string(options.max_timeout.count()) + " ms");
  } else {
    options.default_timeout = Bounded(*default_timeout_ms_);
  }
  return options;
}

absl::Status ValidateSandboxName(std::string_view name) { return ValidateName("name", name); }

}  // namespace osbx::core
