#include "contract/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <string_view>

#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

constexpr int kMaxLinks = 40;     // as Linux has it
constexpr int kMaxOpens = 16384;  // a chain of links full of ".." could take millions
constexpr int kMaxAttempts = 16;  // at what is replaced between two calls, again and again
constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;

absl::Status LeadsOut() { return Refusal(403, "a symbolic link leads out of the workspace"); }

// The way down from the workspace. It holds one descriptor, whatever the depth: the names of the directories above are
// remembered instead, without links, and ".." walks down to the one above again.
class Walk {
 public:
  Walk(int root, const std::vector<std::string>& names) : root_(root), pending_(names.rbegin(), names.rend()) {}

  // Goes on until `left` names are left, and opens the directory that they are in.
  absl::Status Enter(size_t left, bool create) {
    while (pending_.size() > left) OSBX_RETURN_IF_ERROR(Step(create));
    return Settle();
  }

  bool has_name() const { return !pending_.empty(); }
  const std::string& name() const { return pending_.back(); }
  int directory() const { return current_.valid() ? current_.get() : root_; }

  // Puts the target of the link name() in its place. An errno of readlink, or what is wrong with the target.
  absl::StatusOr<int> FollowLink() {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(directory(), name().c_str(), target.data(), target.size());
    if (size < 0) return errno;
    target.resize(static_cast<size_t>(size));
    if (++links_ > kMaxLinks) return FileError(ELOOP);
    if (target.empty()) return FileError(ENOENT);
    if (target.front() == '/') return LeadsOut();
    pending_.pop_back();
    // From the end, since the next name is the last one. A slash at the end asks for a directory, as "." does.
    std::string_view rest = target;
    if (rest.back() == '/') pending_.emplace_back(".");
    while (!rest.empty()) {
      const size_t slash = rest.rfind('/');
      const std::string_view part = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
      if (!part.empty()) pending_.emplace_back(part);
      rest = slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
    }
    return 0;
  }

  // True when name() is a real name, not "." or ".."; those are steps that a link's target brings in.
  bool AtRealName() const { return has_name() && name() != "." && name() != ".."; }

  // One name further.
  absl::Status Step(bool create) {
    if (name() == ".") {
      pending_.pop_back();
      return absl::OkStatus();
    }
    if (name() == "..") {
      if (way_.empty()) return LeadsOut();
      way_.pop_back();
      stale_ = true;
      pending_.pop_back();
      return absl::OkStatus();
    }
    OSBX_RETURN_IF_ERROR(Settle());
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      OSBX_ASSIGN_OR_RETURN(int error, OpenDirectory(name()));
      if (error == 0) {
        way_.push_back(std::move(pending_.back()));
        pending_.pop_back();
        return absl::OkStatus();
      }
      if (error == ENOENT && create) {
        if (mkdirat(directory(), name().c_str(), 0777) == 0 || errno == EEXIST) continue;
        return FileError(errno);
      }
      if (error != ENOTDIR && error != ELOOP) return FileError(error);
      OSBX_ASSIGN_OR_RETURN(error, FollowLink());
      if (error == 0) return absl::OkStatus();
      // No link. What is asked for below a file is missing, unless it is the file itself, as a directory.
      if (error == EINVAL) return FileError(create || AsksForDirectory() ? ENOTDIR : ENOENT);
      if (error != ENOENT) return FileError(error);  // gone meanwhile: look again
    }
    return Refusal(409, "the path changes all the time");
  }

 private:
  // Behind name() is nothing but the "." that stands for a slash at the end.
  bool AsksForDirectory() const { return pending_.size() == 2 && pending_.front() == "."; }

  // Goes back down to the directory that the way leads to, after "..".
  absl::Status Settle() {
    if (!stale_) return absl::OkStatus();
    current_.Reset();
    for (const std::string& name : way_) {
      OSBX_ASSIGN_OR_RETURN(const int error, OpenDirectory(name));
      if (error != 0) return FileError(error == ELOOP ? ENOTDIR : error);
    }
    stale_ = false;
    return absl::OkStatus();
  }

  absl::StatusOr<int> OpenDirectory(const std::string& name) {
    if (++opens_ > kMaxOpens) return FileError(ELOOP);
    base::UniqueFd fd(openat(directory(), name.c_str(), kDirectoryFlags));
    if (!fd.valid()) return errno;
    current_ = std::move(fd);
    return 0;
  }

  const int root_;
  base::UniqueFd current_;            // invalid: the root
  std::vector<std::string> way_;      // from the root to current_: directories, no links
  bool stale_ = false;                // current_ is not yet where the way leads
  std::vector<std::string> pending_;  // the next name is the last
  int links_ = 0;
  int opens_ = 0;
};

// Opens what is neither a link nor something that opening could block on or change. ELOOP: it has become a link.
absl::StatusOr<int> OpenNoLink(int directory, const char* name, Workspace::Opened& opened) {
  opened.fd.Reset(openat(directory, name, kReadFlags));
  if (!opened.fd.valid()) return errno;
  if (fstat(opened.fd.get(), &opened.info) != 0) return errno;
  if (!S_ISREG(opened.info.st_mode) && !S_ISDIR(opened.info.st_mode)) return ENXIO;
  return 0;
}

}  // namespace

absl::StatusOr<Workspace> Workspace::Open(const std::string& path) {
  base::UniqueFd root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    const base::Code code = errno == ENOENT                     ? base::Code::kNotFound
                            : errno == EACCES || errno == EPERM ? base::Code::kPermission
                                                                : base::Code::kInvalid;
    return base::Error(code,
                       "the workspace cannot be opened: " + path + ": " + std::string(FileError(errno).message()));
  }
  return Workspace(std::move(root));
}

absl::StatusOr<Workspace::Entry> Workspace::FindEntry(const WorkspacePath& path, bool create) const {
  Walk walk(root_.get(), std::vector<std::string>(path.names.begin(), path.names.end() - 1));
  OSBX_RETURN_IF_ERROR(walk.Enter(0, create));
  Entry entry;
  entry.directory.Reset(fcntl(walk.directory(), F_DUPFD_CLOEXEC, 0));
  if (!entry.directory.valid()) return FileError(errno);
  entry.name = path.names.back();
  return entry;
}

absl::StatusOr<Workspace::Opened> Workspace::OpenForReading(const WorkspacePath& path) const {
  std::vector<std::string> names = path.names;
  if (path.wants_directory) names.emplace_back(".");
  Walk walk(root_.get(), names);
  for (int attempt = 0; attempt < kMaxAttempts + kMaxLinks; ++attempt) {
    OSBX_RETURN_IF_ERROR(walk.Enter(1, false));
    Opened opened;
    int error = 0;
    if (!walk.AtRealName()) {
      OSBX_RETURN_IF_ERROR(walk.Enter(0, false));
      OSBX_ASSIGN_OR_RETURN(error, OpenNoLink(walk.directory(), ".", opened));
      if (error != 0) return FileError(error);
      return opened;
    }
    struct stat info {};
    if (fstatat(walk.directory(), walk.name().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return FileError(errno);
    if (S_ISLNK(info.st_mode)) {
      OSBX_ASSIGN_OR_RETURN(error, walk.FollowLink());
      if (error != 0 && error != EINVAL) return FileError(error);  // EINVAL: replaced meanwhile, look again
      continue;
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return FileError(ENXIO);
    OSBX_ASSIGN_OR_RETURN(error, OpenNoLink(walk.directory(), walk.name().c_str(), opened));
    if (error == 0) return opened;
    if (error != ELOOP) return FileError(error);  // ELOOP: a link has taken its place, look again
  }
  return Refusal(409, "the path changes all the time");
}

}  // namespace osbx::contract
