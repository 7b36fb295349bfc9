#include "contract/file_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

constexpr mode_t kPermissions = 0777;

// What a file may be put onto: nothing, a link, a regular file, whose permission bits these are.
absl::StatusOr<std::optional<mode_t>> CheckPlace(const Workspace::Entry& place) {
  struct stat info {};
  if (fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<mode_t>();
    return FileError(errno);
  }
  if (S_ISLNK(info.st_mode)) return std::optional<mode_t>();
  if (S_ISREG(info.st_mode)) return std::optional<mode_t>(info.st_mode & kPermissions);
  return FileError(S_ISDIR(info.st_mode) ? EISDIR : ENXIO);
}

// Tells errors of writing that are reported at the end only, as some network file systems do, without giving the lock
// away: any descriptor's close reports them.
absl::Status Flush(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || (close(copy) != 0 && errno != EINTR)) return FileError(errno);
  return absl::OkStatus();
}

}  // namespace

FileUpload::FileUpload(Workspace::Entry place, TemporaryFile file, std::optional<mode_t> old_mode)
    : place_(std::move(place)), file_(std::move(file)), old_mode_(old_mode) {}

absl::StatusOr<std::unique_ptr<FileUpload>> FileUpload::Begin(const Workspace& workspace, const WorkspacePath& path) {
  if (path.names.empty()) return FileError(EISDIR);
  if (std::any_of(path.names.begin(), path.names.end(), IsTemporaryName)) {
    return Refusal(400, "this name is reserved for uploads under way");
  }
  if (path.wants_directory) {
    const absl::StatusOr<Workspace::Opened> there = workspace.OpenForReading(path);
    if (there.ok()) return FileError(EISDIR);
    if (base::HttpStatusOf(there.status()) == 403) return there.status();
    return Refusal(400, "a file's name cannot end in a slash");
  }
  OSBX_ASSIGN_OR_RETURN(Workspace::Entry place, workspace.FindEntry(path, /*create=*/true));
  OSBX_ASSIGN_OR_RETURN(const std::optional<mode_t> old_mode, CheckPlace(place));
  // The umask cannot be read without being changed, so a new file gets its mode from open() itself. What replaces a
  // file is nobody else's to read until it has that file's mode.
  OSBX_ASSIGN_OR_RETURN(TemporaryFile file,
                        CreateTemporaryFile(place.directory.get(), old_mode.has_value() ? 0600 : 0666));
  return std::unique_ptr<FileUpload>(new FileUpload(std::move(place), std::move(file), old_mode));
}

FileUpload::~FileUpload() {
  if (!file_.name.empty()) unlinkat(place_.directory.get(), file_.name.c_str(), 0);
}

absl::Status FileUpload::Write(std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t count = write(file_.fd.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return FileError(count == 0 ? ENOSPC : errno);
    piece.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status FileUpload::Commit() {
  OSBX_ASSIGN_OR_RETURN(std::optional<mode_t> mode, CheckPlace(place_));
  if (!mode.has_value()) mode = old_mode_;
  if (mode.has_value() && fchmod(file_.fd.get(), *mode) != 0) return FileError(errno);
  OSBX_RETURN_IF_ERROR(Flush(file_.fd.get()));
  const int directory = place_.directory.get();
  if (renameat(directory, file_.name.c_str(), directory, place_.name.c_str()) != 0) {
    return FileError(errno == ENOENT ? EBUSY : errno);  // the directory has been removed meanwhile
  }
  file_.name.clear();
  file_.fd.Reset();
  return absl::OkStatus();
}

}  // namespace osbx::contract
