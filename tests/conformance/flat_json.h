// A strict reader of JSON answers, small and slow: one document, no duplicate keys, valid UTF-8 only.
#ifndef OSBX_TESTS_CONFORMANCE_FLAT_JSON_H_
#define OSBX_TESTS_CONFORMANCE_FLAT_JSON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osbx::conformance {

struct Json {
  enum class Kind { kNull, kBool, kInteger, kFraction, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool truth = false;
  int64_t number = 0;  // of an integer
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> members;

  bool is(Kind wanted) const { return kind == wanted; }
  // The member of that name; a null when there is none.
  const Json& operator[](const std::string& key) const;
};

// Nothing: not one JSON document.
std::optional<Json> ParseJson(std::string_view text);

// `text` as a JSON string, with its quotes.
std::string Quoted(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace osbx::conformance

#endif  // OSBX_TESTS_CONFORMANCE_FLAT_JSON_H_
