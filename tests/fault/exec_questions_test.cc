// The engine's answers to the questions around a command (how did it end, kill its tree, has the sandbox ended) fail.
#include <gtest/gtest.h>

#include <string>

#include "fault/stream_fixture.h"

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;
using ExecQuestions = ExecStream;

constexpr char kOutOfLuck[] = "{\"message\":\"out of luck\"}";

// The stream ends behind the first line, as that of a program that closes its output and runs on: only inspect can
// tell. (gVisor keeps the pipe open after such a close.)
ProxyRule EndOfStreamAfterTheFirstLine() {
  return ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(8 + sizeof("started\n") - 1).Times(1);
}

TEST_F(ExecQuestions, InspectRefusedIsOutcomeUnknownAndNothingRunsOn) {
  for (const int status : {500, 503, 418}) {
    const int rule =
        proxy_.AddRule(ProxyRule("GET", kInspectExec, Action::kAnswer).Answer(ProxyAnswer(status, kOutOfLuck)));
    Ended ended = Shell(sandbox_.get(), "echo out; exit 4");
    Print("inspect refused", ended);
    EXPECT_GE(proxy_.Hits(rule), 1);
    EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
    EXPECT_EQ(ended.out, "out\n");
    EXPECT_LT(ended.status.ms, kBoundMs);

    proxy_.AddRule(EndOfStreamAfterTheFirstLine());
    ended = Shell(sandbox_.get(), Sleeper());
    Print("inspect refused, the command runs on", ended);
    EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
    EXPECT_LT(ended.status.ms, kBoundMs);
    ExpectNothingRuns();
    proxy_.ClearRules();
  }
}

TEST_F(ExecQuestions, ForgottenExecIsOutcomeUnknownWhileTheSandboxRuns) {
  proxy_.AddRule(ProxyRule("GET", kInspectExec, Action::kAnswer).Answer(ProxyAnswer(404, kOutOfLuck)));
  const Ended ended = Shell(sandbox_.get(), "exit 4");
  Print("the engine does not know the exec", ended);
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
}

TEST_F(ExecQuestions, InspectCutOrNonsenseIsNeverAnExitCode) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ";
  for (const std::string& said : {
           head + "500\r\n\r\n{\"Running\":false,\"ExitCode\":0}",                  // cut
           head + "2\r\n\r\n{}",                                                    // says nothing
           head + "31\r\n\r\n{\"Running\":false,\"ExitCode\":\"0\"}",               // a text
           head + "44\r\n\r\n{\"Running\":true,\"Running\":false,\"ExitCode\":0}",  // twice
           head + "35\r\n\r\n{\"Running\":false,\"ExitCode\":12345678}xx",          // trailing
           std::string("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
       }) {
    proxy_.AddRule(ProxyRule("GET", kInspectExec, Action::kAnswer).Answer(said));
    ExecOptions options;
    options.timeout_ms = 8000;
    const Ended ended = Shell(sandbox_.get(), "exit 4", options);
    Print("nonsense in place of inspect", ended);
    EXPECT_TRUE(ended.reason == OSBX_END_OUTCOME_UNKNOWN || ended.reason == OSBX_END_TIMED_OUT) << said << ended;
    EXPECT_LT(ended.status.ms, kBoundMs);
    proxy_.ClearRules();
  }
}

TEST_F(ExecQuestions, InspectNeverAnsweredEndsInBoundedTime) {
  proxy_.AddRule(ProxyRule("GET", kInspectExec, Action::kSilence));
  Ended ended = Shell(sandbox_.get(), "exit 4");
  Print("inspect never answered", ended);
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);

  const Cancel cancel = NewCancel();
  ExecOptions options;
  options.cancel = cancel.get();
  const FireLater fire(cancel.get(), 1500);
  ended = Shell(sandbox_.get(), "exit 4", options);
  Print("inspect never answered, cancelled after 1.5 s", ended);
  EXPECT_TRUE(ended.reason == OSBX_END_CANCELLED || ended.reason == OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, 8000);
}

TEST_F(ExecQuestions, EventsRefusedWhileTheCommandRunsOnLeaveNothing) {
  for (const Action action : {Action::kAnswer, Action::kRefuse}) {
    proxy_.AddRule(ProxyRule("GET", kEvents, action).Answer(ProxyAnswer(500, kOutOfLuck)));
    proxy_.AddRule(EndOfStreamAfterTheFirstLine());
    const Ended ended = Shell(sandbox_.get(), Sleeper());
    Print("no events, and the command runs on", ended);
    EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
    EXPECT_LT(ended.status.ms, kBoundMs);
    ExpectNothingRuns();
    proxy_.ClearRules();
  }
}

TEST_F(ExecQuestions, KillThatFailsOnceIsTriedAgain) {
  for (const char* target : {kCreateExec, kStart}) {
    const int rule = proxy_.AddRule(
        ProxyRule("POST", target, Action::kAnswer).Answer(ProxyAnswer(500, kOutOfLuck)).Skip(1).Times(1));
    ExecOptions options;
    options.timeout_ms = 1500;
    const Ended ended = Shell(sandbox_.get(), SleeperWithTree(), options);
    Print("the first kill fails", ended);
    EXPECT_EQ(proxy_.Hits(rule), 1);
    EXPECT_EQ(ended.reason, OSBX_END_TIMED_OUT) << ended;
    EXPECT_EQ(ended.out, "started\n");
    EXPECT_LT(ended.status.ms, kBoundMs);
    ExpectNothingRuns();
    proxy_.ClearRules();
    owner_->Rest();
    EXPECT_EQ(osbx_info_state(osbx_sandbox_info(owner_->get())), OSBX_STATE_RUNNING) << "it cost the sandbox";
  }
}

// A tree that cannot be killed singly goes with its sandbox rather than running on.
TEST_F(ExecQuestions, KillThatAlwaysFailsEndsTheSandbox) {
  proxy_.AddRule(ProxyRule("POST", kCreateExec, Action::kAnswer).Answer(ProxyAnswer(500, kOutOfLuck)).Skip(1));
  ExecOptions options;
  options.timeout_ms = 1000;
  const Ended ended = Shell(sandbox_.get(), SleeperWithTree(), options);
  Print("every kill fails", ended);
  EXPECT_EQ(ended.reason, OSBX_END_TIMED_OUT) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  EXPECT_TRUE(WaitUntil([] {
    owner_->Rest();
    return osbx_info_state(osbx_sandbox_info(owner_->get())) == OSBX_STATE_STOPPED;
  })) << "the tree runs on";
}

TEST_F(ExecQuestions, KillOfTreeAndSandboxThatFailIsOutcomeUnknown) {
  proxy_.AddRule(ProxyRule("POST", kCreateExec, Action::kAnswer).Answer(ProxyAnswer(500, kOutOfLuck)).Skip(1));
  proxy_.AddRule(ProxyRule("POST", kKillContainer, Action::kAnswer).Answer(ProxyAnswer(500, kOutOfLuck)));
  ExecOptions options;
  options.timeout_ms = 1000;
  const Ended ended = Shell(sandbox_.get(), Sleeper(), options);
  Print("every kill fails, the sandbox's too", ended);
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  KillByHand();
}

TEST_F(ExecQuestions, EngineThatFallsSilentIsLeftInBoundedTime) {
  ExecOptions options;
  options.timeout_ms = 2000;
  options.output = [this](uint32_t, const uint8_t*, size_t) {
    proxy_.AddRule(ProxyRule("", "", Action::kSilence));
    return 0;
  };
  const Ended ended = Shell(sandbox_.get(), Sleeper(), options);
  Print("silent from mid-stream on, timeout 2 s", ended);
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  proxy_.ClearRules();
  KillByHand();
}

TEST_F(ExecQuestions, WatchThatBreaksDoesNotEndTheCommand) {
  const int rule = proxy_.AddRule(ProxyRule("POST", kWait, Action::kStallResponse).BehindHead(0));
  Ended ended = Shell(sandbox_.get(), "sleep 1; echo out; exit 6");
  Print("watch stalled", ended);
  EXPECT_EQ(proxy_.Hits(rule), 1);
  EXPECT_EQ(ended.reason, OSBX_END_EXITED) << ended;
  EXPECT_EQ(ended.exit_code, 6);
  proxy_.ClearRules();
  proxy_.AddRule(ProxyRule("POST", kWait, Action::kCutResponse).BehindHead(0));
  ended = Shell(sandbox_.get(), "sleep 1; echo out; exit 6");
  Print("watch cut", ended);
  if (ended.status.ok()) {
    EXPECT_EQ(ended.reason, OSBX_END_EXITED) << ended;
    EXPECT_EQ(ended.exit_code, 6);
    EXPECT_EQ(ended.out, "out\n");
  } else {
    EXPECT_TRUE(ended.status.code == OSBX_E_BACKEND || ended.status.code == OSBX_E_UNREACHABLE) << ended;
  }
}

TEST_F(ExecQuestions, WatchThatIsNeverAnsweredStartsNothing) {
  proxy_.AddRule(ProxyRule("POST", kWait, Action::kSilence));
  const Cancel cancel = NewCancel(1500);
  ExecOptions options;
  options.cancel = cancel.get();
  const Ended ended = Shell(sandbox_.get(), Sleeper(), options);
  Print("watch never answered", ended);
  EXPECT_EQ(ended.status.code, OSBX_E_TIMEOUT) << ended;
  EXPECT_FALSE(owner_->Runs(marker_));
}

}  // namespace
}  // namespace osbx::testing
