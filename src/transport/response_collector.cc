#include "transport/response_collector.h"

#include <utility>

#include "http/head_parser.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr size_t kMaxHead = 64 * 1024;

// Runs `take`, whose exceptions (for want of memory) must not pass through libcurl's frames.
template <typename Take>
absl::Status Guarded(Take take) {
  try {
    return take();
  } catch (...) {
    return absl::ResourceExhaustedError("");  // allocates nothing
  }
}

}  // namespace

void ResponseCollector::Install(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &ResponseCollector::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ResponseCollector::OnWrite);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
}

// A count other than the one given makes libcurl end the transfer.
size_t ResponseCollector::OnHeader(char* data, size_t size, size_t count, void* self) {
  auto* collector = static_cast<ResponseCollector*>(self);
  collector->received_ = true;
  if (!collector->failure_.ok()) return 0;
  collector->failure_ = Guarded([&] { return collector->TakeHeaderLine({data, size * count}); });
  return collector->failure_.ok() ? size * count : 0;
}

size_t ResponseCollector::OnWrite(char* data, size_t size, size_t count, void* self) {
  auto* collector = static_cast<ResponseCollector*>(self);
  if (!collector->failure_.ok()) return 0;
  collector->failure_ = Guarded([&] { return collector->TakeBody({data, size * count}); });
  return collector->failure_.ok() ? size * count : 0;
}

absl::Status ResponseCollector::TakeHeaderLine(std::string_view line) {
  if (head_complete_) {
    trailer_size_ += line.size();
    return trailer_size_ <= kMaxHead ? absl::OkStatus() : Error(Code::kBackend, "the engine's trailers are too long");
  }
  if (line.size() > kMaxHead - head_.size())
    return Error(Code::kBackend, "the head of the engine's answer is too long");
  head_.append(line);
  if (line != "\r\n" && line != "\n") return absl::OkStatus();
  OSBX_ASSIGN_OR_RETURN(auto head, http::ParseResponseHead(head_, kMaxHead + 1));
  if (!head) return absl::OkStatus();  // 1xx so far
  if (head->status == 101) return Error(Code::kBackend, "the engine switched protocols without being asked");
  head_complete_ = true;
  std::string().swap(head_);
  response_.status = head->status;
  response_.headers = std::move(head->headers);
  if (on_head) on_head(response_.status);
  return absl::OkStatus();
}

absl::Status ResponseCollector::TakeBody(std::string_view bytes) {
  if (!head_complete_) return Error(Code::kBackend, "the engine's answer has no head");
  if (on_body && response_.status >= 200 && response_.status < 300) {
    return on_body(bytes) ? absl::OkStatus() : Error(Code::kCallback, "the receiver ended the call");
  }
  if (bytes.size() > max_body_ - response_.body.size()) {
    return Error(Code::kTooLarge, "the engine's answer is longer than " + std::to_string(max_body_) + " bytes");
  }
  response_.body.append(bytes);
  return absl::OkStatus();
}

}  // namespace osbx::transport
