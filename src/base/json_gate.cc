#include "base/json_gate.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/text.h"

namespace osbx::base {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::string& out, uint32_t code_point) {
  const auto append = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  const auto append_tail = [&](int shift) { append(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) return append(code_point);
  if (code_point < 0x800) {
    append(0xC0 | (code_point >> 6));
  } else if (code_point < 0x10000) {
    append(0xE0 | (code_point >> 12));
    append_tail(6);
  } else {
    append(0xF0 | (code_point >> 18));
    append_tail(12);
    append_tail(6);
  }
  append_tail(0);
}

// Iterative, so that no depth of nesting can exhaust the stack.
class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits, JsonSink& sink) : text_(text), limits_(limits), sink_(sink) {}

  absl::Status Read() {
    if (text_.size() > limits_.max_bytes) return Refuse("the text is too long", limits_.max_bytes);
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") return Refuse("byte order mark");
    const size_t valid = ValidUtf8Prefix(text_);
    if (valid < text_.size()) return Refuse("not UTF-8", valid);
    do {
      SkipSpace();
      OSBX_RETURN_IF_ERROR(Step());
    } while (expected_ != Expected::kEnd);
    SkipSpace();
    return AtEnd() ? absl::OkStatus() : Refuse("text after the value");
  }

 private:
  enum class Expected { kValue, kValueOrEnd, kKey, kKeyOrEnd, kCommaOrEnd, kEnd };

  struct Container {
    bool is_object;
    size_t first_key;  // index into keys_
  };

  struct Key {
    std::string_view name;
    size_t offset;
  };

  absl::Status Refuse(std::string_view reason) const { return Refuse(reason, offset_); }

  static absl::Status Refuse(std::string_view reason, size_t offset) {
    return Error(Code::kInvalid, "JSON: " + std::string(reason) + " at byte " + std::to_string(offset));
  }

  bool AtEnd() const { return offset_ == text_.size(); }
  // NUL at the end of the text, which is no token of JSON's either.
  char Peek() const { return AtEnd() ? '\0' : text_[offset_]; }
  bool Take(char c) {
    if (AtEnd() || text_[offset_] != c) return false;
    ++offset_;
    return true;
  }
  void SkipSpace() {
    while (!AtEnd() && IsSpace(text_[offset_])) ++offset_;
  }

  absl::Status Step() {
    switch (expected_) {
      case Expected::kValueOrEnd:
        if (Take(']')) return End();
        return Value();
      case Expected::kValue:
        return Value();
      case Expected::kKeyOrEnd:
        if (Take('}')) return End();
        return MemberKey();
      case Expected::kKey:
        return MemberKey();
      case Expected::kCommaOrEnd:
        return CommaOrEnd();
      case Expected::kEnd:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status CommaOrEnd() {
    const bool is_object = containers_.back().is_object;
    if (Take(is_object ? '}' : ']')) return End();
    if (!Take(',')) return Refuse(is_object ? "expected ',' or '}'" : "expected ',' or ']'");
    expected_ = is_object ? Expected::kKey : Expected::kValue;
    return absl::OkStatus();
  }

  absl::Status MemberKey() {
    const size_t start = offset_;
    if (Peek() != '"') return Refuse("expected a key");
    bool escaped = false;
    std::string_view name;
    OSBX_RETURN_IF_ERROR(String(name, escaped));
    if (escaped) name = unescaped_keys_.emplace_back(name);
    keys_.push_back({name, start});
    SkipSpace();
    if (!Take(':')) return Refuse("expected ':'");
    sink_.OnKey(name);
    expected_ = Expected::kValue;
    return absl::OkStatus();
  }

  absl::Status Value() {
    if (++values_ > limits_.max_values) return Refuse("too many values");
    const char c = Peek();
    if (c == '{' || c == '[') return Begin(c == '{');
    if (c == '"') {
      bool escaped = false;
      std::string_view value;
      OSBX_RETURN_IF_ERROR(String(value, escaped));
      sink_.OnString(value);
    } else if (c == '-' || IsDigit(c)) {
      OSBX_RETURN_IF_ERROR(Number());
    } else if (TakeWord("true")) {
      sink_.OnBool(true);
    } else if (TakeWord("false")) {
      sink_.OnBool(false);
    } else if (TakeWord("null")) {
      sink_.OnNull();
    } else {
      return Refuse("expected a value");
    }
    AfterValue();
    return absl::OkStatus();
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(offset_, word.size()) != word) return false;
    offset_ += word.size();
    return true;
  }

  absl::Status Begin(bool is_object) {
    if (containers_.size() >= static_cast<size_t>(std::max(limits_.max_depth, 0))) return Refuse("nested too deeply");
    ++offset_;
    containers_.push_back({is_object, keys_.size()});
    sink_.OnBegin(is_object);
    expected_ = is_object ? Expected::kKeyOrEnd : Expected::kValueOrEnd;
    return absl::OkStatus();
  }

  absl::Status End() {
    OSBX_RETURN_IF_ERROR(CheckKeys(containers_.back().first_key));
    keys_.resize(containers_.back().first_key);
    containers_.pop_back();
    sink_.OnEnd();
    AfterValue();
    return absl::OkStatus();
  }

  void AfterValue() { expected_ = containers_.empty() ? Expected::kEnd : Expected::kCommaOrEnd; }

  // By sorting: unlike a hash table it cannot be driven into quadratic time by chosen keys.
  absl::Status CheckKeys(size_t first) {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, keys_.end(), [](const Key& a, const Key& b) {
      const int order = a.name.compare(b.name);
      return order != 0 ? order < 0 : a.offset < b.offset;
    });
    const auto same = [](const Key& a, const Key& b) { return a.name == b.name; };
    const auto twice = std::adjacent_find(begin, keys_.end(), same);
    return twice == keys_.end() ? absl::OkStatus() : Refuse("key given twice", std::next(twice)->offset);
  }

  absl::Status Number() {
    const size_t start = offset_;
    Take('-');
    if (!Take('0')) OSBX_RETURN_IF_ERROR(Digits());
    if (Take('.')) OSBX_RETURN_IF_ERROR(Digits());
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      OSBX_RETURN_IF_ERROR(Digits());
    }
    // What may not follow a number, such as a second digit after a leading zero, is refused as no ',' or end.
    sink_.OnNumber(text_.substr(start, offset_ - start));
    return absl::OkStatus();
  }

  absl::Status Digits() {
    if (!IsDigit(Peek())) return Refuse("expected a digit");
    while (IsDigit(Peek())) ++offset_;
    return absl::OkStatus();
  }

  // `value` is a part of the text, or of scratch_ where the string has an escape.
  absl::Status String(std::string_view& value, bool& escaped) {
    const size_t start = ++offset_;
    scratch_.clear();
    size_t copied = start;  // up to here in scratch_
    while (Peek() != '"') {
      if (AtEnd()) return Refuse("string without an end");
      const char c = text_[offset_];
      if (static_cast<uint8_t>(c) < 0x20) return Refuse("control character in a string");
      if (c != '\\') {
        ++offset_;
        continue;
      }
      scratch_.append(text_.substr(copied, offset_ - copied));
      OSBX_RETURN_IF_ERROR(Escape());
      copied = offset_;
    }
    escaped = copied != start;
    if (escaped) scratch_.append(text_.substr(copied, offset_ - copied));
    value = escaped ? std::string_view(scratch_) : text_.substr(start, offset_ - start);
    ++offset_;
    return absl::OkStatus();
  }

  absl::Status Escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const size_t start = offset_++;
    if (Take('u')) return UnicodeEscape(start);
    const size_t index = AtEnd() ? std::string_view::npos : kNames.find(text_[offset_]);
    if (index == std::string_view::npos) return Refuse("bad escape", start);
    scratch_ += kMeanings[index];
    ++offset_;
    return absl::OkStatus();
  }

  absl::Status UnicodeEscape(size_t start) {
    uint32_t code_point = 0;
    if (!FourHexDigits(code_point)) return Refuse("bad escape", start);
    if (code_point == 0) return Refuse("U+0000 in a string", start);
    if (code_point >= 0xD800 && code_point <= 0xDFFF) {
      uint32_t low = 0;
      const bool paired =
          code_point < 0xDC00 && Take('\\') && Take('u') && FourHexDigits(low) && low >= 0xDC00 && low <= 0xDFFF;
      if (!paired) return Refuse("lone surrogate", start);
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(scratch_, code_point);
    return absl::OkStatus();
  }

  bool FourHexDigits(uint32_t& value) {
    value = 0;
    for (int i = 0; i < 4; ++i, ++offset_) {
      const char c = Peek();
      if (!IsDigit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) return false;
      value = value * 16 + static_cast<uint32_t>(IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
  }

  const std::string_view text_;
  const JsonLimits limits_;
  JsonSink& sink_;
  size_t offset_ = 0;
  size_t values_ = 0;
  Expected expected_ = Expected::kValue;
  std::vector<Container> containers_;
  std::vector<Key> keys_;  // of all open objects, the innermost last
  std::deque<std::string> unescaped_keys_;
  std::string scratch_;
};

}  // namespace

absl::Status ReadJson(std::string_view text, const JsonLimits& limits, JsonSink& sink) {
  return Reader(text, limits, sink).Read();
}

}  // namespace osbx::base
