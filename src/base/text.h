// Checks and spellings of text that crosses a boundary.
#ifndef OSBX_BASE_TEXT_H_
#define OSBX_BASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace osbx::base {

bool IsValidUtf8(std::string_view text);
// How many bytes at the start of `text` are valid UTF-8: the offset of the first bad byte, or the size.
size_t ValidUtf8Prefix(std::string_view text);
// C0, DEL and (as UTF-8) C1 control characters.
bool HasControlCharacter(std::string_view text);
// One printable line of at most `limit` bytes: each bad byte becomes U+FFFD, each control character a space, and
// so do U+2028 and U+2029, which many readers take for the end of a line.
std::string PrintableLine(std::string_view text, size_t limit);
// `bytes` as UTF-8: each byte that is not part of a valid character becomes U+FFFD.
std::string ToValidUtf8(std::string_view bytes);
// How many bytes of `bytes` are left when a character that its end cuts in two is dropped.
size_t WithoutCutCharacter(std::string_view bytes);
// Plain decimal in [min, max]: digits only, no sign, no leading zero (but "0"), nothing else.
std::optional<int64_t> ParseDecimal(std::string_view text, int64_t min, int64_t max);
std::string HexEncode(const uint8_t* data, size_t size);
// RFC 3986 percent-encoding of everything but unreserved characters.
std::string PercentEncode(std::string_view text);
// Decodes once; "+" stays. Nothing where a '%' is not followed by two hex digits.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace osbx::base

#endif  // OSBX_BASE_TEXT_H_
