// A running command whose connection to the engine is cut, stalled or answered late: the end that is told must be true,
// come in bounded time, and leave nothing running where the engine can be reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fault/stream_fixture.h"

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;

TEST_F(ExecStream, DaemonGoneMidStreamIsOutcomeUnknown) {
  ExecOptions options;
  options.output = [this](uint32_t, const uint8_t*, size_t) {
    proxy_.Die();
    return 0;
  };
  const Ended ended = Shell(sandbox_.get(), Sleeper(), options);
  Print("daemon gone mid-stream", ended);
  EXPECT_TRUE(ended.status.ok()) << ended;
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  EXPECT_TRUE(owner_->Runs(marker_)) << "nobody could have ended it: is this test testing anything?";
  proxy_.Revive();
  KillByHand();
}

TEST_F(ExecStream, CutInsideAFrameKillsTheTree) {
  for (const size_t inside : {1u, 7u, 8u, 11u}) {
    const int rule = proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(inside).Times(1));
    const Ended ended = Shell(sandbox_.get(), SleeperWithTree());
    Print("stream cut inside a frame", ended);
    EXPECT_EQ(proxy_.Hits(rule), 1);
    EXPECT_TRUE(ended.status.ok()) << ended;
    EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
    EXPECT_LT(ended.status.ms, kBoundMs);
    ExpectNothingRuns();
    proxy_.ClearRules();
  }
}

TEST_F(ExecStream, ImpossibleFrameKillsTheTree) {
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kAnswer)
                     .Answer("HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                             "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n\x09\x01\x02\x03\xff\xff\xff\xff what is this")
                     .Times(1));
  const Ended ended = Shell(sandbox_.get(), Sleeper());
  Print("impossible frame", ended);
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  ExpectNothingRuns();
}

// Between two frames a cut looks as if the program had closed its output. Its end is the engine's to tell (Docker says
// 126 of a command whose stream it lost), and never a 0.
TEST_F(ExecStream, CutBetweenFramesTellsTheRealEnd) {
  const size_t frame = 8 + sizeof("started\n") - 1;
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(frame).Times(1));
  Ended ended = Shell(sandbox_.get(), "echo started; sleep 1; echo more; exit 7");
  Print("stream cut between frames", ended);
  EXPECT_TRUE((ended.reason == OSBX_END_EXITED && ended.exit_code != 0) || ended.reason == OSBX_END_OUTCOME_UNKNOWN)
      << ended;
  EXPECT_EQ(ended.out, "started\n");

  proxy_.ClearRules();
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(frame).Times(1));
  ExecOptions options;
  options.timeout_ms = 3000;
  ended = Shell(sandbox_.get(), SleeperWithTree(), options);
  Print("the same, and a timeout", ended);
  EXPECT_TRUE(ended.reason == OSBX_END_TIMED_OUT || ended.reason == OSBX_END_OUTCOME_UNKNOWN) << ended;
  ExpectNothingRuns();
}

TEST_F(ExecStream, StalledStreamEndsAtTheTimeoutWithTheOutputSoFar) {
  const size_t frame = 8 + sizeof("started\n") - 1;
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kStallResponse).BehindHead(frame).Times(1));
  ExecOptions options;
  options.timeout_ms = 2000;
  const Ended ended = Shell(sandbox_.get(), SleeperWithTree(), options);
  Print("stalled stream, timeout 2 s", ended);
  EXPECT_EQ(ended.reason, OSBX_END_TIMED_OUT) << ended;
  EXPECT_EQ(ended.out, "started\n");
  EXPECT_LT(ended.status.ms, kBoundMs);
  ExpectNothingRuns();
}

TEST_F(ExecStream, StalledStreamEndsWhenTheTokenIsFired) {
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kStallResponse).BehindHead(0).Times(1));
  const Cancel cancel = NewCancel();
  ExecOptions options;
  options.cancel = cancel.get();
  const FireLater fire(cancel.get(), 2000);
  const Ended ended = Shell(sandbox_.get(), SleeperWithTree(), options);
  Print("stalled stream, cancelled after 2 s", ended);
  EXPECT_EQ(ended.reason, OSBX_END_CANCELLED) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  ExpectNothingRuns();
}

TEST_F(ExecStream, StartAnsweredLateIsAsGoodAsOneAnsweredAtOnce) {
  const int rule = proxy_.AddRule(ProxyRule("POST", kStart, Action::kHoldResponse).Times(1));
  std::thread release([&] {
    EXPECT_TRUE(proxy_.WaitForHits(rule, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    proxy_.Release(rule);
  });
  const Ended ended = Shell(sandbox_.get(), "echo out; echo err >&2; exit 5");
  release.join();
  Print("start answered after 1.5 s", ended);
  EXPECT_EQ(ended.reason, OSBX_END_EXITED) << ended;
  EXPECT_EQ(ended.exit_code, 5);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
}

// The command runs, but nobody was told: from the request on there is a result, and the tree goes.
TEST_F(ExecStream, StartNeverAnsweredEndsAtTheDeadlineWithAResult) {
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kHoldResponse).Times(1));
  const Cancel cancel = NewCancel(2000);
  ExecOptions options;
  options.cancel = cancel.get();
  const Ended ended = Shell(sandbox_.get(), SleeperWithTree(), options);
  Print("start never answered, deadline 2 s", ended);
  EXPECT_TRUE(ended.status.ok()) << ended;
  EXPECT_TRUE(ended.reason == OSBX_END_TIMED_OUT || ended.reason == OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  ExpectNothingRuns();
}

TEST_F(ExecStream, StartCutBeforeItsAnswerIsOutcomeUnknown) {
  for (const size_t at : {0u, 10u}) {
    proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).At(at).Times(1));
    const Ended ended = Shell(sandbox_.get(), SleeperWithTree());
    Print("start cut before its answer", ended);
    EXPECT_TRUE(ended.status.ok()) << ended;
    EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
    EXPECT_LT(ended.status.ms, kBoundMs);
    ExpectNothingRuns();
    proxy_.ClearRules();
  }
}

TEST_F(ExecStream, InputCutHalfwayNeverHangs) {
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutRequest).At(300000).Times(1));
  size_t left = 5000000;
  ExecOptions options;
  options.timeout_ms = 20000;
  options.input = [&left](uint8_t* buffer, size_t capacity) -> int64_t {
    const size_t part = std::min(left, capacity);
    std::fill_n(buffer, part, 'x');
    left -= part;
    return static_cast<int64_t>(part);
  };
  const Ended ended = Shell(sandbox_.get(), "wc -c >/workspace/count; exit 3", options);
  Print("input cut halfway", ended);
  EXPECT_TRUE((ended.reason == OSBX_END_EXITED && ended.exit_code != 0) || ended.reason == OSBX_END_OUTCOME_UNKNOWN)
      << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
}

}  // namespace
}  // namespace osbx::testing
