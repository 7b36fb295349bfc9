// What can be done in a sandbox. How it is reached (engine exec, or a channel to an agent) is the implementation's.
#ifndef OSBX_CORE_GUEST_OPERATIONS_H_
#define OSBX_CORE_GUEST_OPERATIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "core/command.h"
#include "core/job.h"

namespace osbx::core {

class GuestOperations {
 public:
  virtual ~GuestOperations() = default;

  // Starts `command`; its token and deadline end the command's whole tree. An error means that nothing ran.
  virtual absl::StatusOr<std::shared_ptr<Job>> StartExec(const Command& command, const base::Context& context) = 0;

  // Replaces `path` by what `source` gives, whole or not at all. Mode 0 keeps the old file's, else 0644. `size`, where
  // it is known beforehand, is what `source` will give in all.
  virtual absl::Status PutFile(const std::string& path, uint32_t mode, std::optional<uint64_t> size,
                               const ReadFunction& source, const base::Context& context) = 0;

  // Passes the file's bytes to `sink` (stream kStdout); returns OK only when every byte was passed.
  virtual absl::Status GetFile(const std::string& path, const WriteFunction& sink, const base::Context& context) = 0;
};

// Absolute, UTF-8, no NUL, at most 4,095 bytes, and something that can name a file: not "/", no trailing slash, no "."
// or ".." as the last component. kInvalid otherwise.
absl::Status ValidateFilePath(std::string_view path);
constexpr size_t kMaxPathBytes = 4095;

}  // namespace osbx::core

#endif  // OSBX_CORE_GUEST_OPERATIONS_H_
