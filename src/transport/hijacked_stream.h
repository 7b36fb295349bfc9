// The byte stream that a hijacked request leaves behind, over a plain socket or over TLS.
#ifndef OSBX_TRANSPORT_HIJACKED_STREAM_H_
#define OSBX_TRANSPORT_HIJACKED_STREAM_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/duplex_stream.h"
#include "base/unique_fd.h"

namespace osbx::transport {

// What the two kinds share: the bytes that came with the answer's head, and waiting. A kind says for each operation
// that would block which readiness it waits for, since TLS may have to write in order to read.
class HijackedStream : public base::DuplexStream {
 public:
  explicit HijackedStream(int fd);
  ~HijackedStream() override;

  // Bytes that arrived behind the head, to be read first.
  void Prepend(std::string bytes) { prefetched_ = std::move(bytes); }

  void Attach(base::EventLoop& loop) final { loop_ = &loop; }
  base::IoResult Read(uint8_t* buffer, size_t capacity) final;
  base::IoResult Write(const uint8_t* data, size_t size) final;
  base::IoResult ShutdownWrite() final;
  void WaitReadable(base::EventLoop::Task task) final;
  void WaitWritable(base::EventLoop::Task task) final;
  void Close() final;

  // For waiting without a loop: the socket, and the direction of the last operation that would have blocked.
  int fd() const { return fd_; }
  bool read_needs_write() const { return read_needs_write_; }
  bool write_needs_read() const { return write_needs_read_; }

 protected:
  virtual base::IoResult Receive(uint8_t* buffer, size_t capacity) = 0;
  virtual base::IoResult Send(const uint8_t* data, size_t size) = 0;
  virtual base::IoResult EndSending() = 0;
  // Lets go of the connection. In a forked child nothing may reach the peer, whose connection is the parent's.
  virtual void Release(bool in_forked_child) = 0;

  // Set by Receive and Send along with kWouldBlock.
  bool read_needs_write_ = false;
  bool write_needs_read_ = false;

 private:
  void Arm();
  void OnReady(bool readable);

  const int fd_;
  const pid_t creator_;
  std::string prefetched_;
  size_t prefetched_taken_ = 0;
  bool closed_ = false;
  bool write_ended_ = false;
  base::EventLoop* loop_ = nullptr;
  std::unique_ptr<base::EventLoop::FdWatcher> watcher_;  // made on the loop's thread, at the first wait
  base::EventLoop::Task read_task_;
  base::EventLoop::Task write_task_;
};

// The socket itself; libcurl is out of the way once it has connected.
std::unique_ptr<HijackedStream> NewPlainStream(base::UniqueFd fd);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_HIJACKED_STREAM_H_
