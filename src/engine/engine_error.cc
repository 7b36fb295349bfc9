#include "engine/engine_error.h"

#include "base/json.h"

namespace osbx::engine {
namespace {

using base::Code;

constexpr std::string_view kBlank = " \t\r\n\v\f";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Nothing when the body is not a JSON object with one of the known keys.
std::string TextOfJson(std::string_view body) {
  absl::StatusOr<base::JsonDocument> document = base::ParseJson(body);
  if (!document.ok()) return {};
  const base::JsonValue root = document->root();
  const std::string message = root["message"].StringOr("");
  const std::string cause = root["cause"].StringOr("");
  const std::string text(Trim(message));
  const std::string reason(Trim(cause));
  if (text.empty()) return reason;
  if (reason.empty() || Contains(text, reason)) return text;
  return text + ": " + reason;
}

Code CodeOfAnswer(int status, std::string_view text) {
  switch (status) {
    case 400:
      // "client version 1.23 is too old. Minimum supported API version is 1.44, ..."
      if (text.substr(0, 15) == "client version " && Contains(text, "API version is")) return Code::kUnsupported;
      return Code::kInvalid;
    case 401:
    case 403:
      return Code::kPermission;
    case 404:
      return Code::kNotFound;
    case 409:
      return Code::kConflict;
    case 500:
      return Contains(text, "container state improper") ? Code::kConflict : Code::kBackend;
    case 501:
      return Code::kUnsupported;
    default:
      return Code::kBackend;
  }
}

}  // namespace

std::string ErrorText(const transport::Response& response) {
  std::string text = TextOfJson(response.body);
  if (text.empty()) {
    std::string_view line = Trim(response.body);
    line = Trim(line.substr(0, line.find('\n')));
    text = std::string(line.substr(0, 1024));
  }
  if (text.empty()) text = "HTTP " + std::to_string(response.status);
  return text;
}

absl::Status ErrorFromResponse(const transport::Response& response, std::string_view what) {
  const std::string text = ErrorText(response);
  std::string message(what);
  message += ": ";
  message += text;
  return base::Error(CodeOfAnswer(response.status, text), message, response.status);
}

}  // namespace osbx::engine
