// JSON written piece by piece, for strings that JsonBuilder cannot hold: with NUL, or large.
#ifndef OSBX_BASE_JSON_TEXT_H_
#define OSBX_BASE_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace osbx::base {

// Appends `utf8`, which must be valid UTF-8, as a JSON string with its quotes.
void AppendJsonString(std::string* out, std::string_view utf8);

}  // namespace osbx::base

#endif  // OSBX_BASE_JSON_TEXT_H_
