// An owned directory stream.
#ifndef OSBX_CONTRACT_DIRECTORY_STREAM_H_
#define OSBX_CONTRACT_DIRECTORY_STREAM_H_

#include <dirent.h>
#include <errno.h>

#include <memory>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "contract/error_answer.h"

namespace osbx::contract {

class DirectoryStream {
 public:
  static absl::StatusOr<DirectoryStream> Open(base::UniqueFd directory) {
    DIR* const stream = fdopendir(directory.get());
    if (stream == nullptr) return FileError(errno);
    directory.Release();
    return DirectoryStream(stream);
  }

  int fd() const { return dirfd(stream_.get()); }
  void Rewind() { rewinddir(stream_.get()); }

  // The next entry but "." and "..", valid until the next call; nullptr at the end.
  absl::StatusOr<const dirent*> Next() {
    for (;;) {
      errno = 0;
      const dirent* const entry = readdir(stream_.get());
      if (entry == nullptr && errno != 0 && errno != ENOENT) return FileError(errno);  // ENOENT: it has been removed
      if (entry == nullptr) return entry;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry;
    }
  }

 private:
  struct Close {
    void operator()(DIR* stream) const { closedir(stream); }
  };
  explicit DirectoryStream(DIR* stream) : stream_(stream) {}

  std::unique_ptr<DIR, Close> stream_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_DIRECTORY_STREAM_H_
