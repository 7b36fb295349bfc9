// HTTP status and error body of the engine, as a Status.
#ifndef OSBX_ENGINE_ENGINE_ERROR_H_
#define OSBX_ENGINE_ENGINE_ERROR_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "transport/http_message.h"

namespace osbx::engine {

// "<what>: <the engine's text>", on one line; `what` names the call: "create exec".
//
// Codes: 400 kInvalid, 401 and 403 kPermission, 404 kNotFound, 409 kConflict, 501 kUnsupported, else kBackend. Two
// answers are told by their text: a 400 about the version of the API is kUnsupported, and Podman's 500 "container state
// improper" is what other engines say with a 409, kConflict.
absl::Status ErrorFromResponse(const transport::Response& response, std::string_view what);

// The engine's own text in an error's body: its "message" (Docker), with its "cause" (Podman) where that says more, or
// the first line of a body of another form; "HTTP 500" when there is nothing.
std::string ErrorText(const transport::Response& response);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_ENGINE_ERROR_H_
