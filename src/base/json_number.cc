#include "base/json_number.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>

namespace osbx::base {
namespace {

constexpr int64_t kExponentLimit = int64_t{1} << 40;  // far beyond any text's length, far from overflow

// The number as 0.d1d2d3... times 10^exponent, with d1 not 0.
class Decimal {
 public:
  explicit Decimal(std::string_view text) {
    const size_t e = text.find_first_of("eE");
    mantissa_ = text.substr(0, e);
    if (mantissa_[0] == '-') mantissa_.remove_prefix(1);
    const size_t point = std::min(mantissa_.find('.'), mantissa_.size());
    first_ = std::min(mantissa_.find_first_not_of("0."), mantissa_.size());
    // Digits of the mantissa before the point, counted from the first that is not 0; negative for zeros after it.
    exponent_ = static_cast<int64_t>(point) - static_cast<int64_t>(first_) + (first_ > point ? 1 : 0);
    if (e != std::string_view::npos) exponent_ += Exponent(text.substr(e + 1));
  }

  bool IsZero() const { return first_ == mantissa_.size(); }
  int64_t exponent() const { return exponent_; }

  // The magnitude, where it is an integer of at most 16 digits.
  std::optional<int64_t> SmallInteger() const {
    if (IsZero()) return 0;
    constexpr int64_t kMaxDigits = 16;
    if (exponent_ < 1 || exponent_ > kMaxDigits) return std::nullopt;
    int64_t value = 0;
    int64_t digits = 0;
    for (const char c : mantissa_.substr(first_)) {
      if (c == '.') continue;
      if (++digits <= exponent_) {
        value = value * 10 + (c - '0');
      } else if (c != '0') {
        return std::nullopt;  // a fraction
      }
    }
    for (; digits < exponent_; ++digits) value *= 10;
    return value;
  }

 private:
  static int64_t Exponent(std::string_view text) {
    const bool negative = text[0] == '-';
    if (negative || text[0] == '+') text.remove_prefix(1);
    int64_t value = 0;
    for (const char c : text) value = std::min(value * 10 + (c - '0'), kExponentLimit);
    return negative ? -value : value;
  }

  std::string_view mantissa_;
  size_t first_ = 0;
  int64_t exponent_ = 0;
};

}  // namespace

JsonNumber ReadJsonNumber(std::string_view text) {
  const Decimal decimal(text);
  JsonNumber number;
  const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (parsed.ec == std::errc::result_out_of_range) {
    // from_chars() leaves the value alone and does not say on which side the number is out of range.
    const double magnitude = decimal.exponent() > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    number.value = text[0] == '-' ? -magnitude : magnitude;
  }
  const std::optional<int64_t> integer = decimal.SmallInteger();
  number.is_exact_integer = integer.has_value() && *integer <= static_cast<int64_t>(kMaxExactInteger);
  return number;
}

}  // namespace osbx::base
