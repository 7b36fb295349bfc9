// Section 4 of osbx.h: configuration and backend.
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "capi/callbacks.h"
#include "capi/guard.h"
#include "capi/handles.h"

namespace osbx::capi {
namespace {

constexpr size_t kMaxLogBytes = 4096;

// "1.41" or a newer version of the engine API.
bool IsKnownApiVersion(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const std::optional<int64_t> major = base::ParseDecimal(text.substr(0, dot), 1, 9999);
  const std::optional<int64_t> minor = base::ParseDecimal(text.substr(dot + 1), 0, 9999);
  return major.has_value() && minor.has_value() && (*major > 1 || *minor >= 41);
}

// Checks what can be told of a value by itself; how it goes with the environment is known when the backend is made.
void SetText(osbx_config* config, const char* name, const char* value, std::optional<std::string>& field) {
  GuardSetter(config, [&](osbx_config& builder) {
    if (value == nullptr) return builder.Fail(NullArgument(name));
    const std::string_view text = value;
    if (&field == &builder.docker.api_version && !IsKnownApiVersion(text)) {
      return builder.Fail(base::Error(base::Code::kInvalid, std::string(name) + ": must be 1.41 or newer"));
    }
    if (text.empty() || !base::IsValidUtf8(text) || base::HasControlCharacter(text)) {
      return builder.Fail(base::Error(base::Code::kInvalid,
                                      std::string(name) + ": must be UTF-8 without control characters, and not empty"));
    }
    field = std::string(text);
  });
}

}  // namespace

base::LogFunction LogFunctionOf(base::LogLevel level, osbx_log_callback callback, std::shared_ptr<void> owner) {
  return [level, callback, owner = std::move(owner)](base::LogLevel line_level, std::string_view message) {
    if (line_level > level) return;
    const std::shared_ptr<void> in_use = owner;
    const osbx_log_callback log = callback;  // the function itself may be gone when the callback returns
    try {
      const std::string line = base::PrintableLine(message, kMaxLogBytes);
      log(in_use.get(), static_cast<uint32_t>(line_level), line.c_str());
    } catch (const std::exception&) {
      // No memory for a line of log is no reason to fail what it tells of.
    }
  };
}

}  // namespace osbx::capi

using osbx::capi::Guard;

extern "C" {

osbx_config* osbx_config_new(void) { return osbx::capi::GuardNew<osbx_config>(); }

void osbx_config_set_docker_host(osbx_config* config, const char* uri) {
  if (config != nullptr) osbx::capi::SetText(config, "docker host", uri, config->docker.host);
}

void osbx_config_set_docker_cert_path(osbx_config* config, const char* directory) {
  if (config != nullptr) osbx::capi::SetText(config, "docker certificate path", directory, config->docker.cert_path);
}

void osbx_config_set_docker_api_version(osbx_config* config, const char* version) {
  if (config != nullptr) osbx::capi::SetText(config, "docker API version", version, config->docker.api_version);
}

void osbx_config_set_log(osbx_config* config, uint32_t level, osbx_log_callback callback, void* user_data,
                         osbx_destroy_callback destroy) {
  osbx::capi::SetLogCallback(config, level, callback, user_data, destroy,
                             [](osbx_config& builder, osbx::base::LogLevel known, osbx::base::LogFunction log) {
                               builder.docker.log_level = known;
                               builder.docker.log = std::move(log);
                             });
}

void osbx_config_free(osbx_config* config) { delete config; }

osbx_status osbx_backend_new(const osbx_config* config, osbx_backend** out, osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_backend>> {
    if (config != nullptr) OSBX_RETURN_IF_ERROR(config->Check());
    auto handle = std::make_unique<osbx_backend>();
    OSBX_ASSIGN_OR_RETURN(handle->backend, osbx::docker::NewDockerBackend(
                                               config != nullptr ? config->docker : osbx::docker::DockerConfig()));
    return handle;
  });
}

void osbx_backend_free(osbx_backend* backend) { delete backend; }

}  // extern "C"
