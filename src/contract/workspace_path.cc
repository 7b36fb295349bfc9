#include "contract/workspace_path.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

constexpr std::string_view kRoute = "/files";
constexpr size_t kMaxTextBytes = 200;

}  // namespace

std::string WorkspacePath::Text() const {
  if (names.empty()) return "the workspace";
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += '/';
    text += name;
    if (text.size() > kMaxTextBytes) return text.substr(0, kMaxTextBytes) + "...";
  }
  return text;
}

absl::StatusOr<WorkspacePath> ParseWorkspacePath(std::string_view target) {
  target = target.substr(0, target.find('?'));
  if (target.substr(0, kRoute.size()) != kRoute) return Refusal(404, "no such route");
  target.remove_prefix(kRoute.size());
  WorkspacePath path;
  if (target.empty()) return path;
  if (target.front() != '/') return Refusal(404, "no such route");
  target.remove_prefix(1);

  if (target.size() > 3 * kMaxPathBytes) return Refusal(400, "the path is too long: at most 4096 bytes are allowed");
  const std::optional<std::string> decoded = base::PercentDecode(target);
  if (!decoded.has_value()) return Refusal(400, "a % in the path must be followed by two hex digits");
  if (decoded->size() > kMaxPathBytes) return Refusal(400, "the path is too long: at most 4096 bytes are allowed");
  if (decoded->find('\0') != std::string::npos) return Refusal(400, "a path cannot contain a NUL byte");
  std::string_view rest = *decoded;
  if (rest.empty()) return path;
  if (rest.front() == '/') return Refusal(400, "the path must be relative to the workspace");

  for (;;) {
    const size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name == "..") return Refusal(400, "the path must not contain a .. segment");
    if (name.size() > kMaxNameBytes)
      return Refusal(400, "a name in the path is too long: at most 255 bytes are allowed");
    const bool is_name = !name.empty() && name != ".";
    if (is_name) path.names.emplace_back(name);
    path.wants_directory = !is_name;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return path;
}

}  // namespace osbx::contract
