// The one exception barrier of the C ABI, and the one place where a status becomes an osbx_error.
#ifndef OSBX_CAPI_GUARD_H_
#define OSBX_CAPI_GUARD_H_

#include <cxxabi.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/status.h"
#include "osbx.h"

namespace osbx::capi {

// Store an error in *err, when err is not null, and return its code. What cannot be allocated becomes the static
// out-of-memory error.
osbx_status Report(const absl::Status& status, osbx_error** err);
osbx_status ReportNoMemory(osbx_error** err) noexcept;
osbx_status ReportException(const char* what, osbx_error** err) noexcept;

// kInvalid: the argument called `name` is null.
absl::Status NullArgument(const char* name);
// kInvalid when any bit is set: this version knows none.
absl::Status CheckFlags(uint32_t flags);

// Runs `body`, which returns absl::Status. No exception passes but the forced unwinding of a cancelled thread, which is
// none and must not be stopped.
template <typename Body>
osbx_status Guard(osbx_error** err, Body&& body) {
  if (err != nullptr) *err = nullptr;
  try {
    return Report(body(), err);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return ReportNoMemory(err);
  } catch (const std::exception& e) {
    return ReportException(e.what(), err);
  } catch (...) {
    return ReportException("an unknown exception", err);
  }
}

// The same for a call that makes a handle: `body` returns absl::StatusOr<std::unique_ptr<Handle>>.
template <typename Handle, typename Body>
osbx_status Guard(Handle** out, osbx_error** err, Body&& body) {
  if (out != nullptr) *out = nullptr;
  return Guard(err, [&]() -> absl::Status {
    if (out == nullptr) return NullArgument("out");
    OSBX_ASSIGN_OR_RETURN(std::unique_ptr<Handle> made, body());
    *out = made.release();
    return absl::OkStatus();
  });
}

// For constructors without an error: null when out of memory.
template <typename Handle>
Handle* GuardNew() {
  try {
    return new Handle();
  } catch (const std::exception&) {
    return nullptr;
  }
}

// For setters of builders. What cannot be kept for want of memory is reported by the call that uses the builder.
template <typename Builder, typename Body>
void GuardSetter(Builder* builder, Body&& body) {
  if (builder == nullptr) return;
  try {
    body(*builder);
  } catch (const std::exception&) {
    builder->out_of_memory = true;
  }
}

}  // namespace osbx::capi

#endif  // OSBX_CAPI_GUARD_H_
