// How a command ended.
#ifndef OSBX_CORE_RESULT_H_
#define OSBX_CORE_RESULT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/byte_buffer.h"

namespace osbx::core {

enum StreamId : uint32_t { kStdout = 1, kStderr = 2 };

// The numbers equal `osbx_end_reason` in osbx.h.
enum class EndReason : uint32_t {
  kExited = 1,
  kSignalled = 2,
  kTimedOut = 3,
  kCancelled = 4,
  kOutOfMemory = 5,
  kSandboxGone = 6,
  kCallbackAborted = 7,
  kOutcomeUnknown = 8,
};

// The end itself, as who drives the command knows it.
struct JobEnd {
  EndReason reason = EndReason::kOutcomeUnknown;
  int32_t exit_code = -1;      // -1 unless exited, or signalled (128 + n)
  int32_t signal = 0;          // n when signalled, else 0
  absl::Status not_started{};  // not ok: nothing ran, for this reason, and the rest means nothing
  bool unstartable = false;  // the exit code is the engine's word that the program cannot be started, not the program's
};

// The end with the output that was collected.
struct Result {
  JobEnd end;
  base::ByteBuffer out;
  base::ByteBuffer err;
  bool out_truncated = false;
  bool err_truncated = false;
};

}  // namespace osbx::core

#endif  // OSBX_CORE_RESULT_H_
