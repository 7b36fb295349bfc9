// The body of POST /execute.
#ifndef OSBX_CONTRACT_EXECUTE_REQUEST_H_
#define OSBX_CONTRACT_EXECUTE_REQUEST_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::contract {

constexpr size_t kMaxExecuteBodyBytes = size_t{16} << 20;

struct ExecuteRequest {
  std::string command;  // not empty, no NUL
  // Nothing: until it ends by itself.
  std::optional<std::chrono::milliseconds> timeout = std::chrono::seconds(60);
};

// kInvalid with a message for the client. Unknown fields are ignored.
absl::StatusOr<ExecuteRequest> ParseExecuteRequest(std::string_view body);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_EXECUTE_REQUEST_H_
