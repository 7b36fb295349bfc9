#include "docker/labels.h"

#include <optional>

#include "base/crypto.h"
#include "base/text.h"

namespace osbx::docker {
namespace {

constexpr char kFormatLabel[] = "osbx.format";
constexpr char kNameLabel[] = "osbx.name";
constexpr char kIdleLabel[] = "osbx.idle-ms";
constexpr char kMaxAgeLabel[] = "osbx.max-age-ms";
constexpr char kTimeoutLabel[] = "osbx.timeout-ms";
constexpr char kMaxTimeoutLabel[] = "osbx.timeout-max-ms";
constexpr char kUserIdLabel[] = "osbx.user-id";
constexpr char kUserLabelPrefix[] = "osbx.user.";
// Keys of the caller's kind that only the image has, each followed by a line feed, which no key of a caller holds.
constexpr char kImageLabelsLabel[] = "osbx.image-labels";

constexpr int64_t kLargest = int64_t{1} << 53;

const std::string* Find(const std::map<std::string, std::string>& labels, const char* key) {
  auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

absl::StatusOr<int64_t> Number(const std::map<std::string, std::string>& labels, const char* key, int64_t min) {
  const std::string* text = Find(labels, key);
  std::optional<int64_t> value;
  if (text != nullptr) value = base::ParseDecimal(*text, min, kLargest);
  if (!value.has_value()) {
    return base::Error(base::Code::kBackend, std::string("the sandbox's label ") + key + " is missing or not a number");
  }
  return *value;
}

}  // namespace

std::string ContainerName(std::string_view sandbox_name) {
  return "osbx-" + base::Sha256Hex(sandbox_name).substr(0, 32);
}

absl::StatusOr<SandboxRecord> ReadRecord(std::string_view container_name,
                                         const std::map<std::string, std::string>& labels) {
  const std::string* managed = Find(labels, kManagedLabel);
  const std::string* name = Find(labels, kNameLabel);
  if (managed == nullptr || *managed != "1" || name == nullptr || !core::ValidateSandboxName(*name).ok() ||
      ContainerName(*name) != container_name) {
    return base::Error(base::Code::kNotFound, "the container is not a sandbox");
  }
  SandboxRecord record;
  record.name = *name;
  OSBX_ASSIGN_OR_RETURN(record.format, Number(labels, kFormatLabel, 1));
  OSBX_ASSIGN_OR_RETURN(record.created_ms, Number(labels, kCreatedLabel, 0));
  const std::string* image_labels = Find(labels, kImageLabelsLabel);
  const std::string image_keys = image_labels == nullptr ? "" : "\n" + *image_labels;
  for (const auto& [key, value] : labels) {
    constexpr size_t kPrefixSize = sizeof(kUserLabelPrefix) - 1;
    if (key.size() <= kPrefixSize || key.compare(0, kPrefixSize, kUserLabelPrefix) != 0) continue;
    if (image_keys.find("\n" + key + "\n") != std::string::npos) continue;
    record.user_labels[key.substr(kPrefixSize)] = value;
  }
  if (record.newer_format()) return record;  // the rest may mean something else there

  OSBX_ASSIGN_OR_RETURN(int64_t timeout_ms, Number(labels, kTimeoutLabel, 1));
  OSBX_ASSIGN_OR_RETURN(int64_t max_timeout_ms, Number(labels, kMaxTimeoutLabel, 1));
  record.default_timeout = std::chrono::milliseconds(timeout_ms);
  record.max_timeout = std::chrono::milliseconds(max_timeout_ms);
  const std::string* user = Find(labels, kUserIdLabel);
  std::optional<core::UserId> id;
  if (user != nullptr) {
    OSBX_ASSIGN_OR_RETURN(id, core::ParseNumericUser(*user));
  }
  if (!id.has_value()) {
    return base::Error(base::Code::kBackend, std::string("the sandbox's label ") + kUserIdLabel + " is not a user id");
  }
  record.user = *id;
  return record;
}

std::map<std::string, std::string> MakeLabels(const std::string& name, const core::Options& options,
                                              const core::UserId& user, int64_t now_ms,
                                              const std::map<std::string, std::string>& image_labels) {
  // A bound that is off is an empty label: there is no number that a reader could take for one.
  auto bound = [](std::chrono::milliseconds ms) { return ms.count() < 0 ? std::string() : std::to_string(ms.count()); };
  std::map<std::string, std::string> labels = {
      {kManagedLabel, "1"},
      {kFormatLabel, std::to_string(kLabelFormat)},
      {kNameLabel, name},
      {kCreatedLabel, std::to_string(now_ms)},
      {kIdleLabel, bound(options.idle_timeout)},
      {kMaxAgeLabel, bound(options.max_age)},
      {kTimeoutLabel, std::to_string(options.default_timeout.count())},
      {kMaxTimeoutLabel, std::to_string(options.max_timeout.count())},
      {kUserIdLabel, std::to_string(user.uid) + ":" + std::to_string(user.gid)},
  };
  for (const auto& [key, value] : options.labels) labels[kUserLabelPrefix + key] = value;
  // A container has its image's labels too, and there is no way to leave one out.
  std::string only_images;
  for (const auto& [key, value] : image_labels) {
    if (key.rfind(kUserLabelPrefix, 0) == 0 && labels.count(key) == 0) only_images += key + "\n";
  }
  if (!only_images.empty() || image_labels.count(kImageLabelsLabel) != 0) labels[kImageLabelsLabel] = only_images;
  return labels;
}

core::State StateFromStatus(std::string_view status) {
  if (status == "running") return core::State::kRunning;
  if (status == "created" || status == "exited") return core::State::kStopped;
  return core::State::kError;
}

}  // namespace osbx::docker
