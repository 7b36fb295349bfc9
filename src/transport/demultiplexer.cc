#include "transport/demultiplexer.h"

#include <algorithm>
#include <cstring>

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr uint8_t kSystemError = 3;
constexpr size_t kMaxSystemError = 1024;

absl::Status SystemError(std::string_view message) {
  return Error(Code::kBackend, "the engine ended the stream: " + std::string(message));
}

}  // namespace

absl::Status Demultiplexer::Feed(std::string_view bytes, const Sink& sink) {
  if (failed_) return Error(Code::kBackend, "the engine's stream is broken");
  while (!bytes.empty()) {
    if (header_size_ < header_.size()) {
      const size_t taken = std::min(header_.size() - header_size_, bytes.size());
      std::memcpy(header_.data() + header_size_, bytes.data(), taken);
      header_size_ += taken;
      bytes.remove_prefix(taken);
      // What is wrong shows as soon as its byte is there; a peer that sends plain text is found out at the first one.
      if (!HeaderIsPossible()) {
        failed_ = true;
        return Error(Code::kBackend, "the engine's stream has an impossible frame");
      }
      if (header_size_ < header_.size()) break;
      stream_ = header_[0];
      remaining_ = uint32_t{header_[4]} << 24 | uint32_t{header_[5]} << 16 | uint32_t{header_[6]} << 8 | header_[7];
    }
    const std::string_view payload = bytes.substr(0, remaining_);
    bytes.remove_prefix(payload.size());
    remaining_ -= static_cast<uint32_t>(payload.size());
    if (stream_ == kSystemError) {
      system_error_.append(payload.substr(0, kMaxSystemError - system_error_.size()));
      if (remaining_ == 0 || system_error_.size() == kMaxSystemError) {
        failed_ = true;
        return SystemError(system_error_);
      }
    } else if (!payload.empty()) {
      sink(static_cast<Stream>(stream_), payload);
    }
    if (remaining_ == 0) header_size_ = 0;
  }
  return absl::OkStatus();
}

absl::Status Demultiplexer::Finish() const {
  if (failed_) return Error(Code::kBackend, "the engine's stream is broken");
  if (header_size_ == 0) return absl::OkStatus();
  if (header_size_ == header_.size() && stream_ == kSystemError) return SystemError(system_error_);
  return Error(Code::kBackend, "the engine's stream ended inside a frame");
}

bool Demultiplexer::HeaderIsPossible() const {
  if (header_[0] < 1 || header_[0] > kSystemError) return false;
  for (size_t i = 1; i < std::min<size_t>(header_size_, 4); ++i) {
    if (header_[i] != 0) return false;
  }
  return true;
}

}  // namespace osbx::transport
