// Cancellation and deadlines: one token for both, and the context that a call carries.
#ifndef OSBX_BASE_CANCEL_H_
#define OSBX_BASE_CANCEL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "base/status.h"

namespace osbx::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

// `now + d`, or TimePoint::max() where the sum would overflow.
TimePoint SaturatingAdd(TimePoint now, std::chrono::milliseconds d);
// Milliseconds until `deadline`, rounded up, in [0, limit].
int MillisecondsUntil(TimePoint deadline, int limit);

// Fired at most once, from any thread; may carry one absolute deadline on the monotonic clock. Used by any number of
// calls at once. The token does not watch the clock: whoever waits does, through Context::deadline().
class CancelToken {
 public:
  using Wakeup = std::function<void()>;

  void Fire();
  bool fired() const;

  void SetDeadline(TimePoint deadline);
  TimePoint deadline() const;

  // Runs `wakeup` on every Fire() and SetDeadline(), on the calling thread of those, and once right away if the token
  // has fired already. It must not block, throw, or touch the token. Remove() returns only when it can run no more.
  uint64_t AddWakeup(Wakeup wakeup);
  void RemoveWakeup(uint64_t id);

 private:
  mutable Mutex mutex_;
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint deadline_ ABSL_GUARDED_BY(mutex_) = TimePoint::max();
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Wakeup> wakeups_ ABSL_GUARDED_BY(mutex_);
};

// What bounds one call: the caller's token, if any, and a deadline of the call's own.
class Context {
 public:
  Context() = default;
  explicit Context(std::shared_ptr<CancelToken> token, TimePoint deadline = TimePoint::max())
      : token_(std::move(token)), deadline_(deadline) {}

  const std::shared_ptr<CancelToken>& token() const { return token_; }
  // The earlier of the token's deadline and the call's own.
  TimePoint deadline() const;
  // OK, or kCanceled when the token has fired, or kTimeout when the deadline has passed.
  absl::Status Check() const;
  // The same context, with a deadline no later than `now + d`.
  Context WithTimeout(std::chrono::milliseconds d) const;
  // This context's deadline without its token: for clean-up that must happen although the caller gave up.
  static Context Detached(std::chrono::milliseconds d);

 private:
  std::shared_ptr<CancelToken> token_;
  TimePoint deadline_ = TimePoint::max();
};

// A wakeup registered for the life of this object. Does nothing when the context has no token.
class ScopedWakeup {
 public:
  ScopedWakeup(const Context& context, CancelToken::Wakeup wakeup);
  ~ScopedWakeup();
  ScopedWakeup(const ScopedWakeup&) = delete;
  ScopedWakeup& operator=(const ScopedWakeup&) = delete;

 private:
  std::shared_ptr<CancelToken> token_;
  uint64_t id_ = 0;
};

// Sleeps for `d` on the calling thread, or until `context` ends it: its status then.
absl::Status Pause(std::chrono::milliseconds d, const Context& context);

}  // namespace osbx::base

#endif  // OSBX_BASE_CANCEL_H_
