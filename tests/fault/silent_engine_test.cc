// An engine that falls silent or goes away between calls, seen by what works on a sandbox that is there: exec, put,
// get, stop. The engine is real, behind a proxy.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fault/fault_support.h"
#include "support/socket_proxy.h"

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;
constexpr int64_t kGenerousMs = 2000;

using Operation = std::function<Status(osbx_sandbox* sandbox, osbx_cancel* cancel)>;

std::vector<std::pair<const char*, Operation>> Operations() {
  return {
      {"exec",
       [](osbx_sandbox* sandbox, osbx_cancel* cancel) {
         ExecOptions options;
         options.cancel = cancel;
         return Exec(sandbox, {"true"}, options).status;
       }},
      {"put", [](osbx_sandbox* sandbox, osbx_cancel* cancel) { return Put(sandbox, "/workspace/a", "bytes", cancel); }},
      {"get", [](osbx_sandbox* sandbox, osbx_cancel* cancel) { return Get(sandbox, "/workspace/a", nullptr, cancel); }},
  };
}

class SilentEngine : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { owner_ = new SandboxForTest("silent"); }
  static void TearDownTestSuite() {
    delete owner_;
    owner_ = nullptr;
  }

  void SetUp() override { owner_->Rest(); }

  // A handle of the same sandbox, through the proxy.
  void OpenThroughProxy() {
    backend_ = NewBackend(proxy_.uri());
    const Status status = Open(backend_.get(), owner_->name(), &sandbox_);
    ASSERT_TRUE(status.ok()) << status;
  }
  void CloseProxied() {
    sandbox_.reset();
    backend_.reset();
    EXPECT_TRUE(proxy_.WaitForNoConnections());
  }

  static SandboxForTest* owner_;
  SocketProxy proxy_{EngineSocket()};
  Backend backend_;
  Sandbox sandbox_;
};

SandboxForTest* SilentEngine::owner_ = nullptr;

TEST_F(SilentEngine, SilenceBeforeAnythingRanEndsAtTheDeadline) {
  const LeakCheck leaks;
  for (const auto& [name, operation] : Operations()) {
    OpenThroughProxy();
    proxy_.AddRule(ProxyRule("", "", Action::kSilence));
    const Cancel cancel = NewCancel(300);
    const Status status = operation(sandbox_.get(), cancel.get());
    EXPECT_EQ(status.code, OSBX_E_TIMEOUT) << name << ": " << status;
    EXPECT_LT(status.ms, 300 + kGenerousMs) << name;
    Figure("silent, deadline 300 ms, %s: %lld ms", name, static_cast<long long>(status.ms));
    proxy_.ClearRules();
    CloseProxied();
  }
  leaks.ExpectNoLeak();
}

TEST_F(SilentEngine, SilenceBeforeAnythingRanEndsWhenTheTokenIsFired) {
  const LeakCheck leaks;
  for (const auto& [name, operation] : Operations()) {
    OpenThroughProxy();
    proxy_.AddRule(ProxyRule("", "", Action::kSilence));
    const Cancel cancel = NewCancel();
    {
      const FireLater fire(cancel.get(), 200);
      const Status status = operation(sandbox_.get(), cancel.get());
      const int64_t late = monotonic_ms() - fire.fired_at();
      EXPECT_EQ(status.code, OSBX_E_CANCELED) << name << ": " << status;
      EXPECT_LT(late, kGenerousMs) << name;
      Figure("silent, cancelled, %s: returned %lld ms after the cancel", name, static_cast<long long>(late));
    }
    proxy_.ClearRules();
    CloseProxied();
  }
  leaks.ExpectNoLeak();
}

TEST_F(SilentEngine, EngineThatWentAwayIsUnreachableAndWorksAgainWhenItIsBack) {
  const LeakCheck leaks;
  for (const auto& [name, operation] : Operations()) {
    OpenThroughProxy();
    proxy_.Die();
    const Cancel cancel = NewCancel(10000);
    Status status = operation(sandbox_.get(), cancel.get());
    EXPECT_EQ(status.code, OSBX_E_UNREACHABLE) << name << ": " << status;
    EXPECT_LT(status.ms, kGenerousMs) << name;
    Figure("gone, %s: %s after %lld ms", name, osbx_status_name(status.code), static_cast<long long>(status.ms));
    proxy_.Revive();
    ASSERT_TRUE(Put(sandbox_.get(), "/workspace/a", "bytes").ok());
    status = operation(sandbox_.get(), nullptr);
    EXPECT_TRUE(status.ok()) << name << " after the engine came back: " << status;
    CloseProxied();
  }
  leaks.ExpectNoLeak();
}

// A kept-alive connection that the engine closed: a call that changes nothing tries again, one that does uses a new
// one.
TEST_F(SilentEngine, KeptConnectionThatTheEngineClosedIsNoFailure) {
  OpenThroughProxy();
  ASSERT_TRUE(List(backend_.get(), nullptr).ok());
  for (int i = 0; i < 3; ++i) {
    proxy_.Die();
    proxy_.Revive();
    Sandbox again;
    const Status status = Open(backend_.get(), owner_->name(), &again);
    EXPECT_TRUE(status.ok()) << status;
    proxy_.Die();
    proxy_.Revive();
    const Ended ended = Exec(sandbox_.get(), {"true"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
  CloseProxied();
}

// One request of a call after the other fails; whatever it was, the call says so and leaves nothing.
TEST_F(SilentEngine, EachRequestOfAnExecMayBeRefused) {
  const LeakCheck leaks;
  struct Case {
    const char* method;
    const char* target;
    std::vector<osbx_status> allowed;
  };
  for (const Case& one : std::vector<Case>{
           {"POST", "/wait", {OSBX_E_BACKEND}},
           {"POST", "/containers/[^/]*/exec$", {OSBX_E_BACKEND}},
           {"POST", "/exec/[^/]*/start$", {OSBX_E_BACKEND}},
       }) {
    OpenThroughProxy();
    proxy_.AddRule(
        ProxyRule(one.method, one.target, Action::kAnswer).Answer(ProxyAnswer(500, "{\"message\":\"out of luck\"}")));
    for (const auto& [name, operation] : Operations()) {
      const Cancel cancel = NewCancel(10000);
      const Status status = operation(sandbox_.get(), cancel.get());
      EXPECT_NE(status.message.find("out of luck"), std::string::npos) << one.target << " " << name << ": " << status;
      EXPECT_EQ(status.code, one.allowed[0]) << one.target << " " << name << ": " << status;
      EXPECT_LT(status.ms, kGenerousMs);
    }
    proxy_.ClearRules();
    CloseProxied();
  }
  leaks.ExpectNoLeak();
}

}  // namespace
}  // namespace osbx::testing
