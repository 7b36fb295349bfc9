#include "base/child_waiter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

#include "base/child_exit.h"
#include "base/process_id.h"
#include "base/unique_fd.h"

namespace osbx::base {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // static TLS of a host's libraries is part of it
constexpr std::chrono::milliseconds kPause{20};

class HostedChildWaiter final : public ChildWaiter, public std::enable_shared_from_this<HostedChildWaiter> {
 public:
  HostedChildWaiter(const std::shared_ptr<EventLoop>& loop, bool use_threads)
      : loop_(loop), use_threads_(use_threads) {}
  ~HostedChildWaiter() override;

  void Watch(pid_t pid, Callback done) override;
  bool adopts_orphans() const override { return false; }

 private:
  struct Child {
    pid_t pid = 0;
    Callback done;
    // One of these tells.
    UniqueFd descriptor;
    std::unique_ptr<EventLoop::FdWatcher> watcher;  // destroyed before its descriptor
    bool has_thread = false;
    pthread_t thread{};
    std::unique_ptr<EventLoop::Timer> timer;
  };
  // What a waiting thread holds: nothing of the loop's that it could be the last to let go of.
  struct ThreadArgument {
    pid_t pid;
    uint64_t id;
    std::weak_ptr<EventLoop> loop;
    std::weak_ptr<HostedChildWaiter> waiter;
  };

  static void* ThreadMain(void* argument);
  bool StartThread(uint64_t id, Child* child);
  void WaitDescriptor(uint64_t id, Child* child);
  void WaitPause(uint64_t id, Child* child);
  void OnMayHaveEnded(uint64_t id);

  const ProcessId creator_ = CurrentProcess();
  const std::weak_ptr<EventLoop> loop_;
  const bool use_threads_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Child> children_;  // by a number of ours: a pid can come again
};

HostedChildWaiter::~HostedChildWaiter() {
  for (auto& entry : children_) {
    Child& child = entry.second;
    if (!child.has_thread || CurrentProcess() != creator_) continue;
    // Only the loop reaps, so the pid is still the child's; and only its end ends the thread.
    kill(child.pid, SIGKILL);
    pthread_join(child.thread, nullptr);
  }
}

void HostedChildWaiter::Watch(pid_t pid, Callback done) {
  ChildExit exit;
  if (Reap(pid, &exit) != ReapResult::kRuns) {
    const std::shared_ptr<EventLoop> loop = loop_.lock();
    if (loop != nullptr) static_cast<void>(loop->Post([done = std::move(done), exit] { done(exit); }));
    return;
  }
  const uint64_t id = next_id_++;
  Child& child = children_[id];
  child.pid = pid;
  child.done = std::move(done);
  if (!use_threads_) child.descriptor.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0u)));
  if (child.descriptor.valid()) {
    if (const std::shared_ptr<EventLoop> loop = loop_.lock()) child.watcher = loop->WatchFd(child.descriptor.get());
    WaitDescriptor(id, &child);
  } else if (!StartThread(id, &child)) {
    WaitPause(id, &child);
  }
}

void HostedChildWaiter::WaitDescriptor(uint64_t id, Child* child) {
  if (child->watcher == nullptr) return;  // the loop is ending
  child->watcher->WaitReadable([weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->OnMayHaveEnded(id);
  });
}

// For want of a thread. A child is never left without anybody who asks for it.
void HostedChildWaiter::WaitPause(uint64_t id, Child* child) {
  if (child->timer == nullptr) {
    const std::shared_ptr<EventLoop> loop = loop_.lock();
    if (loop == nullptr) return;
    child->timer = loop->NewTimer();
  }
  child->timer->ExpireAt(Clock::now() + kPause, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->OnMayHaveEnded(id);
  });
}

bool HostedChildWaiter::StartThread(uint64_t id, Child* child) {
  auto argument = std::make_unique<ThreadArgument>(ThreadArgument{child->pid, id, loop_, weak_from_this()});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&child->thread, &attributes, &ThreadMain, argument.get());
  if (error == EINVAL) error = pthread_create(&child->thread, nullptr, &ThreadMain, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  static_cast<void>(argument.release());  // the thread's now
  child->has_thread = true;
  return true;
}

void* HostedChildWaiter::ThreadMain(void* raw) {
  const std::unique_ptr<ThreadArgument> argument(static_cast<ThreadArgument*>(raw));
  pthread_setname_np(pthread_self(), "osbx-child");
  siginfo_t info = {};
  // Leaves the child for the loop to reap: until then its pid is nobody else's.
  while (waitid(P_PID, static_cast<id_t>(argument->pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // A loop that ends meanwhile has no use for it. It can be this thread that lets go of the loop last, which joins it.
  if (const std::shared_ptr<EventLoop> loop = argument->loop.lock()) {
    static_cast<void>(loop->Post([weak = argument->waiter, id = argument->id] {
      if (const auto self = weak.lock()) self->OnMayHaveEnded(id);
    }));
  }
  return nullptr;
}

void HostedChildWaiter::OnMayHaveEnded(uint64_t id) {
  const auto found = children_.find(id);
  if (found == children_.end()) return;
  ChildExit exit;
  if (Reap(found->second.pid, &exit) == ReapResult::kRuns) {
    // The kernel refused to watch the descriptor, or there is neither descriptor nor thread.
    if (found->second.watcher != nullptr) {
      WaitDescriptor(id, &found->second);
    } else {
      WaitPause(id, &found->second);
    }
    return;
  }
  const Child child = std::move(found->second);
  children_.erase(found);
  if (child.has_thread) pthread_join(child.thread, nullptr);  // it ends right after its post
  child.done(exit);
}

}  // namespace

std::shared_ptr<ChildWaiter> NewChildWaiter(const std::shared_ptr<EventLoop>& loop, bool use_threads) {
  return std::make_shared<HostedChildWaiter>(loop, use_threads);
}

}  // namespace osbx::base
