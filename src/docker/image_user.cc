#include "docker/image_user.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/crypto.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "docker/labels.h"
#include "engine/container_calls.h"

namespace osbx::docker {
namespace {

using base::Code;

constexpr int64_t kLargestId = 2147483646;
constexpr size_t kMostFileBytes = size_t{1} << 20;
constexpr size_t kBlock = 512;

std::array<std::string_view, 4> FirstFields(std::string_view line) {
  std::array<std::string_view, 4> fields;
  for (std::string_view& field : fields) {
    size_t colon = line.find(':');
    field = line.substr(0, colon);
    if (colon == std::string_view::npos) break;
    line.remove_prefix(colon + 1);
  }
  return fields;
}

// The first well-formed line "name:...", as its fields 3 and 4 in numbers (a group file has no fourth).
struct Numbers {
  int64_t id = 0;
  int64_t group = 0;
};
std::optional<Numbers> FindName(std::string_view file, std::string_view name, bool with_group) {
  while (!file.empty()) {
    size_t end = file.find('\n');
    std::string_view line = file.substr(0, end);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    std::array<std::string_view, 4> fields = FirstFields(line);
    if (fields[0] != name) continue;
    std::optional<int64_t> id = base::ParseDecimal(fields[2], 0, kLargestId);
    std::optional<int64_t> group = with_group ? base::ParseDecimal(fields[3], 0, kLargestId) : 0;
    if (id.has_value() && group.has_value()) return Numbers{*id, *group};
  }
  return std::nullopt;
}

absl::Status NoSuch(const char* what, std::string_view name) {
  return base::Error(Code::kInvalid, std::string("the image has no ") + what + " \"" + std::string(name) + "\"");
}

// A tar number: octal digits, ended by NUL or a space.
std::optional<uint64_t> Octal(std::string_view field) {
  uint64_t value = 0;
  size_t digits = 0;
  for (char c : field) {
    if (c == ' ' && digits == 0) continue;
    if (c < '0' || c > '7') break;
    value = value * 8 + static_cast<uint64_t>(c - '0');
    if (++digits > 12) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  return value;
}

// A file of the image; empty when there is none.
absl::StatusOr<std::string> ReadImageFile(engine::Client& client, const std::string& container, const char* path,
                                          const base::Context& context) {
  absl::StatusOr<std::string> tar =
      client.Run(engine::GetArchive(container, path, kMostFileBytes + 16 * kBlock), context);
  if (!tar.ok()) {
    if (base::CodeOf(tar.status()) == Code::kNotFound) return std::string();
    return base::Annotate(tar.status(), std::string("reading the image's ") + path);
  }
  absl::StatusOr<std::string> file = ReadSingleFileTar(*tar);
  if (!file.ok()) return base::Annotate(file.status(), std::string("the image's ") + path);
  return file;
}

}  // namespace

absl::StatusOr<core::UserId> ResolveUser(std::string_view user, std::string_view passwd, std::string_view group) {
  const size_t colon = user.find(':');
  const std::string_view user_name = user.substr(0, colon);
  core::UserId id;
  if (std::optional<int64_t> number = base::ParseDecimal(user_name, 1, kLargestId)) {
    id = {*number, *number};
  } else if (std::optional<Numbers> entry = FindName(passwd, user_name, true)) {
    id = {entry->id, entry->group};
  } else {
    return NoSuch("user", user_name);
  }
  if (colon != std::string_view::npos) {
    const std::string_view group_name = user.substr(colon + 1);
    if (std::optional<int64_t> number = base::ParseDecimal(group_name, 1, kLargestId)) {
      id.gid = *number;
    } else if (std::optional<Numbers> entry = FindName(group, group_name, false)) {
      id.gid = entry->id;
    } else {
      return NoSuch("group", group_name);
    }
  }
  if (id.uid == 0 || id.gid == 0) {
    return base::Error(Code::kInvalid, "the user \"" + std::string(user) + "\" is root in the image, which is refused");
  }
  return id;
}

absl::StatusOr<std::string> ReadSingleFileTar(std::string_view tar) {
  auto malformed = [] { return base::Error(Code::kInvalid, "not a regular file of at most 1 MiB"); };
  while (tar.size() >= kBlock) {
    std::string_view header = tar.substr(0, kBlock);
    tar.remove_prefix(kBlock);
    std::optional<uint64_t> size = Octal(header.substr(124, 12));
    if (!size.has_value() || *size > tar.size()) return malformed();
    const char type = header[156];
    if (type == 'x' || type == 'g') {  // pax attributes of what follows; none of them matters here
      const uint64_t padded = (*size + kBlock - 1) / kBlock * kBlock;
      if (padded > tar.size()) return malformed();
      tar.remove_prefix(padded);
      continue;
    }
    if ((type != '0' && type != '\0') || *size > kMostFileBytes) return malformed();
    return std::string(tar.substr(0, *size));
  }
  return malformed();
}

absl::StatusOr<core::UserId> ImageUsers::Resolve(engine::Client& client, const std::string& user,
                                                 const std::string& image_id, const base::Context& context) {
  OSBX_ASSIGN_OR_RETURN(std::optional<core::UserId> numeric, core::ParseNumericUser(user));
  if (numeric.has_value()) return *numeric;
  const std::string key = image_id + "\n" + user;
  {
    base::MutexLock lock(mutex_);
    auto found = known_.find(key);
    if (found != known_.end()) return found->second;
  }

  engine::ContainerConfig config;
  config.image = image_id;
  config.entrypoint = {"/osbx-never-started"};
  config.network_mode = "none";
  config.healthcheck_none = true;
  config.labels = {{kHelperLabel, "1"}, {kCreatedLabel, std::to_string(base::UnixMilliseconds())}};
  OSBX_ASSIGN_OR_RETURN(engine::CreatedContainer helper,
                        client.Run(engine::CreateContainer("osbx-helper-" + base::RandomHex(16), config), context));
  absl::StatusOr<std::string> passwd = ReadImageFile(client, helper.id, "/etc/passwd", context);
  absl::StatusOr<std::string> group = std::string();
  if (passwd.ok()) group = ReadImageFile(client, helper.id, "/etc/group", context);
  constexpr std::chrono::seconds kRemovalTime(10);
  absl::Status removed =
      client.Run(engine::RemoveContainer(helper.id, true), base::Context::Detached(kRemovalTime)).status();
  if (!passwd.ok()) return passwd.status();
  if (!group.ok()) return group.status();
  OSBX_RETURN_IF_ERROR(removed);

  OSBX_ASSIGN_OR_RETURN(core::UserId id, ResolveUser(user, *passwd, *group));
  base::MutexLock lock(mutex_);
  if (known_.size() >= kMostRemembered) known_.clear();
  known_[key] = id;
  return id;
}

}  // namespace osbx::docker
