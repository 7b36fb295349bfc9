// The removal of a file, of a link, or of a directory with everything in it.
#ifndef OSBX_CONTRACT_FILE_REMOVAL_H_
#define OSBX_CONTRACT_FILE_REMOVAL_H_

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "contract/directory_stream.h"
#include "contract/workspace.h"

namespace osbx::contract {

// Any thread, one at a time; calls block as file systems do. Never follows a link. However deep the tree is, some 32
// descriptors are open: what lies deeper is moved up first, into the directory that is being removed, so a removal of
// such a tree that fails half-way leaves the rest of it there under names like ".removed-" and 32 hex digits.
class FileRemoval {
 public:
  static absl::StatusOr<std::unique_ptr<FileRemoval>> Begin(const Workspace& workspace, const WorkspacePath& path);

  // Removes some more, so that a large tree leaves room for other work between. True: all is gone. An error ends it;
  // what was removed until then is.
  absl::StatusOr<bool> Advance();

 private:
  struct Level {
    Level(DirectoryStream opened, std::string its_name) : stream(std::move(opened)), name(std::move(its_name)) {}

    DirectoryStream stream;
    std::string name;       // in the directory above
    bool moved_in = false;  // something from below, since it was last read from its beginning
    int rounds = 0;
  };

  explicit FileRemoval(Workspace::Entry place) : place_(std::move(place)) {}

  absl::Status RemoveEntry(int directory, const std::string& name, bool directory_first);
  absl::Status Descend(int directory, const std::string& name);
  absl::Status LeaveDirectory();

  const Workspace::Entry place_;
  bool begun_ = false;
  std::vector<Level> levels_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_FILE_REMOVAL_H_
