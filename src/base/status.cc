#include "base/status.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "base/text.h"

namespace osbx::base {
namespace {

constexpr size_t kMaxMessageBytes = 1024;
// The payload is "<code> <http status>": at most 15 bytes, which a Cord holds without allocating.
constexpr char kPayloadType[] = "osbx.status";

absl::StatusCode CanonicalOf(Code code) {
  switch (code) {
    case Code::kOk:
    case Code::kInternal:
      return absl::StatusCode::kInternal;
    case Code::kInvalid:
      return absl::StatusCode::kInvalidArgument;
    case Code::kNotFound:
      return absl::StatusCode::kNotFound;
    case Code::kTimeout:
      return absl::StatusCode::kDeadlineExceeded;
    case Code::kCanceled:
      return absl::StatusCode::kCancelled;
    case Code::kConflict:
      return absl::StatusCode::kAlreadyExists;
    case Code::kPermission:
      return absl::StatusCode::kPermissionDenied;
    case Code::kUnsupported:
      return absl::StatusCode::kUnimplemented;
    case Code::kTooLarge:
      return absl::StatusCode::kOutOfRange;
    case Code::kCallback:
      return absl::StatusCode::kAborted;
    case Code::kUnreachable:
      return absl::StatusCode::kUnavailable;
    case Code::kNoMemory:
    case Code::kAtCapacity:
    case Code::kNoSpace:
      return absl::StatusCode::kResourceExhausted;
    case Code::kRuntimeUnavailable:
    case Code::kImageUnavailable:
    case Code::kNotRunning:
      return absl::StatusCode::kFailedPrecondition;
    case Code::kBackend:
      return absl::StatusCode::kUnknown;
  }
  return absl::StatusCode::kUnknown;
}

Code CodeOfCanonical(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return Code::kOk;
    case absl::StatusCode::kCancelled:
      return Code::kCanceled;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return Code::kInvalid;
    case absl::StatusCode::kDeadlineExceeded:
      return Code::kTimeout;
    case absl::StatusCode::kNotFound:
      return Code::kNotFound;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return Code::kConflict;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return Code::kPermission;
    case absl::StatusCode::kResourceExhausted:
      return Code::kNoMemory;
    case absl::StatusCode::kUnimplemented:
      return Code::kUnsupported;
    case absl::StatusCode::kUnavailable:
      return Code::kUnreachable;
    case absl::StatusCode::kDataLoss:
      return Code::kBackend;
    default:
      return Code::kInternal;
  }
}

struct Payload {
  Code code = Code::kInternal;
  int http_status = 0;
};

std::optional<Payload> PayloadOf(const absl::Status& status) {
  const absl::optional<absl::Cord> cord = status.GetPayload(kPayloadType);
  if (!cord.has_value()) return std::nullopt;
  const std::string text(*cord);
  const size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  // Codes are zero or negative; the payload holds the absolute value.
  const std::optional<int64_t> code = ParseDecimal(std::string_view(text).substr(0, space), 1, INT32_MAX);
  const std::optional<int64_t> http = ParseDecimal(std::string_view(text).substr(space + 1), 0, INT32_MAX);
  if (!code.has_value() || !http.has_value()) return std::nullopt;
  return Payload{static_cast<Code>(-*code), static_cast<int>(*http)};
}

}  // namespace

absl::Status Error(Code code, std::string_view message, int http_status) {
  // An error without an error's code would read as success further up.
  if (static_cast<int32_t>(code) >= 0) code = Code::kInternal;
  if (http_status < 0 || http_status > 999) http_status = 0;
  absl::Status status(CanonicalOf(code), PrintableLine(message, kMaxMessageBytes));
  status.SetPayload(kPayloadType,
                    absl::Cord(std::to_string(-static_cast<int64_t>(code)) + " " + std::to_string(http_status)));
  return status;
}

Code CodeOf(const absl::Status& status) {
  if (status.ok()) return Code::kOk;
  const std::optional<Payload> payload = PayloadOf(status);
  return payload.has_value() ? payload->code : CodeOfCanonical(status.code());
}

int HttpStatusOf(const absl::Status& status) {
  if (status.ok()) return 0;
  const std::optional<Payload> payload = PayloadOf(status);
  return payload.has_value() ? payload->http_status : 0;
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message += ": ";
  message.append(status.message().data(), status.message().size());
  return Error(CodeOf(status), message, HttpStatusOf(status));
}

const char* CodeName(int32_t code) {
  switch (static_cast<Code>(code)) {
    case Code::kOk:
      return "OSBX_OK";
    case Code::kInternal:
      return "OSBX_E_INTERNAL";
    case Code::kNoMemory:
      return "OSBX_E_NO_MEMORY";
    case Code::kInvalid:
      return "OSBX_E_INVALID";
    case Code::kNotFound:
      return "OSBX_E_NOT_FOUND";
    case Code::kTimeout:
      return "OSBX_E_TIMEOUT";
    case Code::kCanceled:
      return "OSBX_E_CANCELED";
    case Code::kRuntimeUnavailable:
      return "OSBX_E_RUNTIME_UNAVAILABLE";
    case Code::kImageUnavailable:
      return "OSBX_E_IMAGE_UNAVAILABLE";
    case Code::kConflict:
      return "OSBX_E_CONFLICT";
    case Code::kPermission:
      return "OSBX_E_PERMISSION";
    case Code::kUnsupported:
      return "OSBX_E_UNSUPPORTED";
    case Code::kTooLarge:
      return "OSBX_E_TOO_LARGE";
    case Code::kBackend:
      return "OSBX_E_BACKEND";
    case Code::kCallback:
      return "OSBX_E_CALLBACK";
    case Code::kAtCapacity:
      return "OSBX_E_AT_CAPACITY";
    case Code::kNoSpace:
      return "OSBX_E_NO_SPACE";
    case Code::kUnreachable:
      return "OSBX_E_UNREACHABLE";
    case Code::kNotRunning:
      return "OSBX_E_NOT_RUNNING";
  }
  return "OSBX_E_UNKNOWN";
}

}  // namespace osbx::base
