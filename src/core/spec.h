// What a sandbox is made of: every option, its safe default, and what is refused.
#ifndef OSBX_CORE_SPEC_H_
#define OSBX_CORE_SPEC_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"

namespace osbx::core {

enum class Egress : uint32_t { kNone = 0, kUnrestricted = 1 };

// The options as they hold for one sandbox: defaults filled in, everything checked. The zero value of each option of
// the builder below is the safe one, and is what stands here unless the caller asked otherwise.
struct Options {
  std::string image;
  std::string runtime = "runsc";
  std::string user = "1000:1000";  // uid, uid:gid, or name[:group], which the backend resolves in the image
  double cpus = 2;
  int64_t memory_bytes = int64_t{2} << 30;
  int64_t disk_bytes = int64_t{1} << 30;
  int64_t max_processes = 256;
  // A negative duration means "no bound".
  std::chrono::milliseconds idle_timeout = std::chrono::minutes(15);
  std::chrono::milliseconds max_age = std::chrono::hours(2);
  std::chrono::milliseconds default_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds max_timeout = std::chrono::minutes(10);
  Egress egress = Egress::kNone;
  bool allow_exec = false;
  std::vector<std::string> env;  // KEY=value, in the order given, a later one of a key replacing the earlier
  std::map<std::string, std::string> labels;
};

// Bounds of what a builder accepts.
constexpr double kMinCpus = 0.01;
constexpr double kMaxCpus = 1000000;
constexpr int64_t kMinMemoryBytes = int64_t{16} << 20;
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 50;
constexpr int64_t kMinDiskBytes = int64_t{1} << 20;
constexpr int64_t kMaxProcesses = 1000000;
constexpr size_t kMaxEnvBytes = size_t{1} << 20;     // KEY=value and its NUL, all together
constexpr size_t kMaxLabelBytes = size_t{64} << 10;  // keys and values, all together: every listing carries them
// A longer time is taken as this one, a hundred years, so that no sum or conversion of times can overflow.
constexpr std::chrono::milliseconds kMaxDuration = std::chrono::hours(24 * 36500);

// Collects options one by one and remembers which were set; the first bad value sticks and is what Resolve() returns.
// One thread until handed over.
class SpecBuilder {
 public:
  void SetImage(std::string_view reference);
  void SetRuntime(std::string_view name);
  void SetUser(std::string_view user);
  void SetCpus(double cpus);
  void SetMemoryBytes(int64_t bytes);
  void SetDiskBytes(int64_t bytes);
  void SetMaxProcesses(int64_t count);
  void SetIdleTimeoutMs(int64_t ms);     // zero keeps the default, a negative value disables the bound
  void SetMaxAgeMs(int64_t ms);          // likewise
  void SetDefaultTimeoutMs(int64_t ms);  // zero keeps the default; negative is refused
  void SetMaxTimeoutMs(int64_t ms);      // likewise
  void SetEgress(uint32_t policy);
  void SetAllowExec(bool allow);
  void SetProfile(std::string_view name);
  void AddEnv(std::string_view key, std::string_view value);
  void AddLabel(std::string_view key, std::string_view value);
  // For a caller that could not even convert its argument (a NULL pointer).
  void Refuse(std::string_view why);

  // The options for a backend that knows no profiles: kInvalid for the first bad value, a missing image, a profile,
  // a disk larger than the memory, or a default timeout above the ceiling. A default gives way to what was set: the
  // disk to half of a small memory, the default timeout to a low ceiling.
  absl::StatusOr<Options> Resolve() const;

 private:
  void Fail(absl::Status status);

  absl::Status first_error_;
  std::optional<std::string> image_, runtime_, user_, profile_;
  std::optional<double> cpus_;
  std::optional<int64_t> memory_bytes_, disk_bytes_, max_processes_;
  std::optional<int64_t> idle_timeout_ms_, max_age_ms_, default_timeout_ms_, max_timeout_ms_;
  std::optional<uint32_t> egress_;
  std::optional<bool> allow_exec_;
  std::vector<std::string> env_;                           // KEY=value
  std::unordered_map<std::string, size_t> env_positions_;  // of each key in env_
  size_t env_bytes_ = 0;
  std::map<std::string, std::string> labels_;
  size_t label_bytes_ = 0;
};

// 1-255 bytes of UTF-8 without control characters.
absl::Status ValidateSandboxName(std::string_view name);

// uid[:gid] in plain decimal, 1-2147483646 each: the numbers, gid equal to uid's when absent. Nothing when the text is
// not numeric in form (a name); kInvalid when it is numeric but out of range, signed, or led by zeros.
struct UserId {
  int64_t uid = 0;
  int64_t gid = 0;
};
absl::StatusOr<std::optional<UserId>> ParseNumericUser(std::string_view user);
// Any form that the option takes. A name is checked by its characters only: who resolves it in an image must refuse
// uid and gid 0 again.
absl::Status ValidateUser(std::string_view user);

}  // namespace osbx::core

#endif  // OSBX_CORE_SPEC_H_
