// Receives what libcurl reads of one answer, within bounds.
#ifndef OSBX_TRANSPORT_RESPONSE_COLLECTOR_H_
#define OSBX_TRANSPORT_RESPONSE_COLLECTOR_H_

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "transport/http_message.h"

namespace osbx::transport {

// The head goes through the same strict parser as a hijacked stream's, whatever libcurl made of it. Collects the body
// up to a limit, or passes a 2xx answer's body on.
class ResponseCollector {
 public:
  explicit ResponseCollector(size_t max_body) : max_body_(max_body) {}

  // Both optional. A false from `on_body` ends the transfer with kCallback.
  std::function<void(int status)> on_head;
  std::function<bool(std::string_view bytes)> on_body;

  // To be installed as the header and write functions of `easy`; this object must not move afterwards.
  void Install(CURL* easy);

  // Why the transfer was ended from here; OK when it was not.
  const absl::Status& failure() const { return failure_; }
  // Whether any byte of an answer has arrived.
  bool received() const { return received_; }
  bool head_complete() const { return head_complete_; }
  Response TakeResponse() { return std::move(response_); }

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnWrite(char* data, size_t size, size_t count, void* self);

  absl::Status TakeHeaderLine(std::string_view line);
  absl::Status TakeBody(std::string_view bytes);

  const size_t max_body_;
  std::string head_;
  size_t trailer_size_ = 0;
  bool received_ = false;
  bool head_complete_ = false;
  Response response_;
  absl::Status failure_;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_RESPONSE_COLLECTOR_H_
