// The path of a /files request: from the request's target to names below the workspace.
#ifndef OSBX_CONTRACT_WORKSPACE_PATH_H_
#define OSBX_CONTRACT_WORKSPACE_PATH_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace osbx::contract {

inline constexpr size_t kMaxPathBytes = 4096;  // decoded
inline constexpr size_t kMaxNameBytes = 255;

struct WorkspacePath {
  std::vector<std::string> names;  // none: the workspace itself. Never empty, "." or "..", without '/' and NUL
  bool wants_directory = false;    // it ended in "/" or "/."

  // For messages: joined by '/', cut where it is long.
  std::string Text() const;
};

// `target` is a request's target, as sent: "/files", or "/files/" and what follows, the query not counted. It is
// percent-decoded once; "+" stays. The errors carry their HTTP status: 400 for what is no path below the workspace
// (absolute, "..", NUL, a '%' without two hex digits, too long), 404 for another route.
absl::StatusOr<WorkspacePath> ParseWorkspacePath(std::string_view target);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_WORKSPACE_PATH_H_
