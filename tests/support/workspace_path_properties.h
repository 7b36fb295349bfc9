// What must hold for any target that ParseWorkspacePath() is given. Shared by the fuzz target and by the replay of its
// corpus.
#ifndef OSBX_TESTS_SUPPORT_WORKSPACE_PATH_PROPERTIES_H_
#define OSBX_TESTS_SUPPORT_WORKSPACE_PATH_PROPERTIES_H_

#include <string>
#include <string_view>

#include "base/text.h"
#include "contract/workspace_path.h"

namespace osbx::testing {

// What is wrong, or nothing.
inline std::string WorkspacePathViolation(std::string_view target) {
  const auto path = contract::ParseWorkspacePath(target);
  const std::string with_query = std::string(target) + "?x=/../%zz";
  const auto queried = contract::ParseWorkspacePath(with_query);
  if (queried.ok() != path.ok()) return "a query changes the answer";
  const bool is_route = target.substr(0, 6) == "/files" && (target.size() == 6 || target[6] == '/' || target[6] == '?');
  if (!path.ok()) {
    const int status = base::HttpStatusOf(path.status());
    if (status != (is_route ? 400 : 404)) return "refused with the wrong status";
    return "";
  }
  if (!is_route) return "accepted another route";
  size_t bytes = 0;
  std::string again = "/files";
  for (const std::string& name : path->names) {
    if (name.empty() || name == "." || name == "..") return "a name that is none";
    if (name.find('/') != std::string::npos) return "a name with a slash";
    if (name.find('\0') != std::string::npos) return "a name with a NUL";
    if (name.size() > contract::kMaxNameBytes) return "a name that is too long";
    bytes += name.size() + 1;
    again += "/" + base::PercentEncode(name);
  }
  if (bytes > contract::kMaxPathBytes + 1) return "a path that is too long";
  if (path->wants_directory) again += "/";
  // Written down again, the same path comes out: it was decoded once and whole.
  const auto twin = contract::ParseWorkspacePath(again);
  if (!twin.ok() && bytes + 1 > contract::kMaxPathBytes) return "";
  if (!twin.ok()) return "refused, when encoded again";
  if (twin->names != path->names) return "other names, when encoded again";
  if (!path->names.empty() && twin->wants_directory != path->wants_directory) return "another kind, when encoded again";
  return "";
}

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_WORKSPACE_PATH_PROPERTIES_H_
