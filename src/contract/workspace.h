// The directory that /files serves, and the way to what lies beneath it.
//
// A path is walked name by name, and every symbolic link is read and followed here, never by the kernel, so that no
// name and no link leads out, whatever is renamed or replaced meanwhile. (openat2 would do it in one call; gVisor does
// not have it, and one way on every kernel is one to test.)
#ifndef OSBX_CONTRACT_WORKSPACE_H_
#define OSBX_CONTRACT_WORKSPACE_H_

#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "contract/workspace_path.h"

namespace osbx::contract {

// Any thread; calls block as file systems do.
class Workspace {
 public:
  // `path` may be a symbolic link. The directory is held open: moved elsewhere, it goes on being served; removed or
  // replaced, what takes its place is not seen, and every path in it is missing.
  static absl::StatusOr<Workspace> Open(const std::string& path);

  // An entry of a directory that was found beneath the workspace.
  struct Entry {
    base::UniqueFd directory;  // O_PATH
    std::string name;
  };
  // The parent of the last name, which itself is not looked at, so a link there is not followed. `path` has a name.
  // With `create`, directories that are missing on the way are made, as the process's umask has it.
  absl::StatusOr<Entry> FindEntry(const WorkspacePath& path, bool create) const;

  // A regular file or a directory, opened for reading; anything else is refused with 409, and opened only if it took
  // the place of a file at the last moment, without blocking. Links are followed, the last one too.
  struct Opened {
    base::UniqueFd fd;
    struct stat info {};
    bool is_directory() const { return S_ISDIR(info.st_mode); }
  };
  absl::StatusOr<Opened> OpenForReading(const WorkspacePath& path) const;

 private:
  explicit Workspace(base::UniqueFd root) : root_(std::move(root)) {}

  base::UniqueFd root_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_WORKSPACE_H_
