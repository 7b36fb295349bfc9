// Section 8 of osbx.h: files in and out.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "capi/callbacks.h"
#include "capi/guard.h"
#include "capi/handles.h"

namespace osbx::capi {
namespace {

absl::Status CheckTarget(const osbx_sandbox* sandbox, const char* path, uint32_t flags) {
  if (sandbox == nullptr) return NullArgument("sandbox");
  if (path == nullptr) return NullArgument("path");
  OSBX_RETURN_IF_ERROR(core::ValidateFilePath(path));
  return CheckFlags(flags);
}

absl::Status CallbackGaveUp(const char* which) {
  return base::Error(base::Code::kCallback, std::string("the ") + which + " callback ended the call");
}

// `source` is the reader of either form; what it returns out of bounds counts as giving up.
absl::Status Put(const osbx_sandbox& sandbox, const char* path, uint32_t mode, std::optional<uint64_t> size,
                 const core::ReadFunction& source, const osbx_cancel* cancel) {
  if (mode > 0777) return base::Error(base::Code::kInvalid, "mode: must be 0001 to 0777, or 0");
  const std::shared_ptr<core::Sandbox> in_use = sandbox.sandbox;
  const base::Context context = ContextOf(cancel);
  OSBX_RETURN_IF_ERROR(context.Check());
  bool gave_up = false;
  const core::ReadFunction checked = [&](uint8_t* buffer, size_t capacity) -> int64_t {
    const int64_t count = source(buffer, capacity);
    gave_up = count < 0 || static_cast<uint64_t>(count) > capacity;
    return gave_up ? -1 : count;
  };
  const absl::Status status = in_use->guest().PutFile(path, mode, size, checked, context);
  return gave_up ? CallbackGaveUp("reader") : status;
}

absl::Status Get(const osbx_sandbox& sandbox, const char* path, const core::WriteFunction& sink,
                 const osbx_cancel* cancel) {
  const std::shared_ptr<core::Sandbox> in_use = sandbox.sandbox;
  const base::Context context = ContextOf(cancel);
  OSBX_RETURN_IF_ERROR(context.Check());
  return in_use->guest().GetFile(path, sink, context);
}

}  // namespace
}  // namespace osbx::capi

using osbx::capi::CheckTarget;
using osbx::capi::Guard;
using osbx::capi::NullArgument;

extern "C" {

osbx_status osbx_file_put(osbx_sandbox* sandbox, const char* path, uint32_t mode, const uint8_t* data, size_t size,
                          uint32_t flags, osbx_cancel* cancel, osbx_error** err) {
  return Guard(err, [&]() -> absl::Status {
    OSBX_RETURN_IF_ERROR(CheckTarget(sandbox, path, flags));
    if (data == nullptr && size != 0) return NullArgument("data");
    size_t position = 0;
    const osbx::core::ReadFunction source = [&](uint8_t* buffer, size_t capacity) {
      const size_t count = std::min(capacity, size - position);
      if (count != 0) std::memcpy(buffer, data + position, count);
      position += count;
      return static_cast<int64_t>(count);
    };
    return osbx::capi::Put(*sandbox, path, mode, size, source, cancel);
  });
}

osbx_status osbx_file_put_stream(osbx_sandbox* sandbox, const char* path, uint32_t mode, osbx_read_callback reader,
                                 void* user_data, osbx_destroy_callback destroy, uint32_t flags, osbx_cancel* cancel,
                                 osbx_error** err) {
  return Guard(err, [&]() -> absl::Status {
    const osbx::core::ReadFunction source = osbx::capi::ReaderOf(reader, osbx::capi::OwnUserData(user_data, destroy));
    OSBX_RETURN_IF_ERROR(CheckTarget(sandbox, path, flags));
    if (reader == nullptr) return NullArgument("reader");
    return osbx::capi::Put(*sandbox, path, mode, /*size=*/std::nullopt, source, cancel);
  });
}

osbx_status osbx_file_get(osbx_sandbox* sandbox, const char* path, size_t max, uint32_t flags, osbx_cancel* cancel,
                          osbx_buffer** out, osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_buffer>> {
    OSBX_RETURN_IF_ERROR(CheckTarget(sandbox, path, flags));
    auto buffer = std::make_unique<osbx_buffer>();
    bool too_large = false;
    bool out_of_memory = false;
    const osbx::core::WriteFunction sink = [&](uint32_t, const uint8_t* data, size_t size) {
      too_large = size > max - buffer->bytes.size();
      if (too_large) return false;
      try {
        buffer->bytes.Append(data, size);
      } catch (const std::bad_alloc&) {
        // Not through the layers below, which are in the middle of a transfer.
        out_of_memory = true;
      }
      return !out_of_memory;
    };
    const absl::Status status = osbx::capi::Get(*sandbox, path, sink, cancel);
    if (out_of_memory) throw std::bad_alloc();
    if (too_large) {
      return osbx::base::Error(osbx::base::Code::kTooLarge,
                               "the file is larger than the maximum of " + std::to_string(max) + " bytes");
    }
    OSBX_RETURN_IF_ERROR(status);
    return buffer;
  });
}

osbx_status osbx_file_get_stream(osbx_sandbox* sandbox, const char* path, osbx_write_callback writer, void* user_data,
                                 osbx_destroy_callback destroy, uint32_t flags, osbx_cancel* cancel, osbx_error** err) {
  return Guard(err, [&]() -> absl::Status {
    const osbx::core::WriteFunction sink = osbx::capi::WriterOf(writer, osbx::capi::OwnUserData(user_data, destroy));
    OSBX_RETURN_IF_ERROR(CheckTarget(sandbox, path, flags));
    if (writer == nullptr) return NullArgument("writer");
    bool gave_up = false;
    const osbx::core::WriteFunction checked = [&](uint32_t stream, const uint8_t* data, size_t size) {
      gave_up = !sink(stream, data, size);
      return !gave_up;
    };
    const absl::Status status = osbx::capi::Get(*sandbox, path, checked, cancel);
    return gave_up ? osbx::capi::CallbackGaveUp("writer") : status;
  });
}

const uint8_t* osbx_buffer_data(const osbx_buffer* buffer, size_t* size) {
  if (size != nullptr) *size = buffer != nullptr ? buffer->bytes.size() : 0;
  return buffer != nullptr ? buffer->bytes.data() : reinterpret_cast<const uint8_t*>("");
}

void osbx_buffer_free(osbx_buffer* buffer) { delete buffer; }

}  // extern "C"
