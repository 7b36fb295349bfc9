// The value of a number as JSON writes it, without regard to the locale.
#ifndef OSBX_BASE_JSON_NUMBER_H_
#define OSBX_BASE_JSON_NUMBER_H_

#include <string_view>

namespace osbx::base {

// The largest magnitude up to which a double holds every integer: 2^53.
inline constexpr double kMaxExactInteger = 9007199254740992.0;

struct JsonNumber {
  double value = 0;  // the nearest double; infinite where the number is beyond all of them
  // Whether the text denotes an integer within ±2^53, which `value` then equals. Not every text that is rounded to
  // such a double does.
  bool is_exact_integer = false;
};

// `text` must follow the grammar of RFC 8259.
JsonNumber ReadJsonNumber(std::string_view text);

}  // namespace osbx::base

#endif  // OSBX_BASE_JSON_NUMBER_H_
