// A host program forks with a backend open: the child uses and frees what it inherited, and the parent's connection,
// sandbox and running command do not notice.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <thread>

#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

// The child's part, which must end within a minute; -1 when it hangs.
int InChild(const std::function<int()>& part) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    const int code = part();
    std::cerr.flush();
    _exit(code);
  }
  int ended = 0;
  if (waitpid(pid, &ended, 0) != pid) return -2;
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
}

int Check(const char* what, const Status& status) {
  if (!status.ok()) std::cerr << "in the child: " << what << ": " << status << "\n";
  return status.ok() ? 0 : 1;
}

class AfterFork : public ::testing::Test {
 protected:
  void ExpectParentUntouched() {
    const Ended ended = Shell(owner_.get(), "echo parent");
    EXPECT_EQ(ended.out, "parent\n") << ended;
    Sandbox same;
    EXPECT_TRUE(Open(owner_.backend(), owner_.name(), &same).ok());
    EXPECT_EQ(osbx_info_id(osbx_sandbox_info(same.get())), owner_.id());
    EXPECT_EQ(osbx_info_state(osbx_sandbox_info(same.get())), OSBX_STATE_RUNNING);
  }

  SandboxForTest owner_{"fork"};
};

TEST_F(AfterFork, ChildFreesInheritedHandlesWithoutUse) {
  ASSERT_EQ(Exec(owner_.get(), {"true"}).exit_code, 0);  // the connection and the loop are live
  EXPECT_EQ(InChild([&] {
              Backend copy_backend(owner_.backend());
              Sandbox copy_sandbox(owner_.get());
              copy_sandbox.reset();
              copy_backend.reset();
              return 0;
            }),
            0);
  ExpectParentUntouched();
}

TEST_F(AfterFork, ChildUsesInheritedHandlesAndFreesThem) {
  ASSERT_EQ(Exec(owner_.get(), {"true"}).exit_code, 0);
  EXPECT_EQ(InChild([&] {
              Backend copy_backend(owner_.backend());
              Sandbox copy_sandbox(owner_.get());
              int failed = Check("list", List(copy_backend.get(), nullptr));
              const Ended ended = Shell(copy_sandbox.get(), "echo child");
              failed += ended.out == "child\n" ? 0 : (std::cerr << "in the child: " << ended << "\n", 1);
              failed += Check("put", Put(copy_sandbox.get(), "/workspace/child", "c"));
              return failed;
            }),
            0);
  ExpectParentUntouched();
  std::string bytes;
  EXPECT_TRUE(Get(owner_.get(), "/workspace/child", &bytes).ok());
  EXPECT_EQ(bytes, "c");
}

TEST_F(AfterFork, ChildWithABackendOfItsOwn) {
  ASSERT_EQ(Exec(owner_.get(), {"true"}).exit_code, 0);
  EXPECT_EQ(InChild([&] {
              const Backend backend = NewBackend();
              Sandbox sandbox;
              int failed = Check("open", Open(backend.get(), owner_.name(), &sandbox));
              const Ended ended = Shell(sandbox.get(), "echo child");
              return failed + (ended.out == "child\n" ? 0 : 1);
            }),
            0);
  ExpectParentUntouched();
}

// The child has the stream's descriptor, and must not be able to end it or to eat its bytes.
TEST_F(AfterFork, CommandOfTheParentRunsOnWhileTheChildFrees) {
  Ended ended;
  std::atomic<bool> started{false};
  std::thread running([&] {
    ExecOptions options;
    options.timeout_ms = 60000;
    std::string out;
    options.output = [&](uint32_t, const uint8_t* data, size_t size) {
      out.append(reinterpret_cast<const char*>(data), size);
      started = true;
      return 0;
    };
    ended = Shell(owner_.get(), "echo started; sleep 3; echo finished; exit 5", options);
    ended.out = out;
  });
  EXPECT_TRUE(WaitUntil([&] { return started.load(); }));
  EXPECT_EQ(InChild([&] {
              Backend copy_backend(owner_.backend());
              Sandbox copy_sandbox(owner_.get());
              const Ended own = Shell(copy_sandbox.get(), "echo child");
              copy_sandbox.reset();
              copy_backend.reset();
              return own.out == "child\n" ? 0 : (std::cerr << "in the child: " << own << "\n", 1);
            }),
            0);
  running.join();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_EQ(ended.out, "started\nfinished\n");
  ExpectParentUntouched();
}

TEST_F(AfterFork, ChildThatJustExitsLeavesTheParentAlone) {
  ASSERT_EQ(Exec(owner_.get(), {"true"}).exit_code, 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    std::exit(7);  // with atexit handlers and static destructors, as a host's child would
  }
  int ended = 0;
  ASSERT_EQ(waitpid(pid, &ended, 0), pid);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 7) << ended;
  ExpectParentUntouched();
}

}  // namespace
}  // namespace osbx::testing
