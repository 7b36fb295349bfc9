// What a command came to, and the JSON of it.
#ifndef OSBX_CONTRACT_EXECUTION_RESULT_H_
#define OSBX_CONTRACT_EXECUTION_RESULT_H_

#include <chrono>
#include <string>

#include "base/status.h"

namespace osbx::contract {

constexpr int kTimeoutExitCode = 124;

struct ExecutionResult {
  int exit_code = 0;
  std::string stdout_text;  // valid UTF-8
  std::string stderr_text;
  std::chrono::milliseconds duration{0};
  bool truncated = false;
  // Not OK: its processes could not all be killed (the result stands), or, kInternal, its exit code is not known (then
  // this is no result to send).
  absl::Status problem;
  bool exit_known = true;
};

// The body of the answer.
std::string ToJson(const ExecutionResult& result);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_EXECUTION_RESULT_H_
