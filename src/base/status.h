// Error codes of the library, carried by absl::Status.
//
// absl's canonical codes are fewer than ours, so the exact code and the engine's HTTP status travel as a payload. The
// numbers equal `osbx_status_code` in osbx.h (capi asserts it at compile time) and are append-only.
#ifndef OSBX_BASE_STATUS_H_
#define OSBX_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace osbx::base {

enum class Code : int32_t {
  kOk = 0,
  kInternal = -1,
  kNoMemory = -2,
  kInvalid = -3,
  kNotFound = -4,
  kTimeout = -5,
  kCanceled = -6,
  kRuntimeUnavailable = -7,
  kImageUnavailable = -8,
  kConflict = -9,
  kPermission = -10,
  kUnsupported = -11,
  kTooLarge = -12,
  kBackend = -13,
  kCallback = -14,
  kAtCapacity = -15,
  kNoSpace = -16,
  kUnreachable = -17,
  kNotRunning = -18,
};

// A failed status. `message` is made one printable line: control characters and invalid UTF-8, which may come from an
// engine or a guest, are replaced, and it is cut at 1,024 bytes. `http_status` is the engine's answer, 0 if none.
absl::Status Error(Code code, std::string_view message, int http_status = 0);

// kOk for an OK status. A status that was not made by Error() (absl's own) maps from its canonical code.
Code CodeOf(const absl::Status& status);
int HttpStatusOf(const absl::Status& status);

// The same error with `context` and ": " in front of its message.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// "OSBX_E_NOT_FOUND" and so on; "OSBX_E_UNKNOWN" for a number that is no code.
const char* CodeName(int32_t code);

}  // namespace osbx::base

#define OSBX_RETURN_IF_ERROR(expr)               \
  do {                                           \
    absl::Status osbx_status_ = (expr);          \
    if (!osbx_status_.ok()) return osbx_status_; \
  } while (false)

#define OSBX_CONCAT_INNER_(a, b) a##b
#define OSBX_CONCAT_(a, b) OSBX_CONCAT_INNER_(a, b)
#define OSBX_ASSIGN_OR_RETURN(lhs, expr) OSBX_ASSIGN_OR_RETURN_IMPL_(OSBX_CONCAT_(osbx_or_, __LINE__), lhs, expr)
#define OSBX_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                                \
  if (!tmp.ok()) return tmp.status();               \
  lhs = *std::move(tmp)

#endif  // OSBX_BASE_STATUS_H_
