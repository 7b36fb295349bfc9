// The beginning of what a command writes to one stream, in bounded memory.
#ifndef OSBX_CONTRACT_OUTPUT_CAPTURE_H_
#define OSBX_CONTRACT_OUTPUT_CAPTURE_H_

#include <cstddef>
#include <string>

#include "base/byte_buffer.h"
#include "base/text.h"

namespace osbx::contract {

class OutputCapture {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  void Append(const char* bytes, size_t count) {
    const size_t room = kMaxBytes - kept_.size();
    if (count > room) truncated_ = true;
    kept_.Append(bytes, count < room ? count : room);
  }
  bool truncated() const { return truncated_; }

  // What was kept, as valid UTF-8. A character that the cap cuts in two is dropped; other bad bytes become U+FFFD.
  std::string Text() const {
    const size_t size = truncated_ ? base::WithoutCutCharacter(kept_.view()) : kept_.size();
    return base::ToValidUtf8(kept_.view().substr(0, size));
  }

 private:
  base::ByteBuffer kept_;
  bool truncated_ = false;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_OUTPUT_CAPTURE_H_
