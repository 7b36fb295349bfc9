// Section 1 of osbx.h: the numbers there and inside the library are the same, checked at compile time.
#include <type_traits>

#include "base/log.h"
#include "base/status.h"
#include "core/result.h"
#include "core/sandbox.h"
#include "core/spec.h"
#include "osbx.h"

namespace osbx::capi {
namespace {

template <typename Ours>
constexpr bool Same(Ours ours, int theirs) {
  return static_cast<std::underlying_type_t<Ours>>(ours) == static_cast<std::underlying_type_t<Ours>>(theirs);
}

using base::Code;
static_assert(Same(Code::kOk, OSBX_OK));
static_assert(Same(Code::kInternal, OSBX_E_INTERNAL));
static_assert(Same(Code::kNoMemory, OSBX_E_NO_MEMORY));
static_assert(Same(Code::kInvalid, OSBX_E_INVALID));
static_assert(Same(Code::kNotFound, OSBX_E_NOT_FOUND));
static_assert(Same(Code::kTimeout, OSBX_E_TIMEOUT));
static_assert(Same(Code::kCanceled, OSBX_E_CANCELED));
static_assert(Same(Code::kRuntimeUnavailable, OSBX_E_RUNTIME_UNAVAILABLE));
static_assert(Same(Code::kImageUnavailable, OSBX_E_IMAGE_UNAVAILABLE));
static_assert(Same(Code::kConflict, OSBX_E_CONFLICT));
static_assert(Same(Code::kPermission, OSBX_E_PERMISSION));
static_assert(Same(Code::kUnsupported, OSBX_E_UNSUPPORTED));
static_assert(Same(Code::kTooLarge, OSBX_E_TOO_LARGE));
static_assert(Same(Code::kBackend, OSBX_E_BACKEND));
static_assert(Same(Code::kCallback, OSBX_E_CALLBACK));
static_assert(Same(Code::kAtCapacity, OSBX_E_AT_CAPACITY));
static_assert(Same(Code::kNoSpace, OSBX_E_NO_SPACE));
static_assert(Same(Code::kUnreachable, OSBX_E_UNREACHABLE));
static_assert(Same(Code::kNotRunning, OSBX_E_NOT_RUNNING));

static_assert(Same(core::kStdout, OSBX_STDOUT));
static_assert(Same(core::kStderr, OSBX_STDERR));

static_assert(Same(core::State::kRunning, OSBX_STATE_RUNNING));
static_assert(Same(core::State::kStopped, OSBX_STATE_STOPPED));
static_assert(Same(core::State::kError, OSBX_STATE_ERROR));

static_assert(Same(core::Egress::kNone, OSBX_EGRESS_NONE));
static_assert(Same(core::Egress::kUnrestricted, OSBX_EGRESS_UNRESTRICTED));

using core::EndReason;
static_assert(Same(EndReason::kExited, OSBX_END_EXITED));
static_assert(Same(EndReason::kSignalled, OSBX_END_SIGNALLED));
static_assert(Same(EndReason::kTimedOut, OSBX_END_TIMED_OUT));
static_assert(Same(EndReason::kCancelled, OSBX_END_CANCELLED));
static_assert(Same(EndReason::kOutOfMemory, OSBX_END_OUT_OF_MEMORY));
static_assert(Same(EndReason::kSandboxGone, OSBX_END_SANDBOX_GONE));
static_assert(Same(EndReason::kCallbackAborted, OSBX_END_CALLBACK_ABORTED));
static_assert(Same(EndReason::kOutcomeUnknown, OSBX_END_OUTCOME_UNKNOWN));

static_assert(Same(base::LogLevel::kError, OSBX_LOG_ERROR));
static_assert(Same(base::LogLevel::kWarning, OSBX_LOG_WARNING));
static_assert(Same(base::LogLevel::kInfo, OSBX_LOG_INFO));
static_assert(Same(base::LogLevel::kDebug, OSBX_LOG_DEBUG));

}  // namespace
}  // namespace osbx::capi
