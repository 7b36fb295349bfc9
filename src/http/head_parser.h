// Reads the head of one HTTP/1.1 response, with the HTTP library's parser.
#ifndef OSBX_HTTP_HEAD_PARSER_H_
#define OSBX_HTTP_HEAD_PARSER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/headers.h"

namespace osbx::http {

struct ResponseHead {
  int status = 0;
  Headers headers;  // in order, names as sent
  size_t size = 0;  // bytes of the head, its blank line included

  // First header of that name, compared without case; empty when there is none.
  std::string_view Header(std::string_view name) const;
};

// `bytes` is what has arrived so far. Nothing yet: the head is not complete. Error (kBackend): it is malformed, has
// more than 100 headers, leaves open where its body ends, or is longer than `max_size`. 1xx heads other than 101 are
// skipped and counted in `size`; more than 16 of them are an error too.
absl::StatusOr<std::optional<ResponseHead>> ParseResponseHead(std::string_view bytes, size_t max_size = 64 * 1024);

}  // namespace osbx::http

#endif  // OSBX_HTTP_HEAD_PARSER_H_
