#include "core/command.h"

#include "base/text.h"
#include "core/guest_operations.h"

namespace osbx::core {
namespace {

using base::Code;
using base::Error;

absl::Status Invalid(std::string_view message) { return Error(Code::kInvalid, message); }

// What a JSON request and an execve() can both carry.
bool IsText(std::string_view text) { return text.find('\0') == std::string_view::npos && base::IsValidUtf8(text); }

}  // namespace

absl::Status ValidateEnvironment(std::string_view key, std::string_view value) {
  if (key.empty() || key.find('=') != std::string_view::npos || !IsText(key)) {
    return Invalid("environment: a key must be UTF-8, not empty, and without '=' and NUL");
  }
  if (!IsText(value)) return Invalid("environment: a value must be UTF-8 without NUL");
  return absl::OkStatus();
}

absl::Status ValidateDirectory(std::string_view path) {
  if (!path.empty() && path[0] == '/' && path.size() <= kMaxPathBytes && IsText(path)) return absl::OkStatus();
  return Invalid("directory: must be an absolute path of at most 4095 bytes of UTF-8");
}

absl::Status ValidateTimeout(std::chrono::milliseconds timeout) {
  if (timeout.count() > 0) return absl::OkStatus();
  return Invalid("timeout: must be more than 0 milliseconds");
}

absl::Status ValidateCommand(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return Invalid("argv: must name a program in its first element");
  }
  size_t bytes = command.directory.size() + 1;
  for (const std::string& argument : command.argv) {
    if (!IsText(argument)) return Invalid("argv: every element must be UTF-8 without NUL");
    bytes += argument.size() + 1;
  }
  for (const auto& [key, value] : command.env) {
    OSBX_RETURN_IF_ERROR(ValidateEnvironment(key, value));
    bytes += key.size() + value.size() + 2;
  }
  if (bytes > kMaxCommandBytes) {
    return Invalid("command: argv, environment and directory must be at most 1 MiB together");
  }
  if (!command.directory.empty()) OSBX_RETURN_IF_ERROR(ValidateDirectory(command.directory));
  if (command.timeout.has_value()) OSBX_RETURN_IF_ERROR(ValidateTimeout(*command.timeout));
  return absl::OkStatus();
}

}  // namespace osbx::core
