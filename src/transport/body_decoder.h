// Reads the body of an answer that refused to become a stream.
#ifndef OSBX_TRANSPORT_BODY_DECODER_H_
#define OSBX_TRANSPORT_BODY_DECODER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/head_parser.h"

namespace osbx::transport {

// Content-Length, chunked, or until the end of the connection, as the head says.
class BodyDecoder {
 public:
  BodyDecoder(const http::ResponseHead& head, size_t max_body);

  // Takes the next bytes, split anywhere. kTooLarge past the limit, kBackend for malformed chunks.
  absl::Status Feed(std::string_view bytes);
  // Whether the body is complete; one that goes on until the end of the connection never is.
  bool done() const { return state_ == State::kDone; }
  std::string TakeBody() { return std::move(body_); }

 private:
  enum class State { kUntilEnd, kCounted, kChunkSize, kChunk, kChunkEnd, kTrailer, kDone };

  absl::Status Append(std::string_view bytes);
  absl::Status TakeLine(std::string_view line);

  const size_t max_body_;
  State state_;
  size_t remaining_ = 0;     // of the body or of the chunk
  size_t trailer_size_ = 0;  // of everything that is not payload
  std::string line_;         // a partial line of the chunk framing
  std::string body_;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_BODY_DECODER_H_
