#include "base/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/process_id.h"
#include "base/retired_threads.h"

namespace osbx::base {
namespace {

// What the pool shares with its threads, each of which keeps it alive.
struct Queue {
  Mutex mutex;
  CondVar changed;
  std::deque<std::function<void()>> waiting ABSL_GUARDED_BY(mutex);
  int idle ABSL_GUARDED_BY(mutex) = 0;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
};

void RunWork(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    // For want of memory: it ends neither the thread nor the host.
  }
}

void* ThreadMain(void* argument) {
  const std::unique_ptr<std::shared_ptr<Queue>> owned(static_cast<std::shared_ptr<Queue>*>(argument));
  Queue& queue = **owned;
  pthread_setname_np(pthread_self(), "osbx-worker");
  for (;;) {
    std::function<void()> work;
    {
      MutexLock lock(queue.mutex);
      ++queue.idle;
      while (queue.waiting.empty() && !queue.stopping) queue.changed.Wait(queue.mutex);
      --queue.idle;
      if (queue.stopping) return nullptr;
      work = std::move(queue.waiting.front());
      queue.waiting.pop_front();
    }
    RunWork(work);
  }
}

}  // namespace

struct WorkerPool::Impl {
  explicit Impl(int most) : most_threads(static_cast<size_t>(most < 1 ? 1 : most)) {}

  const ProcessId creator = CurrentProcess();
  const size_t most_threads;
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();

  Mutex mutex;  // taken before the queue's
  struct Thread {
    pthread_t id{};
    std::unique_ptr<RetiredThread> retirement;  // made beforehand: a destructor must not need memory
  };
  std::vector<Thread> threads ABSL_GUARDED_BY(mutex);

  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    threads.reserve(threads.size() + 1);
    Thread thread;
    thread.retirement = std::make_unique<RetiredThread>();
    auto argument = std::make_unique<std::shared_ptr<Queue>>(queue);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread.id, nullptr, &ThreadMain, argument.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) return Error(Code::kNoMemory, "cannot start a thread (errno " + std::to_string(error) + ")");
    static_cast<void>(argument.release());  // the thread's now
    threads.push_back(std::move(thread));
    return absl::OkStatus();
  }
};

WorkerPool::WorkerPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}

WorkerPool::~WorkerPool() {
  if (CurrentProcess() != impl_->creator) {
    // The threads stayed behind in the parent, and one of them may have held a mutex at the fork.
    static_cast<void>(impl_.release());
    return;
  }
  std::deque<std::function<void()>> unrun;
  {
    MutexLock lock(impl_->queue->mutex);
    impl_->queue->stopping = true;
    unrun.swap(impl_->queue->waiting);
    impl_->queue->changed.NotifyAll();
  }
  std::vector<Impl::Thread> threads;
  {
    MutexLock lock(impl_->mutex);
    threads.swap(impl_->threads);
  }
  for (Impl::Thread& thread : threads) {
    if (pthread_equal(thread.id, pthread_self()) != 0) {
      // Against the header's word; no thread joins itself.
      RetiredThread* const entry = thread.retirement.release();
      *entry = {thread.id, impl_->creator, nullptr};
      AddRetiredThread(entry);
    } else {
      pthread_join(thread.id, nullptr);
    }
  }
}

absl::Status WorkerPool::Run(std::function<void()> work) {
  if (CurrentProcess() != impl_->creator) return Error(Code::kUnsupported, "not usable in a forked child");
  MutexLock lock(impl_->mutex);
  bool all_busy = false;
  {
    MutexLock queue_lock(impl_->queue->mutex);
    all_busy = impl_->queue->waiting.size() >= static_cast<size_t>(impl_->queue->idle);
  }
  if (all_busy && impl_->threads.size() < impl_->most_threads) {
    const absl::Status started = impl_->StartThread();
    if (!started.ok() && impl_->threads.empty()) return started;  // else another thread comes to it later
  }
  {
    MutexLock queue_lock(impl_->queue->mutex);
    impl_->queue->waiting.push_back(std::move(work));
  }
  // One, since the others would find nothing; and not under the mutex, which it takes first.
  impl_->queue->changed.NotifyOne();
  return absl::OkStatus();
}

}  // namespace osbx::base
