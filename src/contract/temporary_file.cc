#include "contract/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

constexpr std::string_view kPrefix = ".sandbox-put-";
constexpr size_t kRandomBytes = 16;
constexpr int kMaxAttempts = 8;
constexpr time_t kLeftoverSeconds = 300;  // an upload that stalls is ended before that

// False when somebody who removes leftovers was faster.
bool Lock(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // where there are no locks, age has to do
  struct stat info {};
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

}  // namespace

bool IsTemporaryName(std::string_view name) {
  if (name.size() != kPrefix.size() + 2 * kRandomBytes || name.substr(0, kPrefix.size()) != kPrefix) return false;
  name.remove_prefix(kPrefix.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

absl::StatusOr<TemporaryFile> CreateTemporaryFile(int directory, mode_t mode) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    TemporaryFile file;
    file.name = std::string(kPrefix) + base::RandomHex(kRandomBytes);
    file.fd.Reset(
        openat(directory, file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode));
    if (!file.fd.valid()) {
      if (errno == EEXIST || errno == EINTR) continue;
      return FileError(errno);
    }
    if (Lock(file.fd.get())) return file;
    unlinkat(directory, file.name.c_str(), 0);
  }
  return Refusal(503, "no temporary file can be made at the moment");
}

void RemoveLeftover(int directory, const std::string& name) {
  struct stat info {};
  const auto old = [&info] { return S_ISREG(info.st_mode) && time(nullptr) - info.st_mtime > kLeftoverSeconds; };
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !old()) return;
  const base::UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (fstat(fd.get(), &info) != 0 || !old()) return;
  unlinkat(directory, name.c_str(), 0);
}

}  // namespace osbx::contract
