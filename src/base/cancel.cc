#include "base/cancel.h"

#include <algorithm>
#include <utility>

#include "base/await.h"

namespace osbx::base {

TimePoint SaturatingAdd(TimePoint now, std::chrono::milliseconds d) {
  static_assert(std::is_same_v<Clock::period, std::nano> && sizeof(Clock::rep) == sizeof(int64_t));
  // The sum of any two operands fits into 128 bits, so the order of the operations cannot overflow on the way.
  __extension__ using Wide = __int128;
  const Wide sum = Wide{now.time_since_epoch().count()} + Wide{d.count()} * 1000000;
  if (sum >= Wide{TimePoint::max().time_since_epoch().count()}) return TimePoint::max();
  if (sum <= Wide{TimePoint::min().time_since_epoch().count()}) return TimePoint::min();
  return TimePoint(Clock::duration(static_cast<Clock::rep>(sum)));
}

int MillisecondsUntil(TimePoint deadline, int limit) {
  const TimePoint now = Clock::now();
  if (limit <= 0 || deadline <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  return static_cast<int>(std::min<int64_t>(left.count(), limit));
}

void CancelToken::Fire() {
  MutexLock lock(mutex_);
  if (fired_) return;
  fired_ = true;
  // Under the mutex, so that RemoveWakeup() returns only when the wakeup is not running.
  for (const auto& [id, wakeup] : wakeups_) wakeup();
}

bool CancelToken::fired() const {
  MutexLock lock(mutex_);
  return fired_;
}

void CancelToken::SetDeadline(TimePoint deadline) {
  MutexLock lock(mutex_);
  deadline_ = deadline;
  for (const auto& [id, wakeup] : wakeups_) wakeup();
}

TimePoint CancelToken::deadline() const {
  MutexLock lock(mutex_);
  return deadline_;
}

uint64_t CancelToken::AddWakeup(Wakeup wakeup) {
  MutexLock lock(mutex_);
  const uint64_t id = next_id_++;
  const auto added = wakeups_.emplace(id, std::move(wakeup)).first;
  if (fired_) added->second();
  return id;
}

void CancelToken::RemoveWakeup(uint64_t id) {
  // What the wakeup holds is destroyed after the mutex is free: it may hold the last reference to this token.
  std::map<uint64_t, Wakeup>::node_type removed;
  {
    MutexLock lock(mutex_);
    removed = wakeups_.extract(id);
  }
}

TimePoint Context::deadline() const { return token_ ? std::min(deadline_, token_->deadline()) : deadline_; }

absl::Status Context::Check() const {
  if (token_ && token_->fired()) return Error(Code::kCanceled, "canceled by the caller");
  const TimePoint until = deadline();
  if (until != TimePoint::max() && Clock::now() >= until) return Error(Code::kTimeout, "deadline exceeded");
  return absl::OkStatus();
}

Context Context::WithTimeout(std::chrono::milliseconds d) const {
  return Context(token_, std::min(deadline_, SaturatingAdd(Clock::now(), d)));
}

Context Context::Detached(std::chrono::milliseconds d) { return Context(nullptr, SaturatingAdd(Clock::now(), d)); }

ScopedWakeup::ScopedWakeup(const Context& context, CancelToken::Wakeup wakeup) : token_(context.token()) {
  if (token_) id_ = token_->AddWakeup(std::move(wakeup));
}

ScopedWakeup::~ScopedWakeup() {
  if (token_) token_->RemoveWakeup(id_);
}

absl::Status Pause(std::chrono::milliseconds d, const Context& context) {
  const Context pause = context.WithTimeout(d);
  Mutex mutex;
  CondVar changed;
  (void)Await(mutex, changed, pause, [] { return false; });
  return context.Check();
}

}  // namespace osbx::base
