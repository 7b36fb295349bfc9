#include "transport/hijacked_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/curl_error.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;
using base::IoResult;

IoResult Failed(std::string_view message) { return {IoResult::State::kError, 0, Error(Code::kBackend, message)}; }

IoResult FailedSystemCall(const char* call) {
  return Failed(std::string("stream to the engine: ") + call + ": " + ErrnoText(errno));
}

}  // namespace

HijackedStream::HijackedStream(int fd) : fd_(fd), creator_(getpid()) {}

// The kind's destructor has called Close(), while it could still be asked to let go.
HijackedStream::~HijackedStream() = default;

IoResult HijackedStream::Read(uint8_t* buffer, size_t capacity) {
  if (closed_) return Failed("the stream is closed");
  if (capacity == 0) return {IoResult::State::kError, 0, Error(Code::kInternal, "a read into no buffer")};
  if (prefetched_taken_ < prefetched_.size()) {
    const size_t count = std::min(capacity, prefetched_.size() - prefetched_taken_);
    std::memcpy(buffer, prefetched_.data() + prefetched_taken_, count);
    prefetched_taken_ += count;
    if (prefetched_taken_ == prefetched_.size()) std::string().swap(prefetched_), prefetched_taken_ = 0;
    return {IoResult::State::kDone, count, absl::OkStatus()};
  }
  read_needs_write_ = false;
  return Receive(buffer, capacity);
}

IoResult HijackedStream::Write(const uint8_t* data, size_t size) {
  if (closed_ || write_ended_) return Failed("the stream is closed for writing");
  if (size == 0) return {IoResult::State::kError, 0, Error(Code::kInternal, "a write of nothing")};
  write_needs_read_ = false;
  return Send(data, size);
}

IoResult HijackedStream::ShutdownWrite() {
  if (closed_) return Failed("the stream is closed");
  if (write_ended_) return {};
  write_needs_read_ = false;
  IoResult result = EndSending();
  write_ended_ = result.state == IoResult::State::kDone;
  return result;
}

void HijackedStream::WaitReadable(base::EventLoop::Task task) {
  std::swap(read_task_, task);
  Arm();
}

void HijackedStream::WaitWritable(base::EventLoop::Task task) {
  std::swap(write_task_, task);
  Arm();
}

// A task may be waiting for either readiness, and both for the same one.
void HijackedStream::Arm() {
  if (closed_ || loop_ == nullptr) return;
  if (watcher_ == nullptr) watcher_ = loop_->WatchFd(fd_);
  const bool want_read = (read_task_ && !read_needs_write_) || (write_task_ && write_needs_read_);
  const bool want_write = (write_task_ && !write_needs_read_) || (read_task_ && read_needs_write_);
  if (want_read) watcher_->WaitReadable([this] { OnReady(true); });
  if (want_write) watcher_->WaitWritable([this] { OnReady(false); });
}

void HijackedStream::OnReady(bool readable) {
  base::EventLoop::Task first;
  base::EventLoop::Task second;
  if (read_task_ && read_needs_write_ != readable) first = std::exchange(read_task_, nullptr);
  if (write_task_ && write_needs_read_ == readable) second = std::exchange(write_task_, nullptr);
  if (first && second) {
    // The first may close or destroy this object, and then the second must not run. It goes back, to be run by the
    // wait that follows at once: the socket is still ready for it.
    write_task_ = std::move(second);
    second = nullptr;
    Arm();
  }
  if (first) return first();
  if (second) return second();
}

void HijackedStream::Close() {
  if (std::exchange(closed_, true)) return;
  watcher_.reset();
  const base::EventLoop::Task unrun[] = {std::exchange(read_task_, nullptr), std::exchange(write_task_, nullptr)};
  std::string().swap(prefetched_);
  Release(getpid() != creator_);
}

namespace {

class PlainStream final : public HijackedStream {
 public:
  explicit PlainStream(base::UniqueFd fd) : HijackedStream(fd.get()), socket_(std::move(fd)) {}
  ~PlainStream() override { Close(); }

 private:
  IoResult Receive(uint8_t* buffer, size_t capacity) override {
    for (;;) {
      const ssize_t count = recv(socket_.get(), buffer, capacity, MSG_DONTWAIT);
      if (count > 0) return {IoResult::State::kDone, static_cast<size_t>(count), absl::OkStatus()};
      if (count == 0) return {IoResult::State::kEof, 0, absl::OkStatus()};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::State::kWouldBlock, 0, absl::OkStatus()};
      if (errno != EINTR) return FailedSystemCall("recv");
    }
  }

  IoResult Send(const uint8_t* data, size_t size) override {
    for (;;) {
      const ssize_t count = send(socket_.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) return {IoResult::State::kDone, static_cast<size_t>(count), absl::OkStatus()};
      if (count == 0 || errno == EAGAIN || errno == EWOULDBLOCK) {
        return {IoResult::State::kWouldBlock, 0, absl::OkStatus()};
      }
      if (errno != EINTR) return FailedSystemCall("send");
    }
  }

  IoResult EndSending() override {
    // ENOTCONN: the peer has reset the connection, so there is nothing left to end.
    if (shutdown(socket_.get(), SHUT_WR) != 0 && errno != ENOTCONN) return FailedSystemCall("shutdown");
    return {};
  }

  void Release(bool in_forked_child) override {
    // shutdown(), because a child that the host forked may hold the socket open.
    if (!in_forked_child) (void)shutdown(socket_.get(), SHUT_RDWR);
    socket_.Reset();
  }

  base::UniqueFd socket_;
};

}  // namespace

std::unique_ptr<HijackedStream> NewPlainStream(base::UniqueFd fd) {
  return std::make_unique<PlainStream>(std::move(fd));
}

}  // namespace osbx::transport
