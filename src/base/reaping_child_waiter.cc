// The waiter of a program that owns its process: every child is reaped, whoever's it was.
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/child_exit.h"
#include "base/child_waiter.h"
#include "base/unique_fd.h"

namespace osbx::base {
namespace {

constexpr size_t kMostUnclaimed = 4096;
constexpr int kReapsPerTurn = 256;

class ReapingChildWaiter final : public ChildWaiter, public std::enable_shared_from_this<ReapingChildWaiter> {
 public:
  ReapingChildWaiter(const std::shared_ptr<EventLoop>& loop, UniqueFd signals)
      : loop_(loop), signals_(std::move(signals)), watcher_(loop->WatchFd(signals_.get())) {}

  void Begin() {
    Wait();
    ReapAll();  // those that ended before the descriptor was there
  }

  void Watch(pid_t pid, Callback done) override {
    ChildExit exit;
    const ReapResult result = Reap(pid, &exit);
    const auto unclaimed = unclaimed_.find(pid);
    // A pid that is no child any more was reaped as an orphan; that of a living child was another's before.
    if (result == ReapResult::kNoChild && unclaimed != unclaimed_.end()) exit = unclaimed->second;
    if (unclaimed != unclaimed_.end()) unclaimed_.erase(unclaimed);
    if (result == ReapResult::kRuns) {
      watched_[pid] = std::move(done);
    } else {
      Deliver(std::move(done), exit);
    }
  }

  bool adopts_orphans() const override { return true; }

 private:
  void Wait() {
    watcher_->WaitReadable([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnSignal();
    });
  }

  void OnSignal() {
    // Taken before the children are: one that ends later signals again.
    signalfd_siginfo taken[16];
    while (read(signals_.get(), taken, sizeof(taken)) > 0) {
    }
    ReapAll();
    Wait();
  }

  void ReapAll() {
    for (int i = 0; i < kReapsPerTurn; ++i) {
      siginfo_t info = {};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (info.si_pid == 0) return;
      OnReaped(info.si_pid, ExitOf(info));
    }
    // A bomb's orphans, perhaps; others have their turn first.
    if (const std::shared_ptr<EventLoop> loop = loop_.lock()) {
      static_cast<void>(loop->Post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ReapAll();
      }));
    }
  }

  void OnReaped(pid_t pid, ChildExit exit) {
    const auto found = watched_.find(pid);
    if (found != watched_.end()) {
      Callback done = std::move(found->second);
      watched_.erase(found);
      Deliver(std::move(done), exit);
      return;
    }
    const bool is_new = unclaimed_.insert_or_assign(pid, exit).second;
    if (!is_new) return;
    order_.push_back(pid);
    if (order_.size() <= kMostUnclaimed) return;
    unclaimed_.erase(order_.front());
    order_.pop_front();
  }

  void Deliver(Callback done, ChildExit exit) {
    if (const std::shared_ptr<EventLoop> loop = loop_.lock()) {
      static_cast<void>(loop->Post([done = std::move(done), exit] { done(exit); }));
    }
  }

  const std::weak_ptr<EventLoop> loop_;
  const UniqueFd signals_;
  const std::unique_ptr<EventLoop::FdWatcher> watcher_;
  std::map<pid_t, Callback> watched_;
  // Exits that nobody watched for, should Watch() come yet, the oldest first in `order_`.
  std::map<pid_t, ChildExit> unclaimed_;
  std::deque<pid_t> order_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<ChildWaiter>> NewReapingChildWaiter(const std::shared_ptr<EventLoop>& loop) {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  UniqueFd signals(signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) {
    return Error(Code::kInternal, "cannot watch for the end of children (errno " + std::to_string(errno) + ")");
  }
  const auto waiter = std::make_shared<ReapingChildWaiter>(loop, std::move(signals));
  waiter->Begin();
  return waiter;
}

}  // namespace osbx::base
