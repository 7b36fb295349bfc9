// A byte stream both ways, read and written without blocking on an event loop's thread.
//
// What a hijacked engine exec is today, and what a broker's upgrade or another engine's exec can be: everything above
// needs nothing else to reach a process inside a sandbox.
#ifndef OSBX_BASE_DUPLEX_STREAM_H_
#define OSBX_BASE_DUPLEX_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "base/event_loop.h"
#include "base/status.h"

namespace osbx::base {

struct IoResult {
  enum class State { kDone, kWouldBlock, kEof, kError };
  State state = State::kDone;
  size_t bytes = 0;     // kDone: at least 1
  absl::Status status;  // kError
};

class DuplexStream {
 public:
  virtual ~DuplexStream() = default;

  // Hands the stream to `loop`. Before it, only the creating thread may touch the stream; after it, only the loop's.
  // The loop must outlive the stream.
  virtual void Attach(EventLoop& loop) = 0;

  virtual IoResult Read(uint8_t* buffer, size_t capacity) = 0;
  virtual IoResult Write(const uint8_t* data, size_t size) = 0;
  // Half-close: the peer sees the end of what was written and can still answer. kWouldBlock: call again when writable.
  virtual IoResult ShutdownWrite() = 0;

  // One-shot, as EventLoop::FdWatcher's. Call only after kWouldBlock.
  virtual void WaitReadable(EventLoop::Task task) = 0;
  virtual void WaitWritable(EventLoop::Task task) = 0;
  // Ends pending waits without running their tasks and closes both ways. Idempotent.
  virtual void Close() = 0;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_DUPLEX_STREAM_H_
