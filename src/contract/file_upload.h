// A file on its way into the workspace: written beside its place, under a temporary name, and put there whole or never.
#ifndef OSBX_CONTRACT_FILE_UPLOAD_H_
#define OSBX_CONTRACT_FILE_UPLOAD_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "contract/temporary_file.h"
#include "contract/workspace.h"

namespace osbx::contract {

// Any thread, one at a time; calls block as file systems do. Nothing is synced: a file that was put survives the
// server, not a crash of the machine.
class FileUpload {
 public:
  // Makes the directories on the way, which stay even if the upload fails, and the temporary file. Two descriptors are
  // held until the end.
  static absl::StatusOr<std::unique_ptr<FileUpload>> Begin(const Workspace& workspace, const WorkspacePath& path);
  // Without Commit() the temporary file goes, and what was there before stays as it was.
  ~FileUpload();
  FileUpload(const FileUpload&) = delete;
  FileUpload& operator=(const FileUpload&) = delete;

  absl::Status Write(std::string_view piece);
  // Puts the file in its place. It keeps the permission bits of the regular file that it replaces, but for set-user-ID
  // and the like; a link there is replaced, not followed.
  absl::Status Commit();

 private:
  FileUpload(Workspace::Entry place, TemporaryFile file, std::optional<mode_t> old_mode);

  const Workspace::Entry place_;
  TemporaryFile file_;  // without a name once it has been put in its place
  const std::optional<mode_t> old_mode_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_FILE_UPLOAD_H_
