// The caller's callbacks, as the functions that the layers below call.
#ifndef OSBX_CAPI_CALLBACKS_H_
#define OSBX_CAPI_CALLBACKS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/log.h"
#include "capi/guard.h"
#include "core/command.h"
#include "osbx.h"

namespace osbx::capi {

// Shared ownership of a user_data: `destroy` runs once, when the last owner goes, and also when there is no memory for
// the owner itself (the constructor of shared_ptr promises it). A null user_data is handed over like any other.
inline std::shared_ptr<void> OwnUserData(void* user_data, osbx_destroy_callback destroy) {
  return std::shared_ptr<void>(user_data, [destroy](void* data) {
    if (destroy != nullptr) destroy(data);
  });
}

// Hands a callback's user data to a builder: `set` gets the builder and the owner. `destroy` runs also when there is no
// builder, or when `set` does not keep the owner.
template <typename Builder, typename Set>
void SetCallback(Builder* builder, void* user_data, osbx_destroy_callback destroy, Set&& set) {
  if (builder == nullptr) {
    if (destroy != nullptr) destroy(user_data);
    return;
  }
  GuardSetter(builder, [&](Builder& handle) { set(handle, OwnUserData(user_data, destroy)); });
}

// Each function keeps its user data by a copy of its own while the callback runs: the callback may free the handle that
// owns the function.
inline core::ReadFunction ReaderOf(osbx_read_callback reader, std::shared_ptr<void> owner) {
  return [reader, owner = std::move(owner)](uint8_t* buffer, size_t capacity) -> int64_t {
    const std::shared_ptr<void> in_use = owner;
    return reader(in_use.get(), buffer, capacity);
  };
}

inline core::WriteFunction WriterOf(osbx_write_callback writer, std::shared_ptr<void> owner) {
  return [writer, owner = std::move(owner)](uint32_t stream, const uint8_t* data, size_t size) {
    const std::shared_ptr<void> in_use = owner;
    return writer(in_use.get(), stream, data, size) == 0;
  };
}

// Lines above `level` and lines that there is no memory for are dropped.
base::LogFunction LogFunctionOf(base::LogLevel level, osbx_log_callback callback, std::shared_ptr<void> owner);

// A builder's log setter: `set` gets the builder, the level and the function.
template <typename Builder, typename Set>
void SetLogCallback(Builder* builder, uint32_t level, osbx_log_callback callback, void* user_data,
                    osbx_destroy_callback destroy, Set&& set) {
  SetCallback(builder, user_data, destroy, [&](Builder& handle, std::shared_ptr<void> owner) {
    if (callback == nullptr) return handle.Fail(NullArgument("log callback"));
    if (level < OSBX_LOG_ERROR || level > OSBX_LOG_DEBUG) {
      return handle.Fail(base::Error(base::Code::kInvalid, "log level: must be 1 (error) to 4 (debug)"));
    }
    const auto known = static_cast<base::LogLevel>(level);
    set(handle, known, LogFunctionOf(known, callback, std::move(owner)));
  });
}

}  // namespace osbx::capi

#endif  // OSBX_CAPI_CALLBACKS_H_
