#include "transport/certificate_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "transport/curl_error.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr off_t kMaxSize = 1 << 20;

absl::Status CannotRead(const std::string& path, const std::string& reason) {
  return Error(Code::kUnreachable, "cannot read " + path + " for the connection to the Docker daemon: " + reason);
}

}  // namespace

absl::StatusOr<std::string> ReadCertificateFile(const std::string& path) {
  // O_NONBLOCK, so that a FIFO in its place holds nobody up.
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return CannotRead(path, ErrnoText(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return CannotRead(path, ErrnoText(errno));
  if (!S_ISREG(info.st_mode)) return CannotRead(path, "it is not a regular file");
  if (info.st_size > kMaxSize) return CannotRead(path, "it is too large");
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = read(file.get(), content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(path, ErrnoText(errno));
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  content.resize(size);
  return content;
}

}  // namespace osbx::transport
