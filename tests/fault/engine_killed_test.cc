// A dockerd of the test's own is killed with SIGKILL in the middle of what it does for us.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "fault/engine_api.h"
#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

constexpr int64_t kBoundMs = 25000;

// One engine a test: what dies does not come back.
class EngineKilled : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_ = std::make_unique<DisposableEngine>("fault-killed");
    leaks_ = std::make_unique<LeakCheck>();
    backend_ = NewBackend(engine_->host());
    const Status status = Create(backend_.get(), "victim", &sandbox_);
    ASSERT_TRUE(status.ok()) << status;
  }
  void TearDown() override {
    sandbox_.reset();
    backend_.reset();
    leaks_->ExpectNoLeak();
    engine_.reset();
  }

  std::unique_ptr<DisposableEngine> engine_;
  std::unique_ptr<LeakCheck> leaks_;
  Backend backend_;
  Sandbox sandbox_;
};

TEST_F(EngineKilled, MidExecAndThenEveryCallIsUnreachable) {
  ExecOptions options;
  int64_t struck = 0;
  std::string out;
  options.output = [&](uint32_t, const uint8_t* data, size_t size) {
    out.append(reinterpret_cast<const char*>(data), size);
    if (struck == 0) {
      engine_->KillDaemon();
      struck = monotonic_ms();
    }
    return 0;
  };
  const Ended ended = Shell(sandbox_.get(), "echo started; exec sleep 3141", options);
  Figure("dockerd killed mid-exec: %s, %lld ms after", osbx_end_reason_name(ended.reason),
         static_cast<long long>(monotonic_ms() - struck));
  EXPECT_TRUE(ended.status.ok()) << ended;
  EXPECT_EQ(ended.reason, OSBX_END_OUTCOME_UNKNOWN) << ended;
  EXPECT_EQ(ended.exit_code, -1);
  EXPECT_EQ(out, "started\n");
  EXPECT_LT(monotonic_ms() - struck, kBoundMs);

  Sandbox other;
  std::string bytes;
  for (const Status& status : {
           Create(backend_.get(), "other", &other),
           Open(backend_.get(), "victim", &other),
           List(backend_.get(), nullptr),
           Exec(sandbox_.get(), {"true"}).status,
           Put(sandbox_.get(), "/workspace/a", "a"),
           Get(sandbox_.get(), "/workspace/a", &bytes),
           Destroy(backend_.get(), "victim"),
       }) {
    EXPECT_EQ(status.code, OSBX_E_UNREACHABLE) << status;
    EXPECT_LT(status.ms, 2000);
  }
}

TEST_F(EngineKilled, MidPutIsAClearError) {
  size_t given = 0;
  int64_t struck = 0;
  const Status status = PutStream(sandbox_.get(), "/workspace/a", [&](uint8_t* buffer, size_t capacity) -> int64_t {
    if (given > 3000000 && struck == 0) {
      engine_->KillDaemon();
      struck = monotonic_ms();
    }
    std::fill_n(buffer, capacity, 'n');
    given += capacity;
    return given > (size_t{500} << 20) ? 0 : static_cast<int64_t>(capacity);
  });
  Figure("dockerd killed mid-put: %s, %lld ms after: %s", osbx_status_name(status.code),
         static_cast<long long>(monotonic_ms() - struck), status.message.c_str());
  EXPECT_TRUE(status.code == OSBX_E_BACKEND || status.code == OSBX_E_UNREACHABLE) << status;
  EXPECT_LT(monotonic_ms() - struck, kBoundMs);
}

}  // namespace
}  // namespace osbx::testing
