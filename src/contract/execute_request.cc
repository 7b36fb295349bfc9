#include "contract/execute_request.h"

#include <cmath>

#include "base/json.h"

namespace osbx::contract {
namespace {

using base::Code;
using base::Error;

// More than thirty thousand years: nobody waits for that, and its milliseconds fit.
constexpr double kNoLimitSeconds = 1e12;

absl::StatusOr<std::optional<std::chrono::milliseconds>> ReadTimeout(const base::JsonValue& value) {
  const std::optional<double> seconds = value.AsNumber();
  if (!seconds.has_value()) return Error(Code::kInvalid, "timeoutSeconds must be a number");
  if (!std::isfinite(*seconds)) return Error(Code::kInvalid, "timeoutSeconds must be finite");
  // -1e-400 is negative although no double is close enough to say so; -0 is zero.
  const bool is_zero = value.AsInt() == 0;
  if (!is_zero && std::signbit(*seconds)) return Error(Code::kInvalid, "timeoutSeconds must not be negative");
  if (is_zero || *seconds >= kNoLimitSeconds) return std::optional<std::chrono::milliseconds>();
  // Rounded up: a timeout of nothing would mean no limit.
  const double milliseconds = std::fmax(std::ceil(*seconds * 1000), 1);
  return std::optional(std::chrono::milliseconds(static_cast<int64_t>(milliseconds)));
}

}  // namespace

absl::StatusOr<ExecuteRequest> ParseExecuteRequest(std::string_view body) {
  base::JsonLimits limits;
  limits.max_bytes = kMaxExecuteBodyBytes;
  const absl::StatusOr<base::JsonDocument> document = base::ParseJson(body, limits);
  if (!document.ok()) return base::Annotate(document.status(), "the body is not valid JSON");
  const base::JsonValue root = document->root();
  if (!root.is_object()) return Error(Code::kInvalid, "the body must be a JSON object");

  ExecuteRequest request;
  const base::JsonValue command = root["command"];
  if (!command.exists()) return Error(Code::kInvalid, "command is missing");
  std::optional<std::string> text = command.AsString();
  if (!text.has_value()) return Error(Code::kInvalid, "command must be a string");
  if (text->empty()) return Error(Code::kInvalid, "command must not be empty");
  request.command = *std::move(text);
  if (const base::JsonValue timeout = root["timeoutSeconds"]; timeout.exists()) {
    OSBX_ASSIGN_OR_RETURN(request.timeout, ReadTimeout(timeout));
  }
  return request;
}

}  // namespace osbx::contract
