#include "flat_json.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace osbx::conformance {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool Document(Json* json) { return Value(json, 0) && (Space(), at_ == end_); }

 private:
  void Space() {
    while (at_ < end_ && std::strchr(" \t\r\n", *at_) != nullptr && *at_ != '\0') ++at_;
  }
  bool Take(char c) {
    Space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool Word(std::string_view word) {
    if (static_cast<size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Value(Json* json, int depth) {
    Space();
    if (at_ == end_ || depth > 8) return false;
    switch (*at_) {
      case '{':
        return Object(json, depth);
      case '[':
        return Array(json, depth);
      case '"':
        json->kind = Json::Kind::kString;
        return String(&json->text);
      case 't':
        json->kind = Json::Kind::kBool;
        json->truth = true;
        return Word("true");
      case 'f':
        json->kind = Json::Kind::kBool;
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number(json);
    }
  }

  bool Object(Json* json, int depth) {
    json->kind = Json::Kind::kObject;
    ++at_;
    if (Take('}')) return true;
    do {
      std::string key;
      Space();
      if (at_ == end_ || *at_ != '"' || !String(&key) || json->members.count(key) != 0 || !Take(':')) return false;
      if (!Value(&json->members[key], depth + 1)) return false;
    } while (Take(','));
    return Take('}');
  }

  bool Array(Json* json, int depth) {
    json->kind = Json::Kind::kArray;
    ++at_;
    if (Take(']')) return true;
    do {
      if (!Value(&json->items.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']');
  }

  bool Number(Json* json) {
    const char* begin = at_;
    if (at_ < end_ && *at_ == '-') ++at_;
    const char* digits = at_;
    const auto skip = [&] {
      const char* from = at_;
      while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
      return at_ > from;
    };
    if (!skip() || (*digits == '0' && at_ - digits > 1) || at_ - digits > 18) return false;
    json->kind = Json::Kind::kInteger;
    json->number = std::strtoll(std::string(begin, at_).c_str(), nullptr, 10);
    if (at_ < end_ && *at_ == '.') {
      json->kind = Json::Kind::kFraction;
      ++at_;
      if (!skip()) return false;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      json->kind = Json::Kind::kFraction;
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!skip()) return false;
    }
    return true;
  }

  bool Hex(uint32_t* value) {
    *value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_ || std::isxdigit(static_cast<unsigned char>(*at_)) == 0) return false;
      *value = *value * 16 + static_cast<uint32_t>(*at_ <= '9' ? *at_ - '0' : (*at_ | 32) - 'a' + 10);
    }
    return true;
  }

  static void Append(uint32_t code, std::string* text) {
    const auto put = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  bool Escape(std::string* text) {
    static constexpr char kNames[] = "\"\\/bfnrt";
    static constexpr char kMeanings[] = "\"\\/\b\f\n\r\t";
    if (at_ == end_) return false;
    const char name = *at_++;
    if (name == 'u') {
      uint32_t code = 0;
      uint32_t low = 0;
      if (!Hex(&code) || (code >= 0xdc00 && code < 0xe000)) return false;
      if (code >= 0xd800 && code < 0xdc00) {
        if (!Word("\\u") || !Hex(&low) || low < 0xdc00 || low >= 0xe000) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
      Append(code, text);
      return true;
    }
    const char* found = std::strchr(kNames, name);
    if (found == nullptr || name == '\0') return false;
    text->push_back(kMeanings[found - kNames]);
    return true;
  }

  bool String(std::string* text) {
    ++at_;
    while (at_ < end_) {
      const char c = *at_++;
      if (c == '"') return IsUtf8(*text);
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        text->push_back(c);
      } else if (!Escape(text)) {
        return false;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

}  // namespace

const Json& Json::operator[](const std::string& key) const {
  static const Json kNone;
  const auto found = members.find(key);
  return found == members.end() ? kNone : found->second;
}

std::optional<Json> ParseJson(std::string_view text) {
  Json json;
  if (!Reader(text).Document(&json)) return std::nullopt;
  return json;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t size = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
    if (size == 0 || i + size > text.size()) return false;
    uint32_t code = size == 1 ? first : first & (0x7fU >> size);
    for (size_t j = 1; j < size; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += size;
  }
  return true;
}

}  // namespace osbx::conformance
