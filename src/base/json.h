// JSON from outside, read strictly and one way only, and JSON built to be sent. cJSON stays behind this header.
#ifndef OSBX_BASE_JSON_H_
#define OSBX_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

struct cJSON;

namespace osbx::base {

class JsonDocument;

struct JsonLimits {
  size_t max_bytes = 16u << 20;
  int max_depth = 64;
  // A value takes up to fifty times its text's memory, so the text's size alone does not bound it.
  size_t max_values = 1'000'000;
};

// The one gate for JSON that somebody else wrote: RFC 8259 whole and nothing more, valid UTF-8, no byte order mark, no
// lone surrogate, no U+0000 in a string (raw or escaped), no key twice in one object in any spelling, bounded size,
// depth and number of values, nothing but white space after the value. Anything else is kInvalid with the byte offset
// in the message.
absl::StatusOr<JsonDocument> ParseJson(std::string_view text, const JsonLimits& limits = {});

// A borrowed view of one value; valid while its document lives. A default-constructed or missing value is null-like:
// every getter on it finds nothing. Keys are compared exactly.
class JsonValue {
 public:
  JsonValue() = default;

  bool exists() const { return node_ != nullptr; }
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;

  // Member of an object; a missing one gives a value for which exists() is false.
  JsonValue operator[](std::string_view key) const;

  std::optional<std::string> AsString() const;
  std::optional<bool> AsBool() const;
  std::optional<double> AsNumber() const;
  // A number without a fraction within ±2^53; nothing for any other value.
  std::optional<int64_t> AsInt() const;

  std::vector<JsonValue> Items() const;                            // of an array; empty for anything else
  std::vector<std::pair<std::string, JsonValue>> Members() const;  // of an object; empty for anything else

  // With a default for a missing or wrongly typed value, for fields whose absence is harmless.
  std::string StringOr(std::string_view fallback) const;
  int64_t IntOr(int64_t fallback) const;
  bool BoolOr(bool fallback) const;

 private:
  friend class JsonDocument;
  explicit JsonValue(const cJSON* node) : node_(node) {}
  const cJSON* node_ = nullptr;
};

class JsonDocument {
 public:
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();
  JsonValue root() const { return JsonValue(node_); }

 private:
  friend absl::StatusOr<JsonDocument> ParseJson(std::string_view, const JsonLimits&);
  explicit JsonDocument(cJSON* node) : node_(node) {}
  cJSON* node_;
};

// A value under construction: owned, moved into its parent. Numbers are printed without regard to the locale.
class JsonBuilder {
 public:
  static JsonBuilder Object();
  static JsonBuilder Array();
  JsonBuilder(JsonBuilder&&) noexcept;
  JsonBuilder& operator=(JsonBuilder&&) noexcept;
  ~JsonBuilder();

  // Objects. Each returns *this, so that calls can be chained. Strings must be UTF-8 without NUL, and each key is set
  // once (checked by callers).
  JsonBuilder& Set(const char* key, std::string_view value);
  JsonBuilder& Set(const char* key, const char* value) { return Set(key, std::string_view(value)); }
  JsonBuilder& Set(const char* key, bool value);
  JsonBuilder& Set(const char* key, int value) { return Set(key, static_cast<int64_t>(value)); }
  JsonBuilder& Set(const char* key, int64_t value);  // |value| <= 2^53
  JsonBuilder& Set(const char* key, JsonBuilder value);
  JsonBuilder& Set(const char* key, const std::vector<std::string>& strings);
  // Arrays.
  JsonBuilder& Add(std::string_view value);
  JsonBuilder& Add(JsonBuilder value);

  std::string Print() const;

 private:
  explicit JsonBuilder(cJSON* node) : node_(node) {}
  cJSON* node_;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_JSON_H_
