// The files that uploads are written to before they take their names: what they are called, and what becomes of those
// that a killed server left behind.
//
// A temporary file is locked (flock) as long as its upload lives. Whoever removes a leftover holds its lock while it
// does so, and an upload checks, once it has the lock, that its file still has a name: so none is taken from under a
// live upload. The age is for file systems that two servers share but whose locks they do not.
#ifndef OSBX_CONTRACT_TEMPORARY_FILE_H_
#define OSBX_CONTRACT_TEMPORARY_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"

namespace osbx::contract {

// ".sandbox-put-" and 32 hex digits.
bool IsTemporaryName(std::string_view name);

struct TemporaryFile {
  base::UniqueFd fd;
  std::string name;
};
// `mode` is that of open(2), so that the umask counts.
absl::StatusOr<TemporaryFile> CreateTemporaryFile(int directory, mode_t mode);

// Removes the file, if no upload holds it and nothing was written to it for some minutes.
void RemoveLeftover(int directory, const std::string& name);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_TEMPORARY_FILE_H_
