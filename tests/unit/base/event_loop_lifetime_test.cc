// The ends of an event loop: on another thread, on its own, with waits under way, and in a forked child.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Event;
using testing::Eventually;
using testing::LoopThreads;

std::pair<UniqueFd, UniqueFd> MakePipe() {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Holds a reference to itself through its own waits, as streams do.
struct Stream : std::enable_shared_from_this<Stream> {
  std::unique_ptr<EventLoop::FdWatcher> watcher;
  std::unique_ptr<EventLoop::Timer> timer;
  void Start(EventLoop& loop, int fd) {
    watcher = loop.WatchFd(fd);
    watcher->WaitReadable([self = shared_from_this()] {});
    timer = loop.NewTimer();
    timer->ExpireAt(Clock::now() + std::chrono::hours(1), [self = shared_from_this()] {});
  }
};

// Drops the last reference to `loop` in one of its own tasks, which then goes on with `then`.
void EndOnItsOwnThread(std::shared_ptr<EventLoop> loop, EventLoop::Task then) {
  struct Held {
    Event handed_over;
    std::shared_ptr<EventLoop> loop;
  };
  const auto held = std::make_shared<Held>();
  ASSERT_TRUE(loop->Post([held, then = std::move(then)] {
                    EXPECT_TRUE(held->handed_over.Wait());
                    held->loop.reset();
                    then();
                  })
                  .ok());
  held->loop = std::move(loop);
  held->handed_over.Set();
}

TEST(EventLoopLifetime, EndsItsThread) {
  for (int i = 0; i < 20; ++i) {
    const auto loop = EventLoop::Create();
    ASSERT_TRUE(loop->RunAndWait([] {}).ok());
  }
  EXPECT_TRUE(Eventually([] { return LoopThreads() == 0; }));
}

TEST(EventLoopLifetime, EndsWithoutEverHavingStarted) {
  std::weak_ptr<EventLoop> weak;
  {
    const auto loop = EventLoop::Create();
    weak = loop;
  }
  EXPECT_TRUE(weak.expired());
}

TEST(EventLoopLifetime, DestroysTasksThatDidNotRun) {
  auto loop = EventLoop::Create();
  const auto tracker = std::make_shared<int>(0);
  std::atomic<bool> refused{false};
  std::atomic<bool> ran{false};
  // Stays in its task until the loop is ending, so that the next task cannot have run before.
  Event started;
  ASSERT_TRUE(loop->Post([raw = loop.get(), &refused, &started] {
                    started.Set();
                    refused = Eventually([raw] { return CodeOf(raw->Post([] {})) == Code::kCanceled; });
                  })
                  .ok());
  ASSERT_TRUE(loop->Post([tracker, &ran] { ran = true; }).ok());
  ASSERT_TRUE(started.Wait());
  loop.reset();
  EXPECT_TRUE(refused);
  EXPECT_FALSE(ran);
  EXPECT_EQ(tracker.use_count(), 1);
}

TEST(EventLoopLifetime, DestroysTheTasksOfPendingWaits) {
  const auto [reader, writer] = MakePipe();
  auto loop = EventLoop::Create();
  auto stream = std::make_shared<Stream>();
  const std::weak_ptr<Stream> weak = stream;
  ASSERT_TRUE(loop->RunAndWait([&, fd = reader.get()] { stream->Start(*loop, fd); }).ok());
  stream.reset();
  ASSERT_FALSE(weak.expired());
  loop.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_NE(fcntl(reader.get(), F_GETFD), -1);
}

TEST(EventLoopLifetime, HandlesOutliveTheLoop) {
  const auto [reader, writer] = MakePipe();
  auto loop = EventLoop::Create();
  std::unique_ptr<EventLoop::FdWatcher> watcher;
  std::unique_ptr<EventLoop::Timer> timer;
  ASSERT_TRUE(loop->RunAndWait([&, fd = reader.get()] {
                    watcher = loop->WatchFd(fd);
                    timer = loop->NewTimer();
                  })
                  .ok());
  loop.reset();
  const auto tracker = std::make_shared<int>(0);
  watcher->WaitReadable([tracker] {});
  watcher->WaitWritable([tracker] {});
  timer->ExpireAt(Clock::now(), [tracker] {});
  EXPECT_EQ(tracker.use_count(), 1);
  watcher->Cancel();
  timer->Cancel();
  watcher.reset();
  timer.reset();
  EXPECT_NE(fcntl(reader.get(), F_GETFD), -1);
}

TEST(EventLoopLifetime, EndsOnItsOwnThread) {
  auto loop = EventLoop::Create();
  const auto tracker = std::make_shared<int>(0);
  std::atomic<bool> ran_later{false};
  Event posted;
  Event ended;
  // Holds the loop's thread until the last task is in the queue behind the one that ends the loop.
  ASSERT_TRUE(loop->Post([&posted] { EXPECT_TRUE(posted.Wait()); }).ok());
  struct Last {
    std::shared_ptr<EventLoop> loop;
  };
  const auto last = std::make_shared<Last>();
  ASSERT_TRUE(loop->Post([&ended, last] {
                    last->loop.reset();
                    ended.Set();
                  })
                  .ok());
  ASSERT_TRUE(loop->Post([tracker, &ran_later] { ran_later = true; }).ok());
  last->loop = std::move(loop);
  posted.Set();
  ASSERT_TRUE(ended.Wait());
  JoinRetiredThreads();
  EXPECT_FALSE(ran_later);
  EXPECT_EQ(tracker.use_count(), 1);
  EXPECT_TRUE(Eventually([] { return LoopThreads() == 0; }));
}

TEST(EventLoopLifetime, EndsOnItsOwnThreadInsideAWait) {
  const auto [reader, writer] = MakePipe();
  auto loop = EventLoop::Create();
  auto stream = std::make_shared<Stream>();
  const std::weak_ptr<Stream> weak = stream;
  Event ended;
  ASSERT_TRUE(loop->RunAndWait([&, fd = reader.get()] {
                    stream->Start(*loop, fd);
                    stream->watcher->WaitReadable([&ended, &loop, stream] {
                      loop.reset();
                      ended.Set();
                    });
                    stream.reset();
                  })
                  .ok());
  ASSERT_EQ(write(writer.get(), "x", 1), 1);
  ASSERT_TRUE(ended.Wait());
  JoinRetiredThreads();
  EXPECT_TRUE(weak.expired());
}

// Its destructor is the last thing that a thread does, so only a join can be sure to come after it.
struct AtThreadEnd {
  std::atomic<int>* ended = nullptr;
  ~AtThreadEnd() {
    if (ended == nullptr) return;
    for (int i = 0; i < 1000; ++i) sched_yield();
    ++*ended;
  }
};
thread_local AtThreadEnd at_thread_end;

TEST(EventLoopLifetime, RetiredThreadsLeaveTheJoiningToOthers) {
  std::atomic<int> ended{0};
  Event both_retired;
  Event retired[2];
  Event done[2];
  for (const int i : {0, 1}) {
    EndOnItsOwnThread(EventLoop::Create(), [&, i] {
      at_thread_end.ended = &ended;
      retired[i].Set();
      EXPECT_TRUE(both_retired.Wait());
      JoinRetiredThreads();
      EventLoop::Create();
      done[i].Set();
    });
  }
  ASSERT_TRUE(retired[0].Wait());
  ASSERT_TRUE(retired[1].Wait());
  both_retired.Set();
  EXPECT_TRUE(done[0].Wait());
  EXPECT_TRUE(done[1].Wait());
  JoinRetiredThreads();
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(Eventually([] { return LoopThreads() == 0; }));
}

TEST(EventLoopLifetime, ForkedChildFreesWithoutTouchingTheParent) {
  const auto [reader, writer] = MakePipe();
  auto loop = EventLoop::Create();
  std::unique_ptr<EventLoop::FdWatcher> watcher;
  std::unique_ptr<EventLoop::Timer> timer;
  Event readable;
  Event expired;
  ASSERT_TRUE(loop->RunAndWait([&, fd = reader.get()] {
                    watcher = loop->WatchFd(fd);
                    watcher->WaitReadable([&readable] { readable.Set(); });
                    timer = loop->NewTimer();
                  })
                  .ok());
  const auto tracker = std::make_shared<int>(0);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);  // a hang is a failure
    const Code posted = CodeOf(loop->Post([tracker] {}));
    const Code waited = CodeOf(loop->RunAndWait([tracker] {}));
    const bool refused = posted == Code::kUnsupported && waited == Code::kUnsupported && tracker.use_count() == 1;
    watcher->Cancel();
    watcher.reset();
    timer->Cancel();
    timer.reset();
    loop.reset();
    JoinRetiredThreads();
    const bool creates = EventLoop::Create() != nullptr;
    _exit(refused && creates ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  // The watch that the child freed still stands here.
  ASSERT_EQ(write(writer.get(), "x", 1), 1);
  EXPECT_TRUE(readable.Wait());
  ASSERT_TRUE(loop->RunAndWait([&] { timer->ExpireAt(Clock::now(), [&expired] { expired.Set(); }); }).ok());
  EXPECT_TRUE(expired.Wait());
  ASSERT_TRUE(loop->RunAndWait([&] {
                    watcher.reset();
                    timer.reset();
                  })
                  .ok());
}

TEST(EventLoopLifetime, ForkedChildDoesNotJoinTheParentsRetiredThreads) {
  Event retired;
  Event release;
  EndOnItsOwnThread(EventLoop::Create(), [&] {
    retired.Set();
    EXPECT_TRUE(release.Wait());
  });
  ASSERT_TRUE(retired.Wait());
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    JoinRetiredThreads();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  release.Set();
  JoinRetiredThreads();
  EXPECT_TRUE(Eventually([] { return LoopThreads() == 0; }));
}

}  // namespace
}  // namespace osbx::base
