#include "base/text.h"

namespace osbx::base {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Decoded {
  size_t bytes = 0;  // 0: not a valid sequence
  uint32_t code_point = 0;
};

// The character at the start of `text`, which is not empty. Overlong forms, surrogates and anything above U+10FFFF
// are invalid (RFC 3629).
Decoded DecodeUtf8(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  uint32_t code_point = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = (code_point << 6) | (byte(i) & 0x3Fu);
  }
  if (bytes == 3 && (code_point < 0x800 || (code_point >= 0xD800 && code_point <= 0xDFFF))) return {};
  if (bytes == 4 && (code_point < 0x10000 || code_point > 0x10FFFF)) return {};
  return {bytes, code_point};
}

bool IsControl(uint32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0); }

// Line and paragraph separator: no control characters, but many readers break a line at them.
bool BreaksLine(uint32_t code_point) { return code_point == 0x2028 || code_point == 0x2029; }

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const size_t bytes = DecodeUtf8(text.substr(offset)).bytes;
    if (bytes == 0) break;
    offset += bytes;
  }
  return offset;
}

bool IsValidUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

bool HasControlCharacter(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Decoded decoded = DecodeUtf8(text.substr(offset));
    if (decoded.bytes == 0) {
      ++offset;  // not UTF-8, so no character at all
      continue;
    }
    if (IsControl(decoded.code_point)) return true;
    offset += decoded.bytes;
  }
  return false;
}

std::string PrintableLine(std::string_view text, size_t limit) {
  std::string line;
  size_t offset = 0;
  while (offset < text.size()) {
    const Decoded decoded = DecodeUtf8(text.substr(offset));
    std::string_view shown = text.substr(offset, decoded.bytes);
    if (decoded.bytes == 0) {
      shown = kReplacement;
    } else if (IsControl(decoded.code_point) || BreaksLine(decoded.code_point)) {
      shown = " ";
    }
    if (shown.size() > limit - line.size()) break;
    line += shown;
    offset += decoded.bytes == 0 ? 1 : decoded.bytes;
  }
  return line;
}

std::string ToValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t valid = ValidUtf8Prefix(bytes);
    text.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text += kReplacement;
    bytes.remove_prefix(1);
  }
  return text;
}

size_t WithoutCutCharacter(std::string_view bytes) {
  // The longest character has four bytes, so its beginning is among the last three.
  for (size_t tail = 1; tail <= 3 && tail <= bytes.size(); ++tail) {
    const size_t begin = bytes.size() - tail;
    const auto first = static_cast<uint8_t>(bytes[begin]);
    if ((first & 0xC0) == 0x80) continue;  // it goes on from an earlier byte
    // Cut only if some further bytes would make it whole.
    std::string completed(bytes.substr(begin));
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (length <= tail) return bytes.size();
    // The second byte alone has a narrower range in some characters; the lowest and the highest reach each of them.
    std::string lowest = completed;
    lowest.resize(length, '\x80');
    completed.resize(length, '\xBF');
    return IsValidUtf8(lowest) || IsValidUtf8(completed) ? begin : bytes.size();
  }
  return bytes.size();
}

std::optional<int64_t> ParseDecimal(std::string_view text, int64_t min, int64_t max) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const int digit = c - '0';
    if (value > (INT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (value < min || value > max) return std::nullopt;
  return value;
}

std::string HexEncode(const uint8_t* data, size_t size) {
  std::string hex;
  hex.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    hex += kHexDigits[data[i] >> 4];
    hex += kHexDigits[data[i] & 0xF];
  }
  return hex;
}

std::string PercentEncode(std::string_view text) {
  constexpr char kUpperHexDigits[] = "0123456789ABCDEF";  // RFC 3986: encoders should use upper case
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += '%';
    encoded += kUpperHexDigits[byte >> 4];
    encoded += kUpperHexDigits[byte & 0xF];
  }
  return encoded;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  const auto hex_value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  return decoded;
}

}  // namespace osbx::base
