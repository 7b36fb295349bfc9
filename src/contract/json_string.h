// replaced at merge: ToValidUtf8 is base/text.h's, AppendJsonString base/json_text.h's.
#ifndef OSBX_CONTRACT_JSON_STRING_H_
#define OSBX_CONTRACT_JSON_STRING_H_

#include <string>
#include <string_view>

#include "base/text.h"

namespace osbx::contract {

// Each byte that is not part of a valid character becomes U+FFFD.
inline std::string ToValidUtf8(std::string_view text) {
  std::string valid;
  for (;;) {
    const size_t good = base::ValidUtf8Prefix(text);
    valid += text.substr(0, good);
    if (good == text.size()) return valid;
    valid += "\xEF\xBF\xBD";
    text.remove_prefix(good + 1);
  }
}

// Valid UTF-8, quoted and escaped.
inline void AppendJsonString(std::string* json, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  *json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *json += '\\';
      *json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *json += "\\u00";
      *json += kHex[c >> 4];
      *json += kHex[c & 0xF];
    } else {
      *json += c;
    }
  }
  *json += '"';
}

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_JSON_STRING_H_
