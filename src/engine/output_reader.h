// The output of an exec or an attach, as stdout and stderr.
#ifndef OSBX_ENGINE_OUTPUT_READER_H_
#define OSBX_ENGINE_OUTPUT_READER_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/duplex_stream.h"
#include "transport/demultiplexer.h"

namespace osbx::engine {

class OutputReader {
 public:
  // `stream` is 1 for stdout, 2 for stderr.
  using Sink = std::function<void(uint32_t stream, std::string_view bytes)>;

  // Reads `stream` once and passes on what that gave. kDone: `bytes` moved, frame headers included; kEof only between
  // two frames; kError for a broken stream, a broken frame, or an end inside one.
  base::IoResult Read(base::DuplexStream& stream, const Sink& sink);

 private:
  transport::Demultiplexer demultiplexer_;
};

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_OUTPUT_READER_H_
