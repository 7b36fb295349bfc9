// A command to run: argv and what surrounds it. Never a shell line.
#ifndef OSBX_CORE_COMMAND_H_
#define OSBX_CORE_COMMAND_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace osbx::core {

// Fills at most `capacity` bytes: > 0 that many, 0 the end, < 0 give up.
using ReadFunction = std::function<int64_t(uint8_t* buffer, size_t capacity)>;
// Takes bytes of a stream (StreamId); false gives up.
using WriteFunction = std::function<bool(uint32_t stream, const uint8_t* data, size_t size)>;

constexpr size_t kDefaultOutputLimit = size_t{16} << 20;

struct Command {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;  // merged over the sandbox's; a later key wins
  std::string directory;                                 // absolute; empty: /workspace
  std::optional<std::chrono::milliseconds> timeout;      // absent: the sandbox's default; clamped to its ceiling
  std::string stdin_bytes;                               // used when there is no reader
  ReadFunction stdin_reader;
  WriteFunction output;                       // absent: buffered into the result
  size_t output_limit = kDefaultOutputLimit;  // per stream, buffered form only

  bool has_stdin() const { return stdin_reader != nullptr || !stdin_bytes.empty(); }
};

// argv, environment and directory together, each string with its NUL.
constexpr size_t kMaxCommandBytes = size_t{1} << 20;

// kInvalid: no argv, an empty argv[0], NUL or invalid UTF-8 in any string, an empty key or one with '=', a directory
// that is not absolute or longer than 4,095 bytes, a timeout that is not positive, or more than `kMaxCommandBytes` of
// it all.
absl::Status ValidateCommand(const Command& command);

// The same checks property by property, for a builder.
absl::Status ValidateEnvironment(std::string_view key, std::string_view value);
absl::Status ValidateDirectory(std::string_view path);
absl::Status ValidateTimeout(std::chrono::milliseconds timeout);

}  // namespace osbx::core

#endif  // OSBX_CORE_COMMAND_H_
