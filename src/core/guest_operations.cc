#include "core/guest_operations.h"

#include "base/text.h"

namespace osbx::core {

absl::Status ValidateFilePath(std::string_view path) {
  const auto invalid = [](std::string_view message) { return base::Error(base::Code::kInvalid, message); };
  if (path.empty() || path[0] != '/') return invalid("path: must be absolute");
  if (path.size() > kMaxPathBytes) return invalid("path: must be at most 4095 bytes");
  if (path.find('\0') != std::string_view::npos || !base::IsValidUtf8(path)) {
    return invalid("path: must be UTF-8 without NUL");
  }
  const std::string_view last = path.substr(path.rfind('/') + 1);
  if (last.empty() || last == "." || last == "..") return invalid("path: must name a file, not a folder");
  return absl::OkStatus();
}

}  // namespace osbx::core
