// What must hold for any bytes that an engine may send as a multiplexed stream. Shared by the fuzz target and by the
// replay of its corpus.
#ifndef OSBX_TESTS_SUPPORT_DEMULTIPLEXER_PROPERTIES_H_
#define OSBX_TESTS_SUPPORT_DEMULTIPLEXER_PROPERTIES_H_

#include <algorithm>
#include <string>
#include <string_view>

#include "transport/demultiplexer.h"

namespace osbx::testing {

struct DemultiplexedOutput {
  std::string out;
  std::string err;
  bool broken = false;      // refused on the way
  bool ended_well = false;  // ends between two frames
  bool operator==(const DemultiplexedOutput& other) const {
    return out == other.out && err == other.err && broken == other.broken && ended_well == other.ended_well;
  }
};

// In pieces of `piece` bytes.
inline DemultiplexedOutput Demultiplexed(std::string_view bytes, size_t piece) {
  DemultiplexedOutput output;
  transport::Demultiplexer demultiplexer;
  const transport::Demultiplexer::Sink sink = [&](transport::Demultiplexer::Stream stream, std::string_view payload) {
    (stream == transport::Demultiplexer::Stream::kStdout ? output.out : output.err).append(payload);
  };
  for (size_t at = 0; at < bytes.size() && !output.broken; at += piece) {
    output.broken = !demultiplexer.Feed(bytes.substr(at, piece), sink).ok();
  }
  // A broken stream stays so.
  if (output.broken && demultiplexer.Feed(std::string_view("\1\0\0\0\0\0\0\0", 8), sink).ok()) return {};
  output.ended_well = demultiplexer.Finish().ok();
  return output;
}

// The same by the format's description alone.
inline DemultiplexedOutput ReferenceDemultiplexed(std::string_view bytes) {
  DemultiplexedOutput output;
  while (!bytes.empty()) {
    const std::string_view padding = bytes.substr(1, 3);
    const auto stream = static_cast<unsigned char>(bytes[0]);
    output.broken = stream < 1 || stream > 3 || padding.find_first_not_of('\0') != std::string_view::npos;
    if (output.broken || bytes.size() < 8) return output;
    size_t size = 0;
    for (const char byte : bytes.substr(4, 4)) size = size << 8 | static_cast<unsigned char>(byte);
    bytes.remove_prefix(8);
    const std::string_view payload = bytes.substr(0, size);
    if (stream == 3) {
      // Fatal once its message is complete, or at its limit. An empty one is so with its header.
      output.broken = payload.size() == size || payload.size() >= 1024;
      return output;
    }
    (stream == 1 ? output.out : output.err).append(payload);
    if (payload.size() < size || (size > 0 && bytes.empty())) return output;
    bytes.remove_prefix(payload.size());
  }
  output.ended_well = true;
  return output;
}

// Empty when everything holds. The first byte chooses the size of the pieces.
inline std::string DemultiplexerViolation(std::string_view input) {
  if (input.empty()) return {};
  const std::string_view bytes = input.substr(1);
  const DemultiplexedOutput expected = ReferenceDemultiplexed(bytes);
  for (const size_t piece :
       {bytes.size() + 1, size_t{1}, 1 + static_cast<size_t>(static_cast<unsigned char>(input[0]))}) {
    if (!(Demultiplexed(bytes, piece) == expected)) return "pieces of " + std::to_string(piece) + " bytes differ";
  }
  return {};
}

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_DEMULTIPLEXER_PROPERTIES_H_
