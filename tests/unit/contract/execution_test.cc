#include "contract/execution.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "base/json.h"
#include "unit/contract/execution_test_support.h"

namespace osbx::contract {
namespace {

using testing::Alive;
using testing::Eventually;
using testing::Runner;
using testing::TestDirectory;
using std::string_literals::operator""s;

int CountEntries(const char* path) {
  int count = 0;
  DIR* const directory = opendir(path);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

class ExecutionTest : public ::testing::TestWithParam<Runner::Waiter> {
 protected:
  TestDirectory directory_;
  Runner runner_{directory_.path(), GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Waiters, ExecutionTest,
                         ::testing::Values(Runner::Waiter::kDescriptors, Runner::Waiter::kThreads));

TEST_P(ExecutionTest, BothStreamsAndTheExitCode) {
  const ExecutionResult result = runner_.Run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.stdout_text, "out\n");
  EXPECT_EQ(result.stderr_text, "err\n");
  EXPECT_FALSE(result.truncated);
  EXPECT_TRUE(result.exit_known);
  EXPECT_TRUE(result.problem.ok()) << result.problem;
}

TEST_P(ExecutionTest, RunsInTheWorkspaceWithTheEnvironmentAndNoInput) {
  setenv("OSBX_TEST_VARIABLE", "kept", 1);
  Runner runner(directory_.path(), GetParam());
  const ExecutionResult result = runner.Run("pwd; echo $OSBX_TEST_VARIABLE; cat; echo ${#SANDBOX_EXECUTION}");
  EXPECT_EQ(result.stdout_text, directory_.path() + "\nkept\n32\n");
  unsetenv("OSBX_TEST_VARIABLE");
}

TEST_P(ExecutionTest, ASignalIs128AndItsNumber) {
  EXPECT_EQ(runner_.Run("kill -TERM $$").exit_code, 128 + SIGTERM);
  EXPECT_EQ(runner_.Run("kill -KILL $$").exit_code, 128 + SIGKILL);
}

TEST_P(ExecutionTest, AMissingShellOrWorkspaceIsAStatus) {
  runner_.set_shell("/no/such/shell");
  EXPECT_EQ(base::CodeOf(runner_.Start("true").status), base::Code::kNotFound);
  Runner elsewhere(directory_.path() + "/missing", GetParam());
  const absl::Status status = elsewhere.Start("true").status;
  EXPECT_EQ(base::CodeOf(status), base::Code::kNotFound);
  EXPECT_NE(status.message().find("/missing"), std::string::npos) << status;
}

TEST_P(ExecutionTest, ATooLongCommandIsAStatus) {
  EXPECT_EQ(base::CodeOf(runner_.Start(std::string(1 << 20, ' ')).status), base::Code::kTooLarge);
}

TEST_P(ExecutionTest, TheDeadlineKeepsTheOutputSoFar) {
  const ExecutionResult result =
      runner_.Run("trap '' TERM; echo before; echo $$ > pid; sleep 1000; echo after", std::chrono::milliseconds(300));
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.stdout_text, "before\n");
  EXPECT_TRUE(result.problem.ok()) << result.problem;
  EXPECT_FALSE(Alive(directory_.Pid("pid")));
}

TEST_P(ExecutionTest, ADeadlineOfYearsIsNone) {
  EXPECT_EQ(runner_.Run("exit 4", std::chrono::milliseconds::max()).exit_code, 4);
}

TEST_P(ExecutionTest, CancelKillsTheTree) {
  const Runner::Running running =
      runner_.Start("(trap '' TERM; setsid sh -c 'echo $$ > child; sleep 1000') & sleep 1000");
  const pid_t child = directory_.Pid("child");
  ASSERT_GT(child, 0);
  runner_.OnLoop([&] {
    running.execution->Cancel();
    running.execution->Cancel();
  });
  ASSERT_TRUE(running.over->Wait());
  EXPECT_TRUE(running.result->problem.ok()) << running.result->problem;
  EXPECT_FALSE(Alive(child));
  runner_.OnLoop([&] { running.execution->Cancel(); });
}

TEST_P(ExecutionTest, ABackgroundChildLivesOnAndKeepsWriting) {
  // Far more than a pipe holds: it ends only if somebody reads on, and not by SIGPIPE.
  const ExecutionResult result = runner_.Run(
      "(trap 'echo pipe > broken' PIPE; until [ -e go ]; do sleep 0.02; done; head -c 400000 /dev/zero; echo $? > "
      "wrote) & "
      "echo $! > background; echo started");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stdout_text, "started\n");
  EXPECT_TRUE(Alive(directory_.Pid("background")));
  EXPECT_EQ(runner_.Leftovers(), 2u);
  // The seat is free meanwhile.
  EXPECT_EQ(runner_.Run("touch go; echo second").stdout_text, "second\n");
  EXPECT_TRUE(Eventually([&] { return directory_.Read("wrote") == "0\n"; }));
  EXPECT_EQ(directory_.Read("broken"), "");
  EXPECT_TRUE(Eventually([&] { return runner_.Leftovers() == 0; }));
}

TEST_P(ExecutionTest, AnEarlierBackgroundChildSurvivesALaterDeadline) {
  runner_.Run("sleep 1000 & echo $! > earlier; setsid sh -c 'echo $$ > apart; exec sleep 1000' &");
  const pid_t earlier = directory_.Pid("earlier");
  const pid_t apart = directory_.Pid("apart");
  const ExecutionResult result =
      runner_.Run("sleep 1000 & echo $! > later; sleep 1000", std::chrono::milliseconds(200));
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_FALSE(Alive(directory_.Pid("later")));
  EXPECT_TRUE(Alive(earlier));
  EXPECT_TRUE(Alive(apart));
  kill(earlier, SIGKILL);
  kill(apart, SIGKILL);
}

TEST_P(ExecutionTest, AFloodFromABackgroundChildDoesNotDelayTheResult) {
  const ExecutionResult result = runner_.Run("yes & echo $! > background; exit 7");
  EXPECT_EQ(result.exit_code, 7);
  kill(directory_.Pid("background"), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return runner_.Leftovers() == 0; }));
}

TEST_P(ExecutionTest, LeftoverPipesAreBounded) {
  for (int i = 0; i < 3; ++i) runner_.Run("sleep 1000 & echo $! >> pids; exit 0");
  EXPECT_EQ(runner_.Leftovers(), 6u);
  runner_.Run("kill $(cat pids)");
  EXPECT_TRUE(Eventually([&] { return runner_.Leftovers() == 0; }));
}

TEST_P(ExecutionTest, AThousandLeaveNothingBehind) {
  runner_.Run("true");
  const int descriptors = CountEntries("/proc/self/fd");
  const int threads = CountEntries("/proc/self/task");
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(runner_.Run("exit 5").exit_code, 5);
  EXPECT_TRUE(Eventually([&] { return CountEntries("/proc/self/fd") == descriptors; }));
  EXPECT_TRUE(Eventually([&] { return CountEntries("/proc/self/task") == threads; }));
}

TEST_P(ExecutionTest, TheEndOfTheLoopEndsTheCommand) {
  pid_t pid = -1;
  {
    Runner runner(directory_.path(), GetParam());
    runner.Start("echo $$ > pid; sleep 1000").execution.reset();
    pid = directory_.Pid("pid");
    ASSERT_GT(pid, 0);
  }
  EXPECT_TRUE(Eventually([&] { return !Alive(pid); }));
}

TEST(ExecutionJson, HoldsWhatTheCommandWrote) {
  ExecutionResult result;
  result.exit_code = 124;
  result.stdout_text = "a\0\"\\\x1f\n\xEF\xBF\xBD"s;
  result.duration = std::chrono::milliseconds(1500);
  result.truncated = true;
  EXPECT_EQ(ToJson(result),
            "{\"exitCode\":124,\"stdout\":\"a\\u0000\\\"\\\\\\u001f\\n\xEF\xBF\xBD\",\"stderr\":\"\","
            "\"durationMillis\":1500,\"truncated\":true}");
}

}  // namespace
}  // namespace osbx::contract
