#include "transport/body_decoder.h"

#include <algorithm>

#include "base/text.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr size_t kMaxLine = 256;
constexpr size_t kMaxFraming = 64 * 1024;

absl::Status Malformed() { return Error(Code::kBackend, "the engine's answer has malformed chunks"); }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

BodyDecoder::BodyDecoder(const http::ResponseHead& head, size_t max_body)
    : max_body_(max_body), state_(State::kUntilEnd) {
  const std::string_view length = head.Header("Content-Length");
  if (head.status == 204 || head.status == 304) {
    state_ = State::kDone;
  } else if (!head.Header("Transfer-Encoding").empty()) {
    state_ = State::kChunkSize;
  } else if (!length.empty()) {
    for (const char digit : length)
      remaining_ = remaining_ * 10 + static_cast<size_t>(digit - '0');  // checked: 18 digits
    state_ = remaining_ == 0 ? State::kDone : State::kCounted;
  }
}

absl::Status BodyDecoder::Feed(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::kDone) {
    if (state_ == State::kUntilEnd) return Append(bytes);
    if (state_ == State::kCounted || state_ == State::kChunk) {
      const std::string_view payload = bytes.substr(0, remaining_);
      OSBX_RETURN_IF_ERROR(Append(payload));
      bytes.remove_prefix(payload.size());
      remaining_ -= payload.size();
      if (remaining_ == 0) state_ = state_ == State::kCounted ? State::kDone : State::kChunkEnd;
      continue;
    }
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + 1);
    bytes.remove_prefix(part.size());
    trailer_size_ += part.size();
    if (part.size() > kMaxLine - std::min(kMaxLine, line_.size()) || trailer_size_ > kMaxFraming) return Malformed();
    line_.append(part);
    if (end == std::string_view::npos) break;
    const std::string line = std::move(line_);
    line_.clear();
    if (line.size() < 2 || line[line.size() - 2] != '\r') return Malformed();
    OSBX_RETURN_IF_ERROR(TakeLine(std::string_view(line).substr(0, line.size() - 2)));
  }
  return absl::OkStatus();
}

absl::Status BodyDecoder::TakeLine(std::string_view line) {
  switch (state_) {
    case State::kChunkSize: {
      size_t digits = 0;
      remaining_ = 0;
      for (; digits < line.size() && HexValue(line[digits]) >= 0; ++digits) {
        if (digits == 15) return Malformed();
        remaining_ = remaining_ * 16 + static_cast<size_t>(HexValue(line[digits]));
      }
      if (digits == 0 || (digits < line.size() && line[digits] != ';')) return Malformed();
      state_ = remaining_ == 0 ? State::kTrailer : State::kChunk;
      return absl::OkStatus();
    }
    case State::kChunkEnd:
      if (!line.empty()) return Malformed();
      state_ = State::kChunkSize;
      return absl::OkStatus();
    default:  // kTrailer
      if (line.empty()) state_ = State::kDone;
      return absl::OkStatus();
  }
}

absl::Status BodyDecoder::Append(std::string_view bytes) {
  if (bytes.size() > max_body_ - body_.size()) return Error(Code::kTooLarge, "the engine's answer is too long");
  body_.append(bytes);
  return absl::OkStatus();
}

}  // namespace osbx::transport
