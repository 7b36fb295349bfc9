#include "docker/exit_watch.h"

#include <utility>

#include "base/await.h"
#include "engine/container_calls.h"

namespace osbx::docker {

ExitWatch::ExitWatch(std::shared_ptr<engine::Client> client, std::string container)
    : client_(std::move(client)), container_(std::move(container)), creator_(base::CurrentProcess()) {}

ExitWatch::~ExitWatch() {
  if (call_ == nullptr) return;
  if (creator_ != base::CurrentProcess()) {
    (void)call_.release();  // of the process that forked this one
    return;
  }
  // The call belongs to the loop. If the loop is gone the call has gone with it.
  std::shared_ptr<engine::PendingCall> call = std::move(call_);
  std::shared_ptr<base::EventLoop> loop = client_->loop();
  if (loop->InLoopThread()) return;
  (void)loop->Post([call = std::move(call), client = client_]() mutable {
    call.reset();
    client.reset();
  });
}

absl::Status ExitWatch::Begin() {
  std::weak_ptr<ExitWatch> weak = weak_from_this();
  return client_->loop()->Post([weak] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->call_ = self->client_->Start<int64_t>(
        engine::WaitContainer(self->container_, engine::WaitCondition::kNextExit), base::TimePoint::max(),
        [weak](absl::StatusOr<int64_t> code) {
          if (auto watch = weak.lock()) watch->OnDone(std::move(code));
        },
        [weak](int status) {
          if (auto watch = weak.lock()) watch->OnHead(status);
        });
  });
}

void ExitWatch::OnHead(int status) {
  if (status != 200) return;  // the error follows with the body
  base::MutexLock lock(mutex_);
  if (phase_ == Phase::kOpening) phase_ = Phase::kOpen;
  changed_.NotifyAll();
}

void ExitWatch::OnDone(absl::StatusOr<int64_t> code) {
  const bool gone = code.ok() || base::CodeOf(code.status()) == base::Code::kNotFound;
  {
    base::MutexLock lock(mutex_);
    phase_ = gone ? Phase::kExited : Phase::kFailed;
    if (!gone) failure_ = code.status();
    changed_.NotifyAll();
  }
  call_.reset();
  if (!gone) return;  // the daemon went away: streams and their own calls tell
  std::map<uint64_t, std::function<void()>> listeners = std::move(listeners_);
  listeners_.clear();
  for (auto& [id, listener] : listeners) listener();
}

absl::Status ExitWatch::AwaitOpen(const base::Context& context) {
  OSBX_RETURN_IF_ERROR(base::Await(
      mutex_, changed_, context, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return phase_ != Phase::kOpening; }));
  base::MutexLock lock(mutex_);
  if (phase_ == Phase::kExited) return base::Error(base::Code::kNotRunning, "the sandbox is not running");
  return failure_;
}

uint64_t ExitWatch::AddListener(std::function<void()> listener) {
  bool exited;
  {
    base::MutexLock lock(mutex_);
    exited = phase_ == Phase::kExited;
  }
  const uint64_t id = next_id_++;
  if (exited) {
    listener();
  } else {
    listeners_[id] = std::move(listener);
  }
  return id;
}

void ExitWatch::RemoveListener(uint64_t id) { listeners_.erase(id); }

absl::StatusOr<std::shared_ptr<ExitWatch>> ExitWatches::Acquire(const std::shared_ptr<engine::Client>& client,
                                                                const std::string& container) {
  std::shared_ptr<ExitWatch> watch;
  {
    base::MutexLock lock(mutex_);
    std::weak_ptr<ExitWatch>& slot = watches_[container];
    watch = slot.lock();
    if (watch != nullptr && watch->creator_ == base::CurrentProcess()) {
      base::MutexLock state(watch->mutex_);
      // One that has fired or failed says nothing about the container's next life.
      if (watch->phase_ == ExitWatch::Phase::kOpening || watch->phase_ == ExitWatch::Phase::kOpen) return watch;
    }
    watch = std::make_shared<ExitWatch>(client, container);
    slot = watch;
    for (auto it = watches_.begin(); it != watches_.end();) {
      it = it->second.expired() ? watches_.erase(it) : std::next(it);
    }
  }
  OSBX_RETURN_IF_ERROR(watch->Begin());
  return watch;
}

}  // namespace osbx::docker
