// Bytes that grow by realloc: a large block is remapped by the kernel, not copied, so collecting output of n bytes
// costs about n bytes of memory, never the sum of an old and a new block.
#ifndef OSBX_BASE_BYTE_BUFFER_H_
#define OSBX_BASE_BYTE_BUFFER_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace osbx::base {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~ByteBuffer() { std::free(data_); }

  // Never null, so that a C caller can pass an empty buffer on.
  const uint8_t* data() const { return data_ != nullptr ? data_ : reinterpret_cast<const uint8_t*>(""); }
  size_t size() const { return size_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data()), size_}; }

  void Append(const void* bytes, size_t count) {
    if (count == 0) return;
    if (count > capacity_ - size_) Grow(size_ + count);
    std::memcpy(data_ + size_, bytes, count);
    size_ += count;
  }

 private:
  void Grow(size_t needed) {
    size_t capacity = capacity_ + capacity_ / 2;
    if (capacity < needed) capacity = needed;
    if (capacity < 4096) capacity = 4096;
    void* grown = std::realloc(data_, capacity);
    if (grown == nullptr) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(grown);
    capacity_ = capacity;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_BYTE_BUFFER_H_
