#include "base/json_text.h"

#include <cstdint>

namespace osbx::base {

void AppendJsonString(std::string* out, std::string_view utf8) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  out->reserve(out->size() + utf8.size() + 2);
  *out += '"';
  size_t written = 0;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<uint8_t>(utf8[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out->append(utf8.substr(written, i - written));
    written = i + 1;
    switch (byte) {
      case '"':
      case '\\':
        *out += '\\';
        *out += static_cast<char>(byte);
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        *out += "\\u00";
        *out += kHexDigits[byte >> 4];
        *out += kHexDigits[byte & 0xF];
    }
  }
  out->append(utf8.substr(written));
  *out += '"';
}

}  // namespace osbx::base
