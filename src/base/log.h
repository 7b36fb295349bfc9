// The log callback of a backend: the only way in which the library says anything.
#ifndef OSBX_BASE_LOG_H_
#define OSBX_BASE_LOG_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace osbx::base {

enum class LogLevel : uint32_t { kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

// Empty when nobody listens. Called from any thread, possibly from several at once; never with a lock held.
using LogFunction = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace osbx::base

#endif  // OSBX_BASE_LOG_H_
