#include "engine/output_reader.h"

#include <array>

namespace osbx::engine {

base::IoResult OutputReader::Read(base::DuplexStream& stream, const Sink& sink) {
  std::array<uint8_t, 32 * 1024> buffer;
  base::IoResult result = stream.Read(buffer.data(), buffer.size());
  absl::Status whole;
  if (result.state == base::IoResult::State::kDone) {
    whole = demultiplexer_.Feed({reinterpret_cast<const char*>(buffer.data()), result.bytes},
                                [&sink](transport::Demultiplexer::Stream id, std::string_view bytes) {
                                  sink(static_cast<uint32_t>(id), bytes);
                                });
  } else if (result.state == base::IoResult::State::kEof) {
    whole = demultiplexer_.Finish();
  }
  if (!whole.ok()) return {base::IoResult::State::kError, 0, whole};
  return result;
}

}  // namespace osbx::engine
