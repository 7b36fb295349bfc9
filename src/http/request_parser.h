// Takes one request apart: its head, then its body, whatever pieces they arrive in.
#ifndef OSBX_HTTP_REQUEST_PARSER_H_
#define OSBX_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/exchange.h"

namespace osbx::http {

// Errors are kInvalid and carry the HTTP status to answer with. Holds no bytes of the body.
class RequestParser {
 public:
  explicit RequestParser(size_t max_head_bytes);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // `bytes`: everything since the first byte of the request. The size of its head, or 0 while that is not complete.
  absl::StatusOr<size_t> ParseHead(std::string_view bytes);

  // Once the head is complete. TakeRequest() once.
  Request TakeRequest();
  bool keep_alive() const;
  bool expects_continue() const;  // and has a body

  // The request has ended; without a body, with its head.
  bool complete() const;
  // How much of the body is to come, where that is known.
  std::optional<uint64_t> remaining() const;
  // Decodes some of what stands behind the bytes used so far, and appends at most `limit` bytes of the body to `out`.
  // Returns how many of `bytes` it used; what it left is to be given again, with more behind it.
  absl::StatusOr<size_t> ParseBody(std::string_view bytes, size_t limit, std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace osbx::http

#endif  // OSBX_HTTP_REQUEST_PARSER_H_
