// One sandbox, and what is known of it.
#ifndef OSBX_CORE_SANDBOX_H_
#define OSBX_CORE_SANDBOX_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/cancel.h"
#include "core/guest_operations.h"

namespace osbx::core {

// The numbers equal `osbx_state` in osbx.h.
enum class State : uint32_t { kRunning = 1, kStopped = 2, kError = 3 };

struct Info {
  std::string name;
  std::string id;
  std::string image;
  State state = State::kError;
  int64_t created_ms = 0;                     // Unix time
  std::map<std::string, std::string> labels;  // the caller's own
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;
  virtual const Info& info() const = 0;  // as it was when the sandbox was created or opened
  virtual GuestOperations& guest() = 0;
  virtual absl::Status Stop(const base::Context& context) = 0;
};

}  // namespace osbx::core

#endif  // OSBX_CORE_SANDBOX_H_
