#include "base/event_loop.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Event;
using testing::LoopThreads;

TEST(EventLoop, StartsItsThreadWithTheFirstPost) {
  const auto loop = EventLoop::Create();
  EXPECT_EQ(LoopThreads(), 0);
  Event ran;
  ASSERT_TRUE(loop->Post([&ran] { ran.Set(); }).ok());
  ASSERT_TRUE(ran.Wait());
  EXPECT_EQ(LoopThreads(), 1);
}

TEST(EventLoop, RunsTheTasksOfEachThreadInOrder) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  const auto loop = EventLoop::Create();
  std::vector<int> last(kThreads, -1);
  std::atomic<int> misplaced{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        EXPECT_TRUE(loop->Post([&, t, i] {
                          if (last[t] != i - 1) ++misplaced;
                          last[t] = i;
                        })
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(loop->RunAndWait([] {}).ok());
  EXPECT_EQ(misplaced, 0);
  EXPECT_EQ(last, std::vector<int>(kThreads, kTasks - 1));
}

TEST(EventLoop, KeepsTheOrderBetweenItsOwnThreadAndAnother) {
  const auto loop = EventLoop::Create();
  std::vector<int> order;
  Event posted_first;
  Event posted_second;
  ASSERT_TRUE(loop->Post([&] {
                    EXPECT_TRUE(loop->Post([&order] { order.push_back(1); }).ok());
                    posted_first.Set();
                    EXPECT_TRUE(posted_second.Wait());
                  })
                  .ok());
  ASSERT_TRUE(posted_first.Wait());
  ASSERT_TRUE(loop->Post([&order] { order.push_back(2); }).ok());
  posted_second.Set();
  ASSERT_TRUE(loop->RunAndWait([] {}).ok());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(EventLoop, RunAndWaitRunsOnTheLoopThread) {
  const auto loop = EventLoop::Create();
  EXPECT_FALSE(loop->InLoopThread());
  bool inside = false;
  ASSERT_TRUE(loop->RunAndWait([&] { inside = loop->InLoopThread(); }).ok());
  EXPECT_TRUE(inside);
}

TEST(EventLoop, RunAndWaitOnTheLoopThreadRunsAtOnce) {
  const auto loop = EventLoop::Create();
  bool nested = false;
  bool seen = false;
  ASSERT_TRUE(loop->RunAndWait([&] {
                    EXPECT_TRUE(loop->RunAndWait([&nested] { nested = true; }).ok());
                    seen = nested;
                  })
                  .ok());
  EXPECT_TRUE(seen);
}

TEST(EventLoop, OneLoopsThreadIsNotAnothers) {
  const auto one = EventLoop::Create();
  const auto other = EventLoop::Create();
  bool inside = true;
  ASSERT_TRUE(one->RunAndWait([&] { inside = other->InLoopThread(); }).ok());
  EXPECT_FALSE(inside);
}

TEST(EventLoop, ThrowingTaskEndsNeitherThreadNorLoop) {
  const auto loop = EventLoop::Create();
  ASSERT_TRUE(loop->Post([] { throw std::bad_alloc(); }).ok());
  EXPECT_EQ(CodeOf(loop->RunAndWait([] { throw std::bad_alloc(); })), Code::kNoMemory);
  EXPECT_TRUE(loop->RunAndWait([] {}).ok());
}

TEST(EventLoop, BlocksAllSignalsInItsThreadAndNoneInTheCallers) {
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  ASSERT_EQ(sigismember(&before, SIGUSR1), 0);
  const auto loop = EventLoop::Create();
  sigset_t inside;
  sigemptyset(&inside);
  ASSERT_TRUE(loop->RunAndWait([&inside] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).ok());
  for (const int signal : {SIGUSR1, SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGALRM}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
  }
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

// Whether timers work, for loops that could not start at first.
bool TimerFires(EventLoop& loop) {
  Event event;
  std::unique_ptr<EventLoop::Timer> timer;
  const absl::Status armed = loop.RunAndWait([&] {
    timer = loop.NewTimer();
    timer->ExpireAt(Clock::now(), [&event] { event.Set(); });
  });
  const bool fired = armed.ok() && event.Wait();
  return loop.RunAndWait([&timer] { timer.reset(); }).ok() && fired;
}

TEST(EventLoop, ReportsThatNoDescriptorIsLeftAndStartsLater) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own checks need descriptors";
#endif
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto loop = EventLoop::Create();
  const auto tracker = std::make_shared<int>(0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status refused = loop->Post([tracker] {});
  const absl::Status refused_again = loop->Post([tracker] {});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(CodeOf(refused), Code::kInternal) << refused;
  EXPECT_EQ(CodeOf(refused_again), Code::kInternal) << refused_again;
  EXPECT_EQ(tracker.use_count(), 1);
  EXPECT_TRUE(TimerFires(*loop));
}

TEST(EventLoop, ReportsThatNoThreadCanBeMadeAndStartsLater) {
  const auto loop = EventLoop::Create();
  const auto tracker = std::make_shared<int>(0);
  pthread_attr_t before;
  pthread_attr_t huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const absl::Status refused = loop->Post([tracker] {});
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&huge);
  EXPECT_EQ(CodeOf(refused), Code::kNoMemory) << refused;
  EXPECT_EQ(tracker.use_count(), 1);
  EXPECT_EQ(LoopThreads(), 0);
  EXPECT_TRUE(TimerFires(*loop));
}

}  // namespace
}  // namespace osbx::base
