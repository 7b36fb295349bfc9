// The parts of an event loop that wait: for a descriptor, for a time.
//
// Part of event_loop.cc, which alone includes it, because Asio is compiled nowhere else.
#ifndef OSBX_BASE_EVENT_LOOP_WAITERS_H_
#define OSBX_BASE_EVENT_LOOP_WAITERS_H_

#define BOOST_ASIO_NO_DEPRECATED
#define BOOST_ASIO_NO_TS_EXECUTORS
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/event_loop.h"
#include "base/status.h"

namespace osbx::base {

namespace asio = boost::asio;

inline absl::Status StatusOfCurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(Code::kNoMemory, "out of memory");
  } catch (const std::exception& e) {
    return Error(Code::kInternal, std::string("event loop: ") + e.what());
  } catch (...) {
    return Error(Code::kInternal, "event loop: unknown exception");
  }
}

// A task that throws (for want of memory: nothing here throws by itself) ends neither the thread nor the host.
inline absl::Status RunTask(const EventLoop::Task& task) {
  try {
    task();
    return absl::OkStatus();
  } catch (...) {
    return StatusOfCurrentException();
  }
}

// One wait for one event at a time. A completion carries the generation that it was started for; Reset() moves on to
// the next, so that a completion that is already queued finds nothing to do.
class PendingWait {
 public:
  // Whether the caller must start a wait for generation(); otherwise one is under way and will run the new task.
  bool Replace(EventLoop::Task task) {
    task_.swap(task);
    return !std::exchange(active_, true);
  }
  uint64_t generation() const { return generation_; }

  // Returns the task, for the caller to destroy when nothing depends on this object any more.
  EventLoop::Task Reset() {
    ++generation_;
    active_ = false;
    return std::exchange(task_, nullptr);
  }

  void Complete(uint64_t generation) {
    if (generation != generation_ || !active_) return;
    if (const EventLoop::Task task = Reset()) static_cast<void>(RunTask(task));
  }

 private:
  EventLoop::Task task_;
  uint64_t generation_ = 0;
  bool active_ = false;
};

// What a watcher or a timer has inside a loop. The loop owns it beside the handle and takes it apart when it ends, so
// that a handle can outlive the loop. In a forked child it is never touched nor destroyed: the child shares the epoll
// set with its parent.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  Waiter() = default;
  virtual ~Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  virtual void Cancel() = 0;
  // Cancel(), and lets go of everything of Asio's.
  virtual void Detach() = 0;
};

class FdWaiter final : public Waiter {
 public:
  using Direction = asio::posix::descriptor_base::wait_type;

  FdWaiter(asio::io_context& context, int fd) : descriptor_(std::in_place, context) {
    boost::system::error_code error;
    descriptor_->assign(fd, error);
    if (!error) return;
    // The kernel refuses to watch the descriptor: it is bad, or the user's limit is reached. The tasks run all the
    // same, so that their own reads and writes find out, after a pause that keeps their retries from spinning.
    read_.pause.emplace(context);
    write_.pause.emplace(context);
  }

  void Wait(Direction direction, EventLoop::Task task) {
    if (!descriptor_.has_value()) return;
    Side& side = SideOf(direction);
    if (!side.wait.Replace(std::move(task))) return;
    // A failed wait runs the task as well, which meets the error at its descriptor; a cancelled one is out of date.
    auto done = [self = std::static_pointer_cast<FdWaiter>(shared_from_this()), direction,
                 generation = side.wait.generation()](boost::system::error_code) {
      self->SideOf(direction).wait.Complete(generation);
    };
    try {
      if (side.pause.has_value()) {
        side.pause->expires_after(std::chrono::milliseconds(20));
        side.pause->async_wait(std::move(done));
      } else {
        descriptor_->async_wait(direction, std::move(done));
      }
    } catch (...) {
      side.wait.Reset();  // no wait is under way that a later task could rely on
      throw;
    }
  }

  void Cancel() override {
    const EventLoop::Task unrun[] = {read_.wait.Reset(), write_.wait.Reset()};
    if (!descriptor_.has_value()) return;
    boost::system::error_code ignored;
    descriptor_->cancel(ignored);
    if (read_.pause.has_value()) read_.pause->cancel();
    if (write_.pause.has_value()) write_.pause->cancel();
  }

  void Detach() override {
    const EventLoop::Task unrun[] = {read_.wait.Reset(), write_.wait.Reset()};
    if (descriptor_.has_value() && descriptor_->is_open()) descriptor_->release();  // the descriptor is the caller's
    descriptor_.reset();
    read_.pause.reset();
    write_.pause.reset();
  }

 private:
  struct Side {
    PendingWait wait;
    std::optional<asio::steady_timer> pause;
  };
  Side& SideOf(Direction direction) { return direction == Direction::wait_read ? read_ : write_; }

  std::optional<asio::posix::stream_descriptor> descriptor_;
  Side read_;
  Side write_;
};

class TimerWaiter final : public Waiter {
 public:
  explicit TimerWaiter(asio::io_context& context) : timer_(std::in_place, context) {}

  void ExpireAt(TimePoint when, EventLoop::Task task) {
    const EventLoop::Task replaced = wait_.Reset();
    if (!timer_.has_value()) return;
    timer_->expires_at(when);  // ends the wait of the earlier expiry
    if (when == TimePoint::max()) return;
    wait_.Replace(std::move(task));
    const auto self = std::static_pointer_cast<TimerWaiter>(shared_from_this());
    timer_->async_wait(
        [self, generation = wait_.generation()](boost::system::error_code) { self->wait_.Complete(generation); });
  }

  void Cancel() override {
    const EventLoop::Task unrun = wait_.Reset();
    if (timer_.has_value()) timer_->cancel();
  }

  void Detach() override {
    const EventLoop::Task unrun = wait_.Reset();
    timer_.reset();
  }

 private:
  std::optional<asio::steady_timer> timer_;
  PendingWait wait_;
};

}  // namespace osbx::base

#endif  // OSBX_BASE_EVENT_LOOP_WAITERS_H_
