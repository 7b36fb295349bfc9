// What every reader of an engine's JSON answer needs: status check, parse, and the lists and maps of strings that the
// API is full of.
#ifndef OSBX_ENGINE_JSON_READING_H_
#define OSBX_ENGINE_JSON_READING_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "transport/http_message.h"

namespace osbx::engine {

// A 2xx, or the error that the answer is.
absl::Status CheckSuccess(const transport::Response& response, std::string_view what);

// The JSON object or array of a 2xx answer of at most `max_bytes`. kBackend for a body that is neither.
absl::StatusOr<base::JsonDocument> ReadObject(const transport::Response& response, std::string_view what,
                                              size_t max_bytes = base::JsonLimits().max_bytes);
absl::StatusOr<base::JsonDocument> ReadArray(const transport::Response& response, std::string_view what,
                                             size_t max_bytes = base::JsonLimits().max_bytes);

// kBackend: "<what>: the engine's answer has no usable <field>".
absl::Status BadField(std::string_view what, std::string_view field);

// An identifier that the engine gave out and that will stand in a path: 1-128 of [A-Za-z0-9_.-], not only dots.
absl::StatusOr<std::string> ReadId(base::JsonValue value, std::string_view what, std::string_view field);

// A null that is really there, which is how engines write an empty list or object; a missing value is none.
bool IsNull(base::JsonValue value);

// The strings of an array, the string members of an object; what is of another type is left out.
std::vector<std::string> Strings(base::JsonValue value);
std::map<std::string, std::string> StringMap(base::JsonValue value);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_JSON_READING_H_
