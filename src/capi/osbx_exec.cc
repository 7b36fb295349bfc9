// Section 7 of osbx.h: commands and their results.
#include <cstring>
#include <string>
#include <string_view>

#include "capi/callbacks.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "core/run_job.h"

namespace osbx::capi {
namespace {

// Copies argv, and no more of it than a command may have.
void SetArgv(osbx_command& handle, const char* const* argv, size_t argc) {
  if (argv == nullptr) return handle.Fail(NullArgument("argv"));
  if (argc == 0) return handle.Fail(base::Error(base::Code::kInvalid, "argv: must have at least one element"));
  size_t bytes = 0;
  for (size_t i = 0; i < argc; ++i) {
    if (argv[i] == nullptr) return handle.Fail(NullArgument("an element of argv"));
    const std::string_view argument = argv[i];
    if (argument.size() >= core::kMaxCommandBytes - bytes) {
      return handle.Fail(base::Error(base::Code::kInvalid, "argv: must be at most 1 MiB together"));
    }
    bytes += argument.size() + 1;
    handle.command.argv.emplace_back(argument);
  }
}

const base::ByteBuffer* StreamOf(const osbx_result* result, uint32_t stream) {
  if (result == nullptr) return nullptr;
  if (stream == OSBX_STDOUT) return &result->result.out;
  return stream == OSBX_STDERR ? &result->result.err : nullptr;
}

}  // namespace
}  // namespace osbx::capi

using osbx::capi::Guard;
using osbx::capi::GuardSetter;
using osbx::capi::NullArgument;

extern "C" {

osbx_command* osbx_command_new(const char* const* argv, size_t argc) {
  osbx_command* const command = osbx::capi::GuardNew<osbx_command>();
  GuardSetter(command, [&](osbx_command& handle) { osbx::capi::SetArgv(handle, argv, argc); });
  if (command == nullptr || !command->out_of_memory) return command;
  osbx_command_free(command);
  return nullptr;
}

void osbx_command_add_env(osbx_command* command, const char* key, const char* value) {
  GuardSetter(command, [&](osbx_command& handle) {
    if (key == nullptr || value == nullptr) return handle.Fail(NullArgument("environment: key or value"));
    if (absl::Status status = osbx::core::ValidateEnvironment(key, value); !status.ok()) return handle.Fail(status);
    handle.command.env.emplace_back(key, value);
  });
}

void osbx_command_set_directory(osbx_command* command, const char* path) {
  GuardSetter(command, [&](osbx_command& handle) {
    if (path == nullptr) return handle.Fail(NullArgument("directory"));
    if (absl::Status status = osbx::core::ValidateDirectory(path); !status.ok()) return handle.Fail(status);
    handle.command.directory = path;
  });
}

void osbx_command_set_timeout_ms(osbx_command* command, int64_t ms) {
  GuardSetter(command, [&](osbx_command& handle) {
    const std::chrono::milliseconds timeout(ms);
    if (absl::Status status = osbx::core::ValidateTimeout(timeout); !status.ok()) return handle.Fail(status);
    handle.command.timeout = timeout;
  });
}

void osbx_command_set_stdin_bytes(osbx_command* command, const uint8_t* data, size_t size) {
  GuardSetter(command, [&](osbx_command& handle) {
    if (data == nullptr && size != 0) return handle.Fail(NullArgument("standard input"));
    handle.command.stdin_bytes.assign(reinterpret_cast<const char*>(data), size);
    handle.command.stdin_reader = nullptr;
  });
}

void osbx_command_set_stdin_reader(osbx_command* command, osbx_read_callback reader, void* user_data,
                                   osbx_destroy_callback destroy) {
  osbx::capi::SetCallback(command, user_data, destroy, [&](osbx_command& handle, std::shared_ptr<void> owner) {
    if (reader == nullptr) return handle.Fail(NullArgument("reader"));
    handle.command.stdin_reader = osbx::capi::ReaderOf(reader, std::move(owner));
    handle.command.stdin_bytes.clear();
  });
}

void osbx_command_set_output(osbx_command* command, osbx_write_callback writer, void* user_data,
                             osbx_destroy_callback destroy) {
  osbx::capi::SetCallback(command, user_data, destroy, [&](osbx_command& handle, std::shared_ptr<void> owner) {
    if (writer == nullptr) return handle.Fail(NullArgument("writer"));
    handle.command.output = osbx::capi::WriterOf(writer, std::move(owner));
  });
}

void osbx_command_set_output_limit(osbx_command* command, size_t bytes) {
  if (command != nullptr) command->command.output_limit = bytes;
}

void osbx_command_free(osbx_command* command) { delete command; }

osbx_status osbx_exec(osbx_sandbox* sandbox, const osbx_command* command, osbx_cancel* cancel, osbx_result** out,
                      osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_result>> {
    if (sandbox == nullptr) return NullArgument("sandbox");
    if (command == nullptr) return NullArgument("command");
    OSBX_RETURN_IF_ERROR(command->Check());
    OSBX_RETURN_IF_ERROR(osbx::core::ValidateCommand(command->command));
    const std::shared_ptr<osbx::core::Sandbox> in_use = sandbox->sandbox;
    const osbx::base::Context context = osbx::capi::ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    // Made before the command may start: afterwards nothing may turn its end into an error.
    auto result = std::make_unique<osbx_result>();
    const auto start = [&] { return in_use->guest().StartExec(command->command, context); };
    OSBX_ASSIGN_OR_RETURN(result->result, osbx::core::StartAndRun(start, command->command, context));
    OSBX_RETURN_IF_ERROR(result->result.end.not_started);
    return result;
  });
}

uint32_t osbx_result_reason(const osbx_result* result) {
  return result != nullptr ? static_cast<uint32_t>(result->result.end.reason) : 0;
}

int32_t osbx_result_exit_code(const osbx_result* result) {
  return result != nullptr ? result->result.end.exit_code : -1;
}

int32_t osbx_result_signal(const osbx_result* result) { return result != nullptr ? result->result.end.signal : 0; }

const uint8_t* osbx_result_output(const osbx_result* result, uint32_t stream, size_t* size) {
  const osbx::base::ByteBuffer* const bytes = osbx::capi::StreamOf(result, stream);
  if (size != nullptr) *size = bytes != nullptr ? bytes->size() : 0;
  return bytes != nullptr ? bytes->data() : reinterpret_cast<const uint8_t*>("");
}

int32_t osbx_result_truncated(const osbx_result* result, uint32_t stream) {
  if (osbx::capi::StreamOf(result, stream) == nullptr) return 0;
  return (stream == OSBX_STDOUT ? result->result.out_truncated : result->result.err_truncated) ? 1 : 0;
}

void osbx_result_free(osbx_result* result) { delete result; }

}  // extern "C"
