// Bytes that were received and not yet used. Holds no memory while it is empty and released.
#ifndef OSBX_HTTP_READ_BUFFER_H_
#define OSBX_HTTP_READ_BUFFER_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace osbx::http {

class ReadBuffer {
 public:
  static constexpr size_t kSmallest = size_t{4} << 10;

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  void Consume(size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Receives once, so that no more than `limit` bytes are held; `limit` > size(). The result is recv()'s. `drained`:
  // nothing more was there.
  ssize_t Receive(int fd, size_t limit, bool& drained) {
    if (end_ == capacity_ && begin_ > 0) Move(data_, capacity_);
    // What came in full pieces so far is more than a head: fewer, larger reads.
    if (end_ == capacity_) Grow(capacity_ == 0 ? kSmallest : 4 * capacity_);
    const size_t room = std::min(capacity_ - end_, limit - size());
    ssize_t count = -1;
    do {
      count = recv(fd, data_.get() + end_, room, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count > 0) end_ += static_cast<size_t>(count);
    drained = count < 0 || static_cast<size_t>(count) < room;
    return count;
  }

  // Gives the memory back, if nothing is in it.
  void Release() {
    if (!empty()) return;
    data_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void Grow(size_t capacity) {
    std::unique_ptr<char[]> grown(new char[capacity]);
    Move(grown, capacity);
    data_ = std::move(grown);
  }

  void Move(const std::unique_ptr<char[]>& target, size_t capacity) {
    const size_t count = size();
    if (count > 0) std::memmove(target.get(), data_.get() + begin_, count);
    begin_ = 0;
    end_ = count;
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace osbx::http

#endif  // OSBX_HTTP_READ_BUFFER_H_
