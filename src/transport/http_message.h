// A request to the engine and its answer, as plain values.
#ifndef OSBX_TRANSPORT_HTTP_MESSAGE_H_
#define OSBX_TRANSPORT_HTTP_MESSAGE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace osbx::transport {

struct Request {
  std::string method = "GET";
  std::string target;  // origin form, percent-encoded: "/v1.41/containers/json?all=1"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // sent when content_type is not empty
  std::string content_type;
  size_t max_response = 16u << 20;  // a longer body ends the call with kTooLarge
  // Safe to send twice: may use a kept connection, and is sent again once when that one turns out dead. Everything else
  // goes over a fresh connection, since libcurl repeats even a POST on a reused connection that dies.
  bool idempotent = false;
};

struct Response {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string_view Header(std::string_view name) const;  // first of that name, without case; empty when none
};

// kInvalid for a request that could not be sent as it stands: a control character or a space that would change where a
// line or the request ends, a target that is not in origin form.
absl::Status CheckRequest(const Request& request);

// Whether the request has a body on the wire, perhaps an empty one (`Content-Length: 0`).
bool SendsBody(const Request& request);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_HTTP_MESSAGE_H_
