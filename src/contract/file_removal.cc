#include "contract/file_removal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "contract/error_answer.h"
#include "contract/temporary_file.h"

namespace osbx::contract {
namespace {

constexpr int kEntriesAtOnce = 1024;
constexpr size_t kMaxLevels = 32;
// A directory is read again while it is not empty at its end: file systems may skip entries when others go, and
// somebody may go on writing into it.
constexpr int kMaxRounds = 32;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

bool IsNotEmpty(int error) { return error == ENOTEMPTY || error == EEXIST; }

}  // namespace

absl::StatusOr<std::unique_ptr<FileRemoval>> FileRemoval::Begin(const Workspace& workspace, const WorkspacePath& path) {
  if (path.names.empty()) return Refusal(400, "the workspace itself cannot be removed");
  if (std::any_of(path.names.begin(), path.names.end(), IsTemporaryName)) return FileError(ENOENT);
  OSBX_ASSIGN_OR_RETURN(Workspace::Entry place, workspace.FindEntry(path, /*create=*/false));
  struct stat info {};
  if (fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return FileError(errno);
  if (path.wants_directory && !S_ISDIR(info.st_mode)) return FileError(ENOTDIR);
  return std::unique_ptr<FileRemoval>(new FileRemoval(std::move(place)));
}

absl::StatusOr<bool> FileRemoval::Advance() {
  if (!begun_) {
    begun_ = true;
    OSBX_RETURN_IF_ERROR(RemoveEntry(place_.directory.get(), place_.name, /*directory_first=*/false));
  }
  for (int count = 0; count < kEntriesAtOnce && !levels_.empty(); ++count) {
    Level& level = levels_.back();
    OSBX_ASSIGN_OR_RETURN(const dirent* const entry, level.stream.Next());
    if (entry == nullptr) {
      OSBX_RETURN_IF_ERROR(LeaveDirectory());
      continue;
    }
    OSBX_RETURN_IF_ERROR(RemoveEntry(level.stream.fd(), entry->d_name, entry->d_type == DT_DIR));
  }
  return levels_.empty();
}

// Removes the entry, or begins with what is in it.
absl::Status FileRemoval::RemoveEntry(int directory, const std::string& name, bool directory_first) {
  int error = EISDIR;
  if (!directory_first) {
    if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
    error = errno;
  }
  // EPERM is what POSIX has for a directory, and what a file that must not go gives as well.
  if (error != EISDIR && error != EPERM) return FileError(error);
  if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return absl::OkStatus();
  if (IsNotEmpty(errno)) return Descend(directory, name);
  if (errno != ENOTDIR) return FileError(errno);
  if (!directory_first) return FileError(error == EISDIR ? EBUSY : error);
  if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError(errno);
}

absl::Status FileRemoval::Descend(int directory, const std::string& name) {
  if (levels_.size() >= kMaxLevels) {
    // Its turn comes when the first directory is read again.
    const std::string moved = ".removed-" + base::RandomHex(16);
    if (renameat(directory, name.c_str(), levels_.front().stream.fd(), moved.c_str()) != 0) return FileError(errno);
    levels_.front().moved_in = true;
    return absl::OkStatus();
  }
  base::UniqueFd fd(openat(directory, name.c_str(), kDirectoryFlags));
  if (!fd.valid()) {
    // Replaced by a file or a link meanwhile: met again when this directory turns out not to be empty.
    if (errno == ENOENT || ((errno == ENOTDIR || errno == ELOOP) && !levels_.empty())) return absl::OkStatus();
    return FileError(errno);
  }
  OSBX_ASSIGN_OR_RETURN(DirectoryStream stream, DirectoryStream::Open(std::move(fd)));
  levels_.emplace_back(std::move(stream), name);
  return absl::OkStatus();
}

// At the end of a directory: it goes, if nothing is left in it.
absl::Status FileRemoval::LeaveDirectory() {
  Level& level = levels_.back();
  const int above = levels_.size() == 1 ? place_.directory.get() : levels_[levels_.size() - 2].stream.fd();
  const bool gone = unlinkat(above, level.name.c_str(), AT_REMOVEDIR) == 0;
  // ENOENT, ENOTDIR: somebody else has removed or replaced it.
  if (gone || errno == ENOENT || (errno == ENOTDIR && levels_.size() > 1)) {
    levels_.pop_back();
    return absl::OkStatus();
  }
  if (!IsNotEmpty(errno)) return FileError(errno);
  if (!level.moved_in && ++level.rounds > kMaxRounds) return FileError(EBUSY);
  level.moved_in = false;
  level.stream.Rewind();
  return absl::OkStatus();
}

}  // namespace osbx::contract
