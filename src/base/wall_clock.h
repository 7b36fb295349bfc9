// Unix time on this host's clock, for what others read: labels, and questions about an engine's past.
#ifndef OSBX_BASE_WALL_CLOCK_H_
#define OSBX_BASE_WALL_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace osbx::base {

inline int64_t UnixNanoseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

inline int64_t UnixMilliseconds() { return UnixNanoseconds() / 1000000; }

}  // namespace osbx::base

#endif  // OSBX_BASE_WALL_CLOCK_H_
