#include "engine/json_reading.h"

#include <optional>
#include <utility>

#include "engine/engine_error.h"

namespace osbx::engine {
namespace {

using base::Code;
using base::JsonDocument;

absl::StatusOr<JsonDocument> ReadBody(const transport::Response& response, std::string_view what, size_t max_bytes) {
  OSBX_RETURN_IF_ERROR(CheckSuccess(response, what));
  base::JsonLimits limits;
  limits.max_bytes = max_bytes;
  absl::StatusOr<JsonDocument> document = base::ParseJson(response.body, limits);
  if (!document.ok()) {
    // Not the caller's argument, so not the gate's kInvalid.
    std::string message(what);
    message += ": the engine's answer: ";
    message += std::string(document.status().message());
    return base::Error(Code::kBackend, message, response.status);
  }
  return document;
}

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

absl::Status CheckSuccess(const transport::Response& response, std::string_view what) {
  if (response.status >= 200 && response.status < 300) return absl::OkStatus();
  return ErrorFromResponse(response, what);
}

absl::StatusOr<JsonDocument> ReadObject(const transport::Response& response, std::string_view what, size_t max_bytes) {
  OSBX_ASSIGN_OR_RETURN(JsonDocument document, ReadBody(response, what, max_bytes));
  if (!document.root().is_object()) return BadField(what, "object");
  return document;
}

absl::StatusOr<JsonDocument> ReadArray(const transport::Response& response, std::string_view what, size_t max_bytes) {
  OSBX_ASSIGN_OR_RETURN(JsonDocument document, ReadBody(response, what, max_bytes));
  if (!document.root().is_array()) return BadField(what, "array");
  return document;
}

absl::Status BadField(std::string_view what, std::string_view field) {
  std::string message(what);
  message += ": the engine's answer has no usable ";
  message += field;
  return base::Error(Code::kBackend, message);
}

absl::StatusOr<std::string> ReadId(base::JsonValue value, std::string_view what, std::string_view field) {
  std::optional<std::string> id = value.AsString();
  if (!id || id->empty() || id->size() > 128) return BadField(what, field);
  bool only_dots = true;
  for (char c : *id) {
    if (!IsIdCharacter(c)) return BadField(what, field);
    only_dots = only_dots && c == '.';
  }
  if (only_dots) return BadField(what, field);
  return *std::move(id);
}

bool IsNull(base::JsonValue value) { return value.exists() && value.is_null(); }

std::vector<std::string> Strings(base::JsonValue value) {
  std::vector<std::string> strings;
  for (const base::JsonValue& item : value.Items()) {
    if (std::optional<std::string> text = item.AsString()) strings.push_back(*std::move(text));
  }
  return strings;
}

std::map<std::string, std::string> StringMap(base::JsonValue value) {
  std::map<std::string, std::string> map;
  for (const auto& [key, member] : value.Members()) {
    if (std::optional<std::string> text = member.AsString()) map[key] = *std::move(text);
  }
  return map;
}

}  // namespace osbx::engine
