// A command that must end: its whole tree goes, whatever it tries, and nothing else does.
#include <atomic>
#include <thread>

#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class DeadlineSmoke : public SharedSandboxTest {};
class Deadline : public SharedSandboxTest {};

Command WithTimeout(Command command, int64_t ms) {
  osbx_command_set_timeout_ms(command.get(), ms);
  return command;
}
Result RunFor(const Sandbox& sandbox, int64_t ms, const std::string& script) {
  return sandbox.Run(WithTimeout(NewShell(script), ms));
}

// It ended at its deadline, not before, and long before anything else would have ended it.
void ExpectTimedOut(const Result& result, milliseconds deadline) {
  ASSERT_TRUE(result.status.ok()) << result;
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_TIMED_OUT}) << result;
  EXPECT_EQ(result.exit_code, -1) << result;
  EXPECT_EQ(result.signal, 0) << result;
  EXPECT_GE(result.took, deadline) << result;
  EXPECT_LT(result.took, deadline + seconds(15)) << result;
}

TEST_F(DeadlineSmoke, ATrapOfTermDoesNotHelp) {
  const Result result = RunFor(
      box(), 1000, "trap '' TERM INT HUP; echo started; while :; do date +%s%N >/workspace/beat; sleep 0.1; done");
  ExpectTimedOut(result, milliseconds(1000));
  EXPECT_EQ(result.out, "started\n");
  const std::string beat = box().Content("/workspace/beat");
  EXPECT_EQ(box().CountProcesses("/workspace/beat"), 0);
  box().Output("sleep 1");
  EXPECT_EQ(box().Content("/workspace/beat"), beat);
}

TEST_F(DeadlineSmoke, ASessionOfItsOwnDoesNotHelp) {
  // In the foreground, and left behind in the background.
  for (const char* end : {"; sleep 7001", " & sleep 7001"}) {
    const Result result =
        RunFor(box(), 2000, std::string("echo so far; setsid sh -c 'trap \"\" TERM; sleep 7000'") + end);
    ExpectTimedOut(result, milliseconds(2000));
    EXPECT_EQ(result.out, "so far\n");
    EXPECT_EQ(box().CountProcesses("sleep 700"), 0) << end;
    EXPECT_TRUE(box().Works());
  }
}

TEST_F(DeadlineSmoke, CancelFromAnotherThread) {
  CancelToken cancel(osbx_cancel_new());
  std::thread canceller([&cancel] {
    EXPECT_TRUE(Eventually([] { return box().CountProcesses("sleep 7002") > 0; }));
    osbx_cancel_fire(cancel.get());
  });
  const Result result = box().Run(NewShell("echo before; sleep 7002 & sleep 7002"), cancel.get());
  canceller.join();
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_CANCELLED}) << result;
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.out, "before\n");
  EXPECT_EQ(box().CountProcesses("sleep 7002"), 0);
}

TEST_F(Deadline, AClearedEnvironmentDoesNotHelp) {
  // The main process itself without a marker; and a child of it.
  ExpectTimedOut(box().Run(WithTimeout(NewCommand({"env", "-i", "/bin/sleep", "7003"}), 1500)), milliseconds(1500));
  EXPECT_EQ(box().CountProcesses("sleep 7003"), 0);
  ExpectTimedOut(RunFor(box(), 1500, "env -i /bin/sh -c '/bin/sleep 7004 & /bin/sleep 7004' & sleep 7004"),
                 milliseconds(1500));
  EXPECT_EQ(box().CountProcesses("sleep 7004"), 0);
}

TEST_F(Deadline, OrphansAreFound) {
  ExpectTimedOut(RunFor(box(), 1500, "( (sleep 7005 &) & ); setsid sh -c '(setsid sleep 7005 &) &'; sleep 7005"),
                 milliseconds(1500));
  EXPECT_EQ(box().CountProcesses("sleep 7005"), 0);
}

TEST_F(Deadline, AStoppedProgramIsKilled) {
  ExpectTimedOut(RunFor(box(), 1000, "kill -STOP $$; sleep 7006"), milliseconds(1000));
  EXPECT_EQ(box().CountProcesses("sleep 7006"), 0);
}

TEST_F(Deadline, EndsWhatPrintsWithoutEnd) {
  Command command = WithTimeout(NewCommand({"yes"}), 1000);
  osbx_command_set_output_limit(command.get(), 10000);
  const Result result = box().Run(command);
  ExpectTimedOut(result, milliseconds(1000));
  EXPECT_EQ(result.out.size(), 10000u);
  EXPECT_TRUE(result.out_truncated);
  EXPECT_EQ(box().CountProcesses("yes $"), 0);
}

TEST_F(Deadline, EndsWhatReadsWithoutEnd) {
  Command command = WithTimeout(NewShell("cat >/dev/null"), 1000);
  osbx_command_set_stdin_reader(
      command.get(),
      [](void*, uint8_t* buffer, size_t capacity) {
        std::fill_n(buffer, capacity, uint8_t{0});
        return static_cast<int64_t>(capacity);
      },
      nullptr, nullptr);
  ExpectTimedOut(box().Run(command), milliseconds(1000));
}

TEST_F(Deadline, ATokensDeadlineIsATimeout) {
  CancelToken cancel(osbx_cancel_new());
  osbx_cancel_set_timeout_ms(cancel.get(), 1500);
  const Result result = box().Run(NewShell("echo x; sleep 7007"), cancel.get());
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_TIMED_OUT}) << result;
  EXPECT_EQ(result.out, "x\n");
  EXPECT_EQ(box().CountProcesses("sleep 7007"), 0);
}

TEST_F(Deadline, ATokenThatIsOverRunsNothing) {
  CancelToken fired(osbx_cancel_new());
  osbx_cancel_fire(fired.get());
  EXPECT_EQ(box().Run(NewShell("touch /workspace/ran"), fired.get()).status.code, OSBX_E_CANCELED);
  CancelToken late(osbx_cancel_new());
  osbx_cancel_set_timeout_ms(late.get(), 0);
  EXPECT_EQ(box().Run(NewShell("touch /workspace/ran"), late.get()).status.code, OSBX_E_TIMEOUT);
  EXPECT_TRUE(box().Shell("test -e /workspace/ran").Exited(1));
}

TEST_F(Deadline, WhatOthersRunIsLeftAlone) {
  // A child that an earlier command left behind, and a command that runs at the same time.
  EXPECT_TRUE(box().Shell("sleep 7010 >/dev/null 2>&1 &").Exited(0));
  std::atomic<bool> killed{false};
  Result other;
  std::thread bystander([&] { other = box().Shell("while [ ! -e /workspace/go ]; do sleep 0.1; done; echo alive"); });
  ExpectTimedOut(RunFor(box(), 1500, "setsid sleep 7011 & sleep 7011"), milliseconds(1500));
  EXPECT_EQ(box().CountProcesses("sleep 7011"), 0);
  EXPECT_EQ(box().CountProcesses("sleep 7010"), 1);
  box().Output("touch /workspace/go");
  bystander.join();
  EXPECT_TRUE(other.Exited(0)) << other;
  EXPECT_EQ(other.out, "alive\n");
  box().Shell("killall sleep 2>/dev/null");  // but for init's own
}

TEST_F(Deadline, TheSandboxsDefaultAndItsCeilingHold) {
  Spec spec = NewSmallSpec();
  osbx_spec_set_default_timeout_ms(spec.get(), 1000);
  osbx_spec_set_max_timeout_ms(spec.get(), 2000);
  Sandbox sandbox("ceiling", spec);
  ExpectTimedOut(sandbox.Shell("sleep 7012"), milliseconds(1000));
  ExpectTimedOut(RunFor(sandbox, 3600000, "sleep 7012"), milliseconds(2000));
  // Known to whoever opens it, since the container carries it.
  Sandbox again;
  ASSERT_TRUE(again.Open(sandbox.name()).ok());
  ExpectTimedOut(again.Shell("sleep 7012"), milliseconds(1000));
}

// All the room for processes taken, and each one that goes is replaced at once.
TEST_F(Deadline, AForkBombIsEnded) {
  Spec spec = NewSmallSpec();
  osbx_spec_set_max_processes(spec.get(), 48);
  Sandbox sandbox("bomb", spec);
  const Result result = RunFor(
      sandbox, 3000, "bomb() { bomb | bomb & }; (bomb; while :; do sleep 7013 & done) 2>/dev/null & exec sleep 7013");
  ExpectTimedOut(result, milliseconds(3000));
  EXPECT_TRUE(sandbox.Works());
  EXPECT_EQ(sandbox.CountProcesses("sleep 7013"), 0);
}

TEST_F(Deadline, ABlockedCallbackIsNotInterrupted) {
  std::atomic<bool> inside{false};
  Command command = WithTimeout(NewShell("echo x; sleep 7014"), 1000);
  osbx_command_set_output(
      command.get(),
      [](void* flag, uint32_t, const uint8_t*, size_t) {
        std::this_thread::sleep_for(seconds(2));
        *static_cast<std::atomic<bool>*>(flag) = true;
        return int32_t{0};
      },
      &inside, nullptr);
  const Result result = box().Run(command);
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_TIMED_OUT}) << result;
  EXPECT_TRUE(inside);
  EXPECT_EQ(box().CountProcesses("sleep 7014"), 0);
}

}  // namespace
}  // namespace osbx::e2e
