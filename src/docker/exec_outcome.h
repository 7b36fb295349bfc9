// What an engine's answer about a finished exec means.
#ifndef OSBX_DOCKER_EXEC_OUTCOME_H_
#define OSBX_DOCKER_EXEC_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace osbx::docker {

// Engines tell that a program could not be started as text inside its own output. This holds such text back, so that it
// is never taken for the program's, until the exit code tells which it was.
class StartFailureFilter {
 public:
  using Sink = std::function<void(uint32_t stream, std::string_view bytes)>;

  // Passes on what is certainly the program's.
  void Feed(uint32_t stream, std::string_view bytes, const Sink& sink);

  // At the end: 127 (not found) or 126 (not executable) when what was held back explains `exit_code`; its text is then
  // dropped. Else passes on what was held back.
  std::optional<int32_t> Conclude(int64_t exit_code, const Sink& sink);

  // After Conclude() gave a code: whether the reason was that the sandbox is at its process limit.
  bool at_capacity() const;

  // The same: that the sandbox has ended, though the engine did not know it yet.
  bool not_running() const;

  // The same: that the runtime itself failed, which says nothing about the program.
  bool runtime_failed() const;

  // The runtime's text, after Conclude() gave a code.
  const std::string& text() const { return held_; }

 private:
  static constexpr size_t kMostHeld = 8192;
  bool decided_ = false;  // the output is the program's
  uint32_t stream_ = 0;
  std::string held_;
};

// A plain exec's exit code: 0-128 exited, 129-192 signalled by code - 128 (a program may say so itself), else exited.
core::JobEnd EndFromExitCode(int64_t exit_code);

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_EXEC_OUTCOME_H_
