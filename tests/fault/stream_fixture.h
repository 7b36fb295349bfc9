// A sandbox on the real engine that is used through a proxy, for tests that break the connection of a running command.
#ifndef OSBX_TESTS_FAULT_STREAM_FIXTURE_H_
#define OSBX_TESTS_FAULT_STREAM_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fault/fault_support.h"
#include "support/socket_proxy.h"

namespace osbx::testing {

inline constexpr char kStart[] = "/exec/[^/]*/start$";
inline constexpr char kInspectExec[] = "/exec/[^/]*/json$";
inline constexpr char kCreateExec[] = "/containers/[^/]*/exec$";
inline constexpr char kKillContainer[] = "/containers/[^/]*/kill";
inline constexpr char kEvents[] = "/events";
inline constexpr char kWait[] = "/wait";
// What a call may take at the very most: the attempts to kill a tree are bounded.
inline constexpr int64_t kBoundMs = 25000;

class ExecStream : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { owner_ = new SandboxForTest("stream"); }
  static void TearDownTestSuite() {
    delete owner_;
    owner_ = nullptr;
  }

  void SetUp() override {
    owner_->Mend();
    owner_->Rest();
    leaks_ = std::make_unique<LeakCheck>();
    backend_ = NewBackend(proxy_.uri());
    const Status status = Open(backend_.get(), owner_->name(), &sandbox_);
    ASSERT_TRUE(status.ok()) << status;
    static int count = 0;
    marker_ = "31" + std::to_string(getpid() % 100000) + std::to_string(100 + count++);
  }

  void TearDown() override {
    sandbox_.reset();
    backend_.reset();
    owner_->Rest();
    EXPECT_TRUE(proxy_.WaitForNoConnections());
    leaks_->ExpectNoLeak();
    owner_->Mend();
    const Ended ended = Exec(owner_->get(), {"true"});
    EXPECT_EQ(ended.exit_code, 0) << "the sandbox is of no use any more: " << ended;
  }

  // Prints, and sleeps for a number of seconds that tells this test's process from all others.
  std::string Sleeper() const { return "echo started; exec sleep " + marker_; }
  std::string SleeperWithTree() const {
    return "echo started; trap '' TERM; setsid sleep " + marker_ + " & sleep " + marker_;
  }

  void ExpectNothingRuns() {
    EXPECT_TRUE(WaitUntil([this] { return !owner_->Runs(marker_); }, 20000)) << "the command runs on in the sandbox";
  }

  // Where the engine could not be reached, the command is not the library's to end.
  void KillByHand() {
    (void)Shell(owner_->get(), "for p in /proc/[0-9]*; do if tr '\\0' ' ' <$p/cmdline | grep -q 'sleep [" +
                                   marker_.substr(0, 1) + "]" + marker_.substr(1) +
                                   "'; then kill -9 ${p#/proc/}; fi; done");
    ExpectNothingRuns();
  }

  static void Print(const char* what, const Ended& ended) {
    Figure("%s: %s %s %d after %lld ms", what, osbx_status_name(ended.status.code), osbx_end_reason_name(ended.reason),
           ended.exit_code, static_cast<long long>(ended.status.ms));
  }

  inline static SandboxForTest* owner_ = nullptr;
  SocketProxy proxy_{EngineSocket()};
  std::unique_ptr<LeakCheck> leaks_;
  Backend backend_;
  Sandbox sandbox_;
  std::string marker_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_FAULT_STREAM_FIXTURE_H_
