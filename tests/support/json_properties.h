// What must hold for any text that ParseJson() is given. Shared by the fuzz target and by the replay of its corpus.
#ifndef OSBX_TESTS_SUPPORT_JSON_PROPERTIES_H_
#define OSBX_TESTS_SUPPORT_JSON_PROPERTIES_H_

#include <cjson/cJSON.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace osbx::testing {

// cJSON's parser copies a number into 64 bytes and fails on a longer one.
inline bool HasLongNumber(std::string_view text) {
  size_t run = 0;
  for (const char c : text) {
    run = std::string_view("0123456789+-.eE").find(c) != std::string_view::npos ? run + 1 : 0;
    if (run >= 63) return true;
  }
  return false;
}

// Whether `value` and cJSON's own reading of the same text are the same.
inline bool SameValue(const base::JsonValue& value, const cJSON* other) {
  if (cJSON_IsNull(other)) return value.is_null();
  if (cJSON_IsBool(other)) return value.AsBool() == std::optional<bool>(cJSON_IsTrue(other) != 0);
  if (cJSON_IsString(other)) return value.AsString() == std::optional<std::string>(other->valuestring);
  if (cJSON_IsNumber(other)) {
    if (!std::isfinite(other->valuedouble)) return !value.AsNumber().has_value() && !value.AsInt().has_value();
    if (const auto integer = value.AsInt()) {
      if (static_cast<double>(*integer) != other->valuedouble) return false;
    }
    return value.AsNumber() == std::optional<double>(other->valuedouble);
  }
  const cJSON* child = other->child;
  if (cJSON_IsArray(other)) {
    if (!value.is_array()) return false;
    for (const base::JsonValue& item : value.Items()) {
      if (child == nullptr || !SameValue(item, child)) return false;
      child = child->next;
    }
    return child == nullptr;
  }
  if (!cJSON_IsObject(other) || !value.is_object()) return false;
  for (const auto& [key, member] : value.Members()) {
    if (child == nullptr || key != child->string || !SameValue(member, child)) return false;
    child = child->next;
  }
  return child == nullptr;
}

// What is wrong, or nothing.
inline std::string JsonPropertyViolation(std::string_view text) {
  const auto parsed = base::ParseJson(text);
  const bool accepted_with_space = base::ParseJson("\t\r\n " + std::string(text) + " \n\r\t").ok();
  if (text.size() + 8 <= base::JsonLimits().max_bytes && accepted_with_space != parsed.ok()) {
    return "white space around the value changes the answer";
  }
  if (!parsed.ok()) {
    if (base::CodeOf(parsed.status()) != base::Code::kInvalid) return "refused with a code other than kInvalid";
    const std::string message(parsed.status().message());
    const size_t at = message.rfind(" at byte ");
    if (at == std::string::npos) return "refused without an offset";
    const auto offset = base::ParseDecimal(std::string_view(message).substr(at + 9), 0, INT64_MAX);
    if (!offset.has_value() || *offset > static_cast<int64_t>(text.size())) return "refused with an offset outside";
    return "";
  }
  if (!base::IsValidUtf8(text)) return "accepted what is not UTF-8";
  if (HasLongNumber(text)) return "";
  const char* end = nullptr;
  const std::unique_ptr<cJSON, void (*)(cJSON*)> other(
      cJSON_ParseWithLengthOpts(text.data(), text.size(), &end, /*require_null_terminated=*/0), &cJSON_Delete);
  if (other == nullptr) return "accepted what cJSON refuses";
  const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos) return "cJSON reads less of it";
  if (!SameValue(parsed->root(), other.get())) return "cJSON reads other values";
  // The printer behind JsonBuilder writes nothing that the reader refuses.
  const std::unique_ptr<char, void (*)(void*)> printed(cJSON_PrintUnformatted(other.get()), &cJSON_free);
  if (printed == nullptr || !base::ParseJson(printed.get()).ok()) return "the value printed again is refused";
  return "";
}

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_JSON_PROPERTIES_H_
