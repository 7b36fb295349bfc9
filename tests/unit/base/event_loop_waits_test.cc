// Watchers and timers of an event loop.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Event;

class EventLoopWaits : public ::testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    here_ = UniqueFd(fds[0]);
    there_ = UniqueFd(fds[1]);
  }

  void TearDown() override {
    Run([this] {
      watcher_.reset();
      timer_.reset();
    });
  }

  void Run(EventLoop::Task task) { ASSERT_TRUE(loop_->RunAndWait(std::move(task)).ok()); }
  // Lets everything run that is ready by now: completions first, then posted tasks, in each of several rounds.
  void Settle() {
    for (int i = 0; i < 5; ++i) Run([] {});
  }
  void SendByte() const { ASSERT_EQ(send(there_.get(), "x", 1, MSG_NOSIGNAL), 1); }

  const std::shared_ptr<EventLoop> loop_ = EventLoop::Create();
  UniqueFd here_;
  UniqueFd there_;
  std::unique_ptr<EventLoop::FdWatcher> watcher_;
  std::unique_ptr<EventLoop::Timer> timer_;
};

TEST_F(EventLoopWaits, ReadableOncePerWait) {
  std::atomic<int> runs{0};
  Event first;
  Event second;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&] {
      ++runs;
      first.Set();
    });
  });
  Settle();
  EXPECT_EQ(runs, 0);
  SendByte();
  ASSERT_TRUE(first.Wait());
  SendByte();
  Settle();
  EXPECT_EQ(runs, 1);
  // Not read yet, so a new wait ends at once although nothing new arrives.
  Run([&] { watcher_->WaitReadable([&second] { second.Set(); }); });
  EXPECT_TRUE(second.Wait());
}

TEST_F(EventLoopWaits, BothDirectionsAtOnce) {
  Event writable;
  Event readable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&readable] { readable.Set(); });
    watcher_->WaitWritable([&writable] { writable.Set(); });
  });
  EXPECT_TRUE(writable.Wait());
  SendByte();
  EXPECT_TRUE(readable.Wait());
}

TEST_F(EventLoopWaits, WritableAgainWhenThePeerReads) {
  std::vector<char> block(1 << 16);
  while (send(here_.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
  }
  std::atomic<bool> ran{false};
  Event writable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitWritable([&] {
      ran = true;
      writable.Set();
    });
  });
  Settle();
  EXPECT_FALSE(ran);
  while (recv(there_.get(), block.data(), block.size(), 0) > 0) {
  }
  EXPECT_TRUE(writable.Wait());
}

TEST_F(EventLoopWaits, HangUpEndsTheWait) {
  Event readable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&readable] { readable.Set(); });
  });
  there_.Reset();
  EXPECT_TRUE(readable.Wait());
}

TEST_F(EventLoopWaits, NewTaskReplacesTheOld) {
  std::atomic<bool> old_ran{false};
  const auto tracker = std::make_shared<int>(0);
  Event readable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&old_ran, tracker] { old_ran = true; });
    watcher_->WaitReadable([&readable] { readable.Set(); });
    EXPECT_EQ(tracker.use_count(), 1);
  });
  SendByte();
  ASSERT_TRUE(readable.Wait());
  Settle();
  EXPECT_FALSE(old_ran);
}

TEST_F(EventLoopWaits, WaitsAgainAfterCancel) {
  std::atomic<bool> cancelled_ran{false};
  std::atomic<bool> ran{false};
  Event readable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&cancelled_ran] { cancelled_ran = true; });
    watcher_->Cancel();
    watcher_->WaitReadable([&] {
      ran = true;
      readable.Set();
    });
  });
  Settle();
  EXPECT_FALSE(ran);  // the end of the cancelled wait is not the end of the new one
  SendByte();
  EXPECT_TRUE(readable.Wait());
  EXPECT_FALSE(cancelled_ran);
}

// Both descriptors are ready before the loop looks, so that the second completion is queued when the first task runs.
TEST_F(EventLoopWaits, NoTaskRunsAfterCancelThoughItsCompletionIsQueued) {
  for (const bool destroy : {false, true}) {
    std::atomic<int> runs{0};
    std::unique_ptr<EventLoop::FdWatcher> other;
    ASSERT_EQ(send(here_.get(), "x", 1, MSG_NOSIGNAL), 1);
    SendByte();
    Event first;
    Run([&] {
      watcher_ = loop_->WatchFd(here_.get());
      other = loop_->WatchFd(there_.get());
      const auto end = [&runs, &first, destroy](std::unique_ptr<EventLoop::FdWatcher>& victim) {
        ++runs;
        destroy ? victim.reset() : victim->Cancel();
        first.Set();
      };
      watcher_->WaitReadable([&, end] { end(other); });
      other->WaitReadable([&, end] { end(watcher_); });
    });
    ASSERT_TRUE(first.Wait());
    Settle();
    EXPECT_EQ(runs, 1);
    Run([&] {
      watcher_.reset();
      other.reset();
    });
  }
}

TEST_F(EventLoopWaits, CancelRacesWithReadiness) {
  Run([&] { watcher_ = loop_->WatchFd(here_.get()); });
  std::atomic<int> late{0};
  for (int i = 0; i < 300; ++i) {
    bool cancelled = false;  // the loop thread's
    Run([&] {
      watcher_->WaitReadable([&] {
        if (cancelled) ++late;
      });
    });
    SendByte();
    Run([&] {
      watcher_->Cancel();
      cancelled = true;
    });
    Settle();
    char byte;
    ASSERT_EQ(recv(here_.get(), &byte, 1, 0), 1);
  }
  EXPECT_EQ(late, 0);
}

TEST_F(EventLoopWaits, WatcherDestroyedByItsOwnTask) {
  Event done;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([this, &done, tracker = std::make_shared<int>(7)] {
      watcher_.reset();
      EXPECT_EQ(*tracker, 7);  // the task outlives the watcher while it runs
      done.Set();
    });
  });
  SendByte();
  EXPECT_TRUE(done.Wait());
}

TEST_F(EventLoopWaits, WatcherDestroyedByTheTaskThatIsReplaced) {
  struct EndsWatcher {
    explicit EndsWatcher(std::unique_ptr<EventLoop::FdWatcher>& w) : watcher(w) {}
    ~EndsWatcher() { watcher.reset(); }
    std::unique_ptr<EventLoop::FdWatcher>& watcher;
  };
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    EventLoop::FdWatcher* const raw = watcher_.get();
    raw->WaitReadable([ends = std::make_shared<EndsWatcher>(watcher_)] {});
    raw->WaitReadable([] {});
    EXPECT_EQ(watcher_, nullptr);
  });
}

TEST_F(EventLoopWaits, DescriptorStaysOpenAndCanBeWatchedAgain) {
  Event readable;
  Run([&] {
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([] {});
    watcher_.reset();
    EXPECT_NE(fcntl(here_.get(), F_GETFD), -1);
    watcher_ = loop_->WatchFd(here_.get());
    watcher_->WaitReadable([&readable] { readable.Set(); });
  });
  SendByte();
  EXPECT_TRUE(readable.Wait());
}

TEST_F(EventLoopWaits, RegularFileIsAlwaysReady) {
  char name[] = "/tmp/osbx-event-loop-XXXXXX";
  const UniqueFd file(mkostemp(name, O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  unlink(name);
  Event readable;
  Event writable;
  Run([&] {
    watcher_ = loop_->WatchFd(file.get());
    watcher_->WaitReadable([&readable] { readable.Set(); });
    watcher_->WaitWritable([&writable] { writable.Set(); });
  });
  EXPECT_TRUE(readable.Wait());
  EXPECT_TRUE(writable.Wait());
  Run([&] { watcher_.reset(); });
}

TEST_F(EventLoopWaits, BadDescriptorRunsTheTaskWhichFindsOut) {
  Event readable;
  std::atomic<bool> cancelled_ran{false};
  Run([&] {
    watcher_ = loop_->WatchFd(-1);
    watcher_->WaitWritable([&cancelled_ran] { cancelled_ran = true; });
    watcher_->Cancel();
    watcher_->WaitReadable([&readable] { readable.Set(); });
  });
  EXPECT_TRUE(readable.Wait());
  Settle();
  EXPECT_FALSE(cancelled_ran);
}

TEST_F(EventLoopWaits, TimerRunsOnceAndNotEarly) {
  const TimePoint when = Clock::now() + std::chrono::milliseconds(30);
  TimePoint ran_at;
  Event expired;
  Run([&] {
    timer_ = loop_->NewTimer();
    timer_->ExpireAt(when, [&] {
      ran_at = Clock::now();
      expired.Set();
    });
  });
  ASSERT_TRUE(expired.Wait());
  EXPECT_GE(ran_at, when);
}

TEST_F(EventLoopWaits, TimerExpiryIsReplacedBothWays) {
  std::atomic<bool> far_ran{false};
  Event near;
  Run([&] {
    timer_ = loop_->NewTimer();
    timer_->ExpireAt(Clock::now() + std::chrono::hours(1), [&far_ran] { far_ran = true; });
    timer_->ExpireAt(TimePoint::min(), [&near] { near.Set(); });
  });
  ASSERT_TRUE(near.Wait());
  std::atomic<bool> past_ran{false};
  Run([&] {
    timer_->ExpireAt(Clock::now() - std::chrono::hours(1), [&past_ran] { past_ran = true; });
    timer_->ExpireAt(TimePoint::max() - std::chrono::nanoseconds(1), [&far_ran] { far_ran = true; });
  });
  Settle();
  EXPECT_FALSE(past_ran);
  EXPECT_FALSE(far_ran);
}

TEST_F(EventLoopWaits, TimerIsDisarmedByTheLastTimePoint) {
  std::atomic<bool> ran{false};
  const auto tracker = std::make_shared<int>(0);
  Run([&] {
    timer_ = loop_->NewTimer();
    timer_->ExpireAt(TimePoint::min(), [&ran, tracker] { ran = true; });
    timer_->ExpireAt(TimePoint::max(), [&ran, tracker] { ran = true; });
    EXPECT_EQ(tracker.use_count(), 1);
  });
  Settle();
  EXPECT_FALSE(ran);
}

TEST_F(EventLoopWaits, CancelledTimerDoesNotRunThoughItsCompletionIsQueued) {
  std::atomic<int> runs{0};
  std::unique_ptr<EventLoop::Timer> other;
  Event first;
  Run([&] {
    timer_ = loop_->NewTimer();
    other = loop_->NewTimer();
    const auto end = [&runs, &first](std::unique_ptr<EventLoop::Timer>& victim) {
      ++runs;
      victim->Cancel();
      first.Set();
    };
    timer_->ExpireAt(TimePoint::min(), [&, end] { end(other); });
    other->ExpireAt(TimePoint::min(), [&, end] { end(timer_); });
  });
  ASSERT_TRUE(first.Wait());
  Settle();
  EXPECT_EQ(runs, 1);
  Run([&] { other.reset(); });
}

}  // namespace
}  // namespace osbx::base
