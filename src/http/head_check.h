// What a message's head must look like beyond what Beast's parser insists on, for servers and clients alike.
//
// Beast takes a field folded over lines, "Content-Length: 3, 3", any Transfer-Encoding beside a Content-Length or in
// HTTP/1.0, and two Hosts. Where two readers may disagree on where a message ends, one of them can be deceived, so
// nothing here is repaired: it is refused. Every error carries the HTTP status that a server answers it with.
#ifndef OSBX_HTTP_HEAD_CHECK_H_
#define OSBX_HTTP_HEAD_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "http/headers.h"

namespace osbx::http {

constexpr size_t kMaxHeaders = 100;
constexpr size_t kMaxChunkLine = 256;  // a chunk's size and its extensions
constexpr size_t kMaxTrailer = size_t{8} << 10;

// Looks for the end of a head, line by line, and refuses bad line ends, folded fields and control characters as soon as
// they arrive.
class HeadScanner {
 public:
  // `bytes`: everything since the first byte of the message. Its head's size, blank line included; 0 while that has not
  // arrived. Each call goes on where the last one ended.
  absl::StatusOr<size_t> FindEnd(std::string_view bytes);

 private:
  size_t scanned_ = 0;
};

// Where the body ends, as the fields say it.
struct Framing {
  std::optional<uint64_t> content_length;
  bool chunked = false;
};
// It must be said once, and in one way. `version`: 10 or 11.
absl::StatusOr<Framing> CheckFraming(const Headers& headers, int version);

// One Host field at most, and one at least in HTTP/1.1. Of a request.
absl::Status CheckHost(const Headers& headers, int version);

// Request line without its line end: 505 for an HTTP version that is another one, 400 for no version.
absl::Status CheckVersion(std::string_view line);

// A chunk's first line, of which `bytes` has what has arrived and perhaps more behind it.
struct ChunkLine {
  size_t bytes = 0;  // with its line end; 0 while that has not arrived
  uint64_t size = 0;
};
absl::StatusOr<ChunkLine> CheckChunkLine(std::string_view bytes);

}  // namespace osbx::http

#endif  // OSBX_HTTP_HEAD_CHECK_H_
