#include "base/event_loop.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <set>
#include <vector>

#include "base/event_loop_waiters.h"
#include "base/retired_threads.h"

namespace osbx::base {
namespace {

// The loop whose thread this is. Trivial, so that no per-thread destructor outlives the library.
thread_local const void* current_loop = nullptr;

}  // namespace

struct EventLoop::Impl {
  using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;

  const pid_t creator = getpid();
  std::atomic<bool> stopping{false};

  Mutex mutex;
  std::vector<Task> posted ABSL_GUARDED_BY(mutex);
  bool drain_queued ABSL_GUARDED_BY(mutex) = false;
  bool started ABSL_GUARDED_BY(mutex) = false;

  pthread_t thread{};                         // written before `started`
  std::unique_ptr<RetiredThread> retirement;  // made beforehand: a destructor must not need memory

  // The loop thread's own, once it runs.
  std::optional<asio::io_context> context;
  std::optional<WorkGuard> work;
  std::set<std::shared_ptr<Waiter>> waiters;

  // Set where nobody may destroy this any more: in a forked child.
  std::shared_ptr<Impl> kept_forever;

  bool InForkedChild() const { return getpid() != creator; }
  bool InLoopThread() const { return current_loop == this; }
  // Whether Asio may be used here and now.
  bool Running() const { return !InForkedChild() && InLoopThread() && !stopping.load(std::memory_order_acquire); }

  static absl::Status Start(const std::shared_ptr<Impl>& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex);
  static void* ThreadMain(void* argument);
  void Drain();
  void TakeApart();

  // What the two kinds of handles have in common: the loop's end of them, or null where it had ended before.
  template <typename W>
  class Handle {
   public:
    Handle(std::shared_ptr<Impl> impl, std::shared_ptr<W> waiter)
        : impl_(std::move(impl)), waiter_(std::move(waiter)) {}
    ~Handle() {
      if (waiter_ == nullptr || impl_->InForkedChild()) return;
      impl_->waiters.erase(waiter_);
      waiter_->Detach();
    }
    // A copy, because a task that is replaced or destroyed can take this handle with it.
    std::shared_ptr<W> Usable() const { return impl_->InForkedChild() ? nullptr : waiter_; }

   private:
    const std::shared_ptr<Impl> impl_;
    const std::shared_ptr<W> waiter_;
  };

  class FdHandle final : public FdWatcher {
   public:
    FdHandle(std::shared_ptr<Impl> impl, std::shared_ptr<FdWaiter> waiter)
        : handle_(std::move(impl), std::move(waiter)) {}
    void WaitReadable(Task task) override {
      if (const auto waiter = handle_.Usable()) waiter->Wait(FdWaiter::Direction::wait_read, std::move(task));
    }
    void WaitWritable(Task task) override {
      if (const auto waiter = handle_.Usable()) waiter->Wait(FdWaiter::Direction::wait_write, std::move(task));
    }
    void Cancel() override {
      if (const auto waiter = handle_.Usable()) waiter->Cancel();
    }

   private:
    const Handle<FdWaiter> handle_;
  };

  class TimerHandle final : public Timer {
   public:
    TimerHandle(std::shared_ptr<Impl> impl, std::shared_ptr<TimerWaiter> waiter)
        : handle_(std::move(impl), std::move(waiter)) {}
    void ExpireAt(TimePoint when, Task task) override {
      if (const auto waiter = handle_.Usable()) waiter->ExpireAt(when, std::move(task));
    }
    void Cancel() override {
      if (const auto waiter = handle_.Usable()) waiter->Cancel();
    }

   private:
    const Handle<TimerWaiter> handle_;
  };

  template <typename W, typename... Arguments>
  std::shared_ptr<W> NewWaiter(Arguments... arguments) {
    assert(InForkedChild() || InLoopThread());
    if (!Running()) return nullptr;
    auto waiter = std::make_shared<W>(*context, arguments...);
    waiters.insert(waiter);
    return waiter;
  }
};

absl::Status EventLoop::Impl::Start(const std::shared_ptr<Impl>& self) {
  if (!self->context.has_value()) self->context.emplace(1);
  // Makes Asio's epoll set now, where its failure can be reported.
  asio::steady_timer(*self->context);
  // Once: the end of a guard without another one stops the context for good.
  if (!self->work.has_value()) self->work.emplace(self->context->get_executor());
  if (self->retirement == nullptr) self->retirement = std::make_unique<RetiredThread>();
  auto argument = std::make_unique<std::shared_ptr<Impl>>(self);

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&self->thread, nullptr, &ThreadMain, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    const Code code = error == EAGAIN || error == ENOMEM ? Code::kNoMemory : Code::kInternal;
    return Error(code, "cannot start the event loop's thread (errno " + std::to_string(error) + ")");
  }
  static_cast<void>(argument.release());  // the thread's now
  self->started = true;
  return absl::OkStatus();
}

void* EventLoop::Impl::ThreadMain(void* argument) {
  const std::unique_ptr<std::shared_ptr<Impl>> self(static_cast<std::shared_ptr<Impl>*>(argument));
  Impl& impl = **self;
  current_loop = &impl;
  pthread_setname_np(pthread_self(), "osbx-loop");
  while (!impl.stopping.load(std::memory_order_acquire)) {
    try {
      impl.context->run();
    } catch (...) {
      // For want of memory inside Asio; the waits are still there, so go on.
    }
  }
  impl.TakeApart();
  return nullptr;
}

void EventLoop::Impl::Drain() {
  std::vector<Task> batch;
  {
    MutexLock lock(mutex);
    batch.swap(posted);
    drain_queued = false;
  }
  // A task can be the end of this loop: then the rest of the batch is destroyed unrun.
  for (size_t i = 0; i < batch.size() && !stopping.load(std::memory_order_acquire); ++i) {
    const Task task = std::move(batch[i]);
    static_cast<void>(RunTask(task));
  }
}

// Destroys every task that did not run. What a task holds may, in its destructor, end other waits or post again, so
// nothing is iterated over and no lock is held meanwhile.
void EventLoop::Impl::TakeApart() {
  while (!waiters.empty()) {
    const std::shared_ptr<Waiter> waiter = std::move(waiters.extract(waiters.begin()).value());
    waiter->Detach();
  }
  std::vector<Task> unrun;
  {
    MutexLock lock(mutex);
    unrun.swap(posted);
  }
  unrun.clear();
  work.reset();
  context.reset();
}

std::shared_ptr<EventLoop> EventLoop::Create() {
  if (current_loop == nullptr) JoinRetired(/*wait=*/false);
  return std::shared_ptr<EventLoop>(new EventLoop(std::make_shared<Impl>()));
}

EventLoop::EventLoop(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

EventLoop::~EventLoop() {
  if (impl_->InForkedChild()) {
    impl_->kept_forever = impl_;
    return;
  }
  bool started = false;
  {
    // Under the mutex, which TakeApart() needs before it destroys the context.
    MutexLock lock(impl_->mutex);
    impl_->stopping.store(true, std::memory_order_release);
    started = impl_->started;
    if (started) impl_->context->stop();
  }
  if (!started) {
    impl_->TakeApart();
  } else if (impl_->InLoopThread()) {
    RetiredThread* const entry = impl_->retirement.release();
    *entry = {impl_->thread, impl_->creator, nullptr};
    AddRetiredThread(entry);
  } else {
    pthread_join(impl_->thread, nullptr);
  }
}

absl::Status EventLoop::Post(Task task) {
  // Before the mutex, which a thread of the parent may have held at the fork.
  if (impl_->InForkedChild()) return Error(Code::kUnsupported, "not usable in a forked child");
  MutexLock lock(impl_->mutex);
  if (impl_->stopping.load(std::memory_order_relaxed)) return Error(Code::kCanceled, "the event loop is ending");
  try {
    if (!impl_->started) OSBX_RETURN_IF_ERROR(Impl::Start(impl_));
    if (!impl_->drain_queued) asio::post(*impl_->context, [impl = impl_.get()] { impl->Drain(); });
    impl_->drain_queued = true;
    impl_->posted.push_back(std::move(task));
  } catch (...) {
    return StatusOfCurrentException();
  }
  return absl::OkStatus();
}

absl::Status EventLoop::RunAndWait(Task task) {
  if (!impl_->InForkedChild() && InLoopThread()) return RunTask(task);

  struct Outcome {
    Mutex mutex;
    CondVar changed;
    bool over ABSL_GUARDED_BY(mutex) = false;
    absl::Status status ABSL_GUARDED_BY(mutex) = Error(Code::kCanceled, "the event loop ended");
  };
  // Its end is the end of the posted task, whether that has run or not.
  struct Ending {
    explicit Ending(std::shared_ptr<Outcome> o) : outcome(std::move(o)) {}
    ~Ending() {
      MutexLock lock(outcome->mutex);
      outcome->over = true;
      outcome->changed.NotifyAll();
    }
    const std::shared_ptr<Outcome> outcome;
  };
  const auto outcome = std::make_shared<Outcome>();
  OSBX_RETURN_IF_ERROR(Post([ending = std::make_shared<Ending>(outcome), &task] {
    absl::Status status = RunTask(task);
    MutexLock lock(ending->outcome->mutex);
    ending->outcome->status = std::move(status);
  }));
  MutexLock lock(outcome->mutex);
  while (!outcome->over) outcome->changed.Wait(outcome->mutex);
  // Moved, so that no other thread holds a part of it.
  return std::move(outcome->status);
}

bool EventLoop::InLoopThread() const { return impl_->InLoopThread(); }

std::unique_ptr<EventLoop::FdWatcher> EventLoop::WatchFd(int fd) {
  return std::make_unique<Impl::FdHandle>(impl_, impl_->NewWaiter<FdWaiter>(fd));
}

std::unique_ptr<EventLoop::Timer> EventLoop::NewTimer() {
  return std::make_unique<Impl::TimerHandle>(impl_, impl_->NewWaiter<TimerWaiter>());
}

void JoinRetiredThreads() {
  // A loop's thread can be among them itself; some other thread will come by.
  if (current_loop == nullptr) JoinRetired(/*wait=*/true);
}

namespace {

// A thread that still ran after the library is unmapped would crash the host.
__attribute__((destructor)) void JoinRetiredThreadsAtUnload() { JoinRetiredThreads(); }

}  // namespace

}  // namespace osbx::base
