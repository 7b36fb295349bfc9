#include "base/cancel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using std::chrono::milliseconds;
using testing::Eventually;

TEST(SaturatingAdd, StopsAtTheEnds) {
  const TimePoint now = Clock::now();
  EXPECT_EQ(SaturatingAdd(now, milliseconds(1500)), now + milliseconds(1500));
  EXPECT_EQ(SaturatingAdd(now, milliseconds(-1500)), now - milliseconds(1500));
  EXPECT_EQ(SaturatingAdd(now, milliseconds::max()), TimePoint::max());
  EXPECT_EQ(SaturatingAdd(now, milliseconds::min()), TimePoint::min());
  EXPECT_EQ(SaturatingAdd(TimePoint::max(), milliseconds(0)), TimePoint::max());
  EXPECT_EQ(SaturatingAdd(TimePoint::max(), milliseconds(1)), TimePoint::max());
  EXPECT_EQ(SaturatingAdd(TimePoint::min(), milliseconds(-1)), TimePoint::min());
  // 2^63 nanoseconds are reached within this millisecond.
  EXPECT_EQ(SaturatingAdd(TimePoint(), milliseconds(INT64_MAX / 1000000 + 1)), TimePoint::max());
  EXPECT_LT(SaturatingAdd(TimePoint(), milliseconds(INT64_MAX / 1000000)), TimePoint::max());
}

TEST(MillisecondsUntil, RoundsUpAndStaysInRange) {
  EXPECT_EQ(MillisecondsUntil(TimePoint::min(), 1000), 0);
  EXPECT_EQ(MillisecondsUntil(Clock::now(), 1000), 0);
  EXPECT_EQ(MillisecondsUntil(TimePoint::max(), 1000), 1000);
  EXPECT_EQ(MillisecondsUntil(TimePoint::max(), INT32_MAX), INT32_MAX);
  EXPECT_EQ(MillisecondsUntil(TimePoint::max(), -5), 0);
  const int left = MillisecondsUntil(Clock::now() + std::chrono::hours(1) - std::chrono::nanoseconds(1), INT32_MAX);
  EXPECT_GT(left, 3500000);
  EXPECT_LE(left, 3600000);
}

TEST(CancelToken, FiresOnce) {
  CancelToken token;
  int runs = 0;
  token.AddWakeup([&runs] { ++runs; });
  EXPECT_FALSE(token.fired());
  token.Fire();
  token.Fire();
  EXPECT_TRUE(token.fired());
  EXPECT_EQ(runs, 1);
}

TEST(CancelToken, WakeupAddedAfterFireRunsAtOnce) {
  CancelToken token;
  token.Fire();
  int runs = 0;
  token.AddWakeup([&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(CancelToken, DeadlineCanMoveAndWakes) {
  CancelToken token;
  EXPECT_EQ(token.deadline(), TimePoint::max());
  int runs = 0;
  token.AddWakeup([&runs] { ++runs; });
  const TimePoint deadline = Clock::now() + std::chrono::hours(1);
  token.SetDeadline(deadline);
  EXPECT_EQ(token.deadline(), deadline);
  token.SetDeadline(TimePoint::max());
  EXPECT_EQ(token.deadline(), TimePoint::max());
  EXPECT_EQ(runs, 2);
}

TEST(CancelToken, RemovedWakeupRunsNoMoreAndOthersDo) {
  CancelToken token;
  int removed = 0;
  int kept = 0;
  const uint64_t id = token.AddWakeup([&removed] { ++removed; });
  token.AddWakeup([&kept] { ++kept; });
  token.RemoveWakeup(id);
  token.RemoveWakeup(id);
  token.RemoveWakeup(12345);
  token.Fire();
  EXPECT_EQ(removed, 0);
  EXPECT_EQ(kept, 1);
}

TEST(CancelToken, RemoveWaitsForARunningWakeup) {
  CancelToken token;
  std::atomic<bool> stop{false};
  std::thread waker([&] {
    while (!stop) token.SetDeadline(TimePoint::max());
  });
  std::atomic<int> late{0};
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> removed{false};
    std::atomic<int> runs{0};
    const uint64_t id = token.AddWakeup([&] {
      // Enough steps for a removal to fall between them if it did not wait.
      for (int step = 0; step < 50; ++step) {
        if (removed) ++late;
      }
      ++runs;
    });
    EXPECT_TRUE(Eventually([&runs] { return runs > 0; }));
    token.RemoveWakeup(id);
    removed = true;
  }
  stop = true;
  waker.join();
  EXPECT_EQ(late, 0);
}

TEST(CancelToken, WakeupMayHoldTheLastReferenceToItsToken) {
  auto token = std::make_shared<CancelToken>();
  const std::weak_ptr<CancelToken> weak = token;
  CancelToken* const raw = token.get();
  const uint64_t id = raw->AddWakeup([held = std::move(token)] {});
  raw->RemoveWakeup(id);
  EXPECT_TRUE(weak.expired());
}

TEST(Context, WithoutTokenOrDeadlineIsUnbounded) {
  const Context context;
  EXPECT_EQ(context.deadline(), TimePoint::max());
  EXPECT_TRUE(context.Check().ok());
}

TEST(Context, TheEarlierDeadlineHolds) {
  const auto token = std::make_shared<CancelToken>();
  const TimePoint soon = Clock::now() + std::chrono::hours(1);
  const TimePoint later = soon + std::chrono::hours(1);
  token->SetDeadline(later);
  EXPECT_EQ(Context(token, soon).deadline(), soon);
  token->SetDeadline(soon);
  EXPECT_EQ(Context(token, later).deadline(), soon);
  EXPECT_EQ(Context(token).deadline(), soon);
}

TEST(Context, CheckTellsWhy) {
  const auto token = std::make_shared<CancelToken>();
  EXPECT_TRUE(Context(token).Check().ok());
  EXPECT_EQ(CodeOf(Context(token, TimePoint::min()).Check()), Code::kTimeout);
  token->SetDeadline(Clock::now());
  EXPECT_EQ(CodeOf(Context(token).Check()), Code::kTimeout);
  token->Fire();
  EXPECT_EQ(CodeOf(Context(token).Check()), Code::kCanceled);
}

TEST(Context, WithTimeoutOnlyShortens) {
  const auto token = std::make_shared<CancelToken>();
  const TimePoint soon = Clock::now() + std::chrono::seconds(100);
  const Context context(token, soon);
  EXPECT_EQ(context.WithTimeout(std::chrono::hours(10)).deadline(), soon);
  EXPECT_EQ(context.WithTimeout(milliseconds::max()).deadline(), soon);
  EXPECT_LT(context.WithTimeout(milliseconds(1)).deadline(), soon);
  EXPECT_EQ(context.WithTimeout(milliseconds(1)).token(), token);
  EXPECT_EQ(CodeOf(context.WithTimeout(milliseconds::min()).Check()), Code::kTimeout);
}

TEST(Context, DetachedHasADeadlineAndNoToken) {
  const Context context = Context::Detached(std::chrono::hours(1));
  EXPECT_EQ(context.token(), nullptr);
  EXPECT_NE(context.deadline(), TimePoint::max());
  EXPECT_TRUE(context.Check().ok());
}

TEST(ScopedWakeup, EndsWithItsScope) {
  const auto token = std::make_shared<CancelToken>();
  int runs = 0;
  {
    const ScopedWakeup wakeup(Context(token), [&runs] { ++runs; });
    token->SetDeadline(TimePoint::max());
    EXPECT_EQ(runs, 1);
  }
  token->Fire();
  EXPECT_EQ(runs, 1);
  const ScopedWakeup none(Context(), [&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace osbx::base
