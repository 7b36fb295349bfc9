// The registry: what a sandbox's container says of it in name and labels.
#ifndef OSBX_DOCKER_LABELS_H_
#define OSBX_DOCKER_LABELS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/sandbox.h"
#include "core/spec.h"

namespace osbx::docker {

// The version of the labels below. A container of a newer one is listed and destroyed, and otherwise refused.
constexpr int64_t kLabelFormat = 1;

constexpr char kManagedLabel[] = "osbx.managed";
constexpr char kHelperLabel[] = "osbx.helper";
constexpr char kCreatedLabel[] = "osbx.created-ms";

// "osbx-" and 32 hex digits of SHA-256 of the sandbox's name, which may carry identity and is not put in a name that
// every tool prints.
std::string ContainerName(std::string_view sandbox_name);

// What the labels of a container say, checked like input: anyone with access to the daemon could have written them.
struct SandboxRecord {
  std::string name;
  int64_t format = 0;
  int64_t created_ms = 0;
  core::UserId user;
  std::chrono::milliseconds default_timeout{0};
  std::chrono::milliseconds max_timeout{0};
  std::map<std::string, std::string> user_labels;

  bool newer_format() const { return format > kLabelFormat; }
};

// kNotFound: not a sandbox of ours (the label and the container's name must agree: images carry labels too).
// kBackend: ours, with labels that make no sense.
absl::StatusOr<SandboxRecord> ReadRecord(std::string_view container_name,
                                         const std::map<std::string, std::string>& labels);

// `image_labels`: what the image has, so that none of it is read back as the caller's.
std::map<std::string, std::string> MakeLabels(const std::string& name, const core::Options& options,
                                              const core::UserId& user, int64_t now_ms,
                                              const std::map<std::string, std::string>& image_labels = {});

// The engine's container status as one of our states.
core::State StateFromStatus(std::string_view status);

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_LABELS_H_
