// Section 2 of osbx.h, errors.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "capi/guard.h"
#include "capi/handles.h"

namespace osbx::capi {
namespace {

// Handed out when there is no memory for an error; never freed, so that it is the same for everyone.
osbx_error out_of_memory = {OSBX_E_NO_MEMORY, 0, "out of memory"};

osbx_status Store(osbx_status code, int http_status, std::string_view message, osbx_error** err) noexcept {
  if (err == nullptr) return code;
  if (code == OSBX_E_NO_MEMORY) return ReportNoMemory(err);
  void* const block = std::malloc(sizeof(osbx_error) + message.size() + 1);
  if (block == nullptr) return ReportNoMemory(err);
  char* const text = static_cast<char*>(block) + sizeof(osbx_error);
  std::memcpy(text, message.data(), message.size());
  text[message.size()] = '\0';
  if (http_status < 100 || http_status > 599) http_status = 0;
  *err = new (block) osbx_error{code, http_status, text};
  return code;
}

}  // namespace

osbx_status Report(const absl::Status& status, osbx_error** err) {
  if (status.ok()) return OSBX_OK;
  const osbx_status code = static_cast<osbx_status>(base::CodeOf(status));
  return Store(code, base::HttpStatusOf(status), {status.message().data(), status.message().size()}, err);
}

osbx_status ReportNoMemory(osbx_error** err) noexcept {
  if (err != nullptr) *err = &out_of_memory;
  return OSBX_E_NO_MEMORY;
}

osbx_status ReportException(const char* what, osbx_error** err) noexcept {
  try {
    return Store(OSBX_E_INTERNAL, 0, base::PrintableLine(std::string("internal error: ") + what, 1024), err);
  } catch (const std::exception&) {
    return ReportNoMemory(err);
  }
}

absl::Status NullArgument(const char* name) {
  return base::Error(base::Code::kInvalid, std::string(name) + " is NULL");
}

absl::Status CheckFlags(uint32_t flags) {
  if (flags == 0) return absl::OkStatus();
  return base::Error(base::Code::kInvalid, "flags: must be 0 in this version");
}

}  // namespace osbx::capi

extern "C" {

osbx_status osbx_error_code(const osbx_error* error) { return error != nullptr ? error->code : OSBX_OK; }

const char* osbx_error_message(const osbx_error* error) { return error != nullptr ? error->message : ""; }

int32_t osbx_error_http_status(const osbx_error* error) { return error != nullptr ? error->http_status : 0; }

void osbx_error_free(osbx_error* error) {
  if (error != &osbx::capi::out_of_memory) std::free(error);
}

}  // extern "C"
