// Splits the engine's multiplexed exec and attach stream into stdout and stderr.
//
// Frame: one byte stream number, three zero bytes, a big-endian 32-bit payload length, the payload
// (Docker Engine API, "Stream format" under POST /containers/{id}/attach).
#ifndef OSBX_TRANSPORT_DEMULTIPLEXER_H_
#define OSBX_TRANSPORT_DEMULTIPLEXER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::transport {

class Demultiplexer {
 public:
  enum class Stream : uint8_t { kStdout = 1, kStderr = 2 };
  using Sink = std::function<void(Stream stream, std::string_view bytes)>;

  // Takes the next bytes, split anywhere, and passes payload on as it comes; keeps at most a partial header, so memory
  // does not depend on what a length claims. A frame of another stream number or with non-zero padding is kBackend, and
  // so is every later call. Frames of stream 3 (the engine's own error) become the error's message (up to 1 KiB).
  absl::Status Feed(std::string_view bytes, const Sink& sink);

  // kBackend when the stream ended inside a frame.
  absl::Status Finish() const;

 private:
  bool HeaderIsPossible() const;  // as far as it has arrived

  std::array<uint8_t, 8> header_{};
  size_t header_size_ = 0;
  uint32_t remaining_ = 0;
  uint8_t stream_ = 0;
  std::string system_error_;
  bool failed_ = false;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_DEMULTIPLEXER_H_
