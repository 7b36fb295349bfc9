// What must hold for any bytes that a client may send: the parser of requests and their bodies. Shared by the fuzz
// target and by the replay of its corpus.
#ifndef OSBX_TESTS_SUPPORT_REQUEST_PROPERTIES_H_
#define OSBX_TESTS_SUPPORT_REQUEST_PROPERTIES_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"

namespace osbx::testing {

constexpr size_t kMaxHead = 1024;
constexpr size_t kMaxWaiting = 16 * 1024;

struct TakenRequest {
  http::Request request;
  std::string body;
  bool complete = false;
  bool keep_alive = false;
  bool expects_continue = false;

  bool operator==(const TakenRequest& other) const {
    return request.method == other.request.method && request.target == other.request.target &&
           request.version == other.request.version && request.headers == other.request.headers &&
           request.content_length == other.request.content_length && body == other.body && complete == other.complete &&
           keep_alive == other.keep_alive && expects_continue == other.expects_continue;
  }
};

// Does with a connection's bytes what a server does, and keeps what it found.
class RequestTaker {
 public:
  explicit RequestTaker(size_t piece_limit) : piece_limit_(piece_limit) {}

  void Feed(std::string_view bytes) {
    if (refused_status != 0) return;
    waiting_.append(bytes);
    while (refused_status == 0 && Advance()) {
    }
    if (waiting_.size() > kMaxWaiting) violation = "bytes pile up";
  }

  std::vector<TakenRequest> requests;
  int refused_status = 0;
  std::string violation;

 private:
  // Whether something was used.
  bool Advance() {
    if (parser_ == nullptr) {
      if (waiting_.empty()) return false;
      parser_ = std::make_unique<http::RequestParser>(kMaxHead);
    }
    if (!has_head_) {
      const auto size = parser_->ParseHead(waiting_);
      if (!size.ok()) return Refuse(size.status());
      if (*size == 0) return false;
      if (*size > waiting_.size() || *size > kMaxHead) violation = "a head is longer than what was given";
      if (waiting_.substr(*size - 4, 4) != "\r\n\r\n") violation = "a head does not end in a blank line";
      waiting_.erase(0, *size);
      has_head_ = true;
      TakenRequest taken;
      taken.request = parser_->TakeRequest();
      taken.keep_alive = parser_->keep_alive();
      taken.expects_continue = parser_->expects_continue();
      CheckRequest(taken.request);
      requests.push_back(taken);
    }
    const size_t before = requests.back().body.size();
    const auto used = parser_->ParseBody(waiting_, piece_limit_, requests.back().body);
    if (!used.ok()) return Refuse(used.status());
    if (*used > waiting_.size()) violation = "more was used than given";
    if (requests.back().body.size() > before + piece_limit_) violation = "a piece is longer than its limit";
    waiting_.erase(0, *used);
    if (!parser_->complete()) return *used > 0;
    const auto& length = requests.back().request.content_length;
    if (length.value_or(requests.back().body.size()) != requests.back().body.size()) violation = "a wrong length";
    requests.back().complete = true;
    parser_.reset();
    has_head_ = false;
    return true;
  }

  bool Refuse(const absl::Status& status) {
    refused_status = base::HttpStatusOf(status);
    if (refused_status < 400 || refused_status > 599) violation = "a refusal without a status";
    // What of the body stood before the refusal depends on the split; nobody gets to see it.
    if (has_head_) requests.back().body.clear();
    return false;
  }

  void CheckRequest(const http::Request& request) {
    constexpr std::string_view kBadInName("\r\n\0: \t", 6);
    constexpr std::string_view kBadInValue("\r\n\0\x7f", 4);
    if (request.method.empty() || request.method.find_first_of(kBadInName) != std::string::npos) violation = "a method";
    if (request.target.empty() || (request.target[0] != '/' && request.target != "*")) violation = "a target";
    if (request.target.find_first_of(kBadInName.substr(0, 3)) != std::string::npos) violation = "a bad target";
    if (request.version != 10 && request.version != 11) violation = "a version";
    if (request.headers.size() > 100) violation = "too many headers";
    int lengths = 0;
    int encodings = 0;
    int hosts = 0;
    for (const auto& [name, value] : request.headers) {
      if (name.empty() || name.find_first_of(kBadInName) != std::string::npos) violation = "a bad name";
      if (value.find_first_of(kBadInValue) != std::string::npos) violation = "a bad value";
      if (http::EqualsIgnoringCase(name, "Content-Length")) ++lengths;
      if (http::EqualsIgnoringCase(name, "Transfer-Encoding")) ++encodings;
      if (http::EqualsIgnoringCase(name, "Host")) ++hosts;
    }
    if (lengths + encodings > 1 || hosts > 1) violation = "an ambiguous request was taken";
    if (request.content_length.has_value() != (lengths == 1)) violation = "a length from nowhere";
  }

  const size_t piece_limit_;
  std::string waiting_;
  std::unique_ptr<http::RequestParser> parser_;
  bool has_head_ = false;
};

// Empty when everything holds. The first byte chooses where the bytes behind it are split.
inline std::string RequestViolation(std::string_view input) {
  if (input.empty()) return {};
  const std::string_view bytes = input.substr(1);
  const size_t split = bytes.size() * static_cast<unsigned char>(input[0]) / 255;
  RequestTaker whole(size_t{1} << 20);
  whole.Feed(bytes);
  RequestTaker halves(7);
  halves.Feed(bytes.substr(0, split));
  halves.Feed(bytes.substr(split));
  RequestTaker single(size_t{1} << 20);
  for (size_t i = 0; i < bytes.size(); ++i) single.Feed(bytes.substr(i, 1));
  for (const RequestTaker* taker : {&whole, &halves, &single}) {
    if (!taker->violation.empty()) return taker->violation;
    if (taker->refused_status != whole.refused_status) return "the split changes a refusal";
    if (taker->requests != whole.requests) return "the split changes a request";
  }
  return {};
}

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_REQUEST_PROPERTIES_H_
