#include "base/worker_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Event;

TEST(WorkerPool, RunsInOrderOnOneThread) {
  WorkerPool pool(1);
  std::vector<int> order;
  Event last;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool.Run([&order, i] { order.push_back(i); }).ok());
  }
  ASSERT_TRUE(pool.Run([&] { last.Set(); }).ok());
  ASSERT_TRUE(last.Wait());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(WorkerPool, OneThatBlocksLeavesTheOthers) {
  WorkerPool pool(2);
  Event blocked;
  Event go_on;
  Event ran;
  ASSERT_TRUE(pool.Run([&] {
                    blocked.Set();
                    go_on.Wait();
                  })
                  .ok());
  ASSERT_TRUE(blocked.Wait());
  ASSERT_TRUE(pool.Run([&] { ran.Set(); }).ok());
  EXPECT_TRUE(ran.Wait());
  go_on.Set();
}

TEST(WorkerPool, BlocksAllSignals) {
  WorkerPool pool(1);
  Event ran;
  bool blocked = false;
  ASSERT_TRUE(pool.Run([&] {
                    sigset_t mask;
                    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1;
                    ran.Set();
                  })
                  .ok());
  ASSERT_TRUE(ran.Wait());
  EXPECT_TRUE(blocked);
}

TEST(WorkerPool, ItsEndWaitsForWhatRunsAndDestroysTheRest) {
  std::atomic<bool> finished{false};
  std::atomic<bool> second_ran{false};
  const auto token = std::make_shared<int>(0);
  Event began;
  {
    WorkerPool pool(1);
    ASSERT_TRUE(pool.Run([&] {
                      began.Set();
                      usleep(20000);  // room for the destructor to come first
                      finished = true;
                    })
                    .ok());
    ASSERT_TRUE(began.Wait());
    ASSERT_TRUE(pool.Run([&, token] { second_ran = true; }).ok());
  }
  EXPECT_TRUE(finished);
  EXPECT_FALSE(second_ran);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(WorkerPool, AForkedChildJoinsNothing) {
  auto pool = std::make_unique<WorkerPool>(2);
  Event ran;
  ASSERT_TRUE(pool->Run([&] { ran.Set(); }).ok());
  ASSERT_TRUE(ran.Wait());
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = CodeOf(pool->Run([] {})) == Code::kUnsupported;
    pool.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(WorkerPool, AThrowingTaskEndsNothing) {
  WorkerPool pool(1);
  Event ran;
  ASSERT_TRUE(pool.Run([] { throw 1; }).ok());
  ASSERT_TRUE(pool.Run([&] { ran.Set(); }).ok());
  EXPECT_TRUE(ran.Wait());
}

}  // namespace
}  // namespace osbx::base
