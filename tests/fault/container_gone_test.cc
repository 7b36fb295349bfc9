// The container is killed, stopped, removed or paused behind the library's back: during a command, and between calls.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fault/engine_api.h"
#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

constexpr int64_t kBoundMs = 20000;

// The one who does it, on a thread of his own: the command's output goes on being read meanwhile.
struct Blow {
  const char* name;
  std::function<void(const std::string& id)> strike;
};

ApiAnswer Post(const std::string& target) { return CallEngine(EngineSocket(), "POST", target); }

class Striker {
 public:
  Striker(const Blow& blow, std::string id) : blow_(blow), id_(std::move(id)) {}
  ~Striker() {
    if (thread_.joinable()) thread_.join();
  }
  void Strike() {
    if (thread_.joinable()) return;
    struck_ = monotonic_ms();
    thread_ = std::thread([this] { blow_.strike(id_); });
  }
  int64_t struck() const { return struck_; }

 private:
  const Blow& blow_;
  const std::string id_;
  int64_t struck_ = 0;
  std::thread thread_;
};

std::vector<Blow> Blows() {
  return {
      {"killed", [](const std::string& id) { EXPECT_EQ(Post("/containers/" + id + "/kill").status, 204); }},
      {"stopped", [](const std::string& id) { EXPECT_EQ(Post("/containers/" + id + "/stop?t=1").status, 204); }},
      {"restarted", [](const std::string& id) { EXPECT_EQ(Post("/containers/" + id + "/restart?t=0").status, 204); }},
      {"removed",
       [](const std::string& id) {
         EXPECT_EQ(CallEngine(EngineSocket(), "DELETE", "/containers/" + id + "?force=1").status, 204);
       }},
  };
}

void ExpectUsable(osbx_backend* backend, const std::string& name, const char* after) {
  Sandbox sandbox;
  const Status status = Create(backend, name, &sandbox);
  ASSERT_TRUE(status.ok()) << "create after " << after << ": " << status;
  const Ended ended = Shell(sandbox.get(), "echo alive");
  EXPECT_EQ(ended.out, "alive\n") << "after " << after << ": " << ended;
  EXPECT_TRUE(Put(sandbox.get(), "/workspace/file", "bytes").ok()) << after;
}

class ContainerGone : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { keeper_ = new SandboxForTest("gone"); }
  static void TearDownTestSuite() {
    delete keeper_;
    keeper_ = nullptr;
  }

  // A running sandbox of the one name, however the test before left it.
  Sandbox Running() {
    Sandbox sandbox;
    const Status status = Create(keeper_->backend(), keeper_->name(), &sandbox);
    EXPECT_TRUE(status.ok()) << status;
    keeper_->Mend();  // its handles are of this one now
    return sandbox;
  }
  static std::string IdOf(const Sandbox& sandbox) { return osbx_info_id(osbx_sandbox_info(sandbox.get())); }
  static inline SandboxForTest* keeper_ = nullptr;
};

TEST_F(ContainerGone, DuringACommandIsSandboxGone) {
  for (const Blow& blow : Blows()) {
    const Sandbox sandbox = Running();
    const std::string id = IdOf(sandbox);
    std::string out;
    ExecOptions options;
    Striker striker(blow, id);
    options.output = [&](uint32_t stream, const uint8_t* data, size_t size) {
      if (stream == OSBX_STDOUT) out.append(reinterpret_cast<const char*>(data), size);
      if (out == "started\n") striker.Strike();
      return 0;
    };
    const Ended ended = Shell(sandbox.get(), "echo started; exec sleep 3131", options);
    const int64_t late = monotonic_ms() - striker.struck();
    EXPECT_TRUE(ended.status.ok()) << blow.name << ": " << ended;
    EXPECT_EQ(ended.reason, OSBX_END_SANDBOX_GONE) << blow.name << ": " << ended;
    EXPECT_EQ(out.substr(0, 8), "started\n");
    EXPECT_LT(late, kBoundMs) << blow.name;
    Figure("%s during a command: %s, %lld ms after", blow.name, osbx_end_reason_name(ended.reason),
           static_cast<long long>(late));
    ExpectUsable(keeper_->backend(), keeper_->name(), blow.name);
  }
}

TEST_F(ContainerGone, DuringAPutAndAGetIsNotRunning) {
  for (const Blow& blow : Blows()) {
    Sandbox sandbox = Running();
    const std::string id = IdOf(sandbox);
    size_t given = 0;
    Status status;
    {
      Striker striker(blow, id);
      status = PutStream(sandbox.get(), "/workspace/big", [&](uint8_t* buffer, size_t capacity) -> int64_t {
        if (given > 1000000) striker.Strike();
        std::fill_n(buffer, capacity, 'x');
        given += capacity;
        return given > (size_t{600} << 20) ? 0 : static_cast<int64_t>(capacity);
      });
    }
    EXPECT_TRUE(status.code == OSBX_E_NOT_RUNNING || status.code == OSBX_E_NOT_FOUND) << blow.name << ": " << status;
    EXPECT_LT(status.ms, kBoundMs);
    Figure("%s during a put: %s after %lld ms: %s", blow.name, osbx_status_name(status.code),
           static_cast<long long>(status.ms), status.message.c_str());

    sandbox = Running();
    const std::string same = IdOf(sandbox);
    ASSERT_EQ(Shell(sandbox.get(), "head -c 200000000 /dev/zero >/workspace/big").exit_code, 0);
    {
      Striker striker(blow, same);
      status = GetStream(sandbox.get(), "/workspace/big", [&](const uint8_t*, size_t) {
        striker.Strike();
        return 0;
      });
    }
    EXPECT_TRUE(status.code == OSBX_E_NOT_RUNNING || status.code == OSBX_E_NOT_FOUND) << blow.name << ": " << status;
    EXPECT_LT(status.ms, kBoundMs);
    Figure("%s during a get: %s after %lld ms", blow.name, osbx_status_name(status.code),
           static_cast<long long>(status.ms));
    ExpectUsable(keeper_->backend(), keeper_->name(), blow.name);
  }
}

TEST_F(ContainerGone, BetweenCallsIsNotRunningOrNotFound) {
  for (const Blow& blow : Blows()) {
    if (std::string(blow.name) == "restarted") continue;  // it runs again
    const Sandbox sandbox = Running();
    blow.strike(IdOf(sandbox));
    const osbx_status expected = std::string(blow.name) == "removed" ? OSBX_E_NOT_FOUND : OSBX_E_NOT_RUNNING;
    const Ended ended = Exec(sandbox.get(), {"true"});
    EXPECT_EQ(ended.status.code, expected) << blow.name << ": " << ended;
    Status status = Put(sandbox.get(), "/workspace/a", "a");
    EXPECT_EQ(status.code, expected) << blow.name << ": " << status;
    status = Get(sandbox.get(), "/workspace/a", nullptr);
    EXPECT_EQ(status.code, expected) << blow.name << ": " << status;
    osbx_error* error = nullptr;
    const osbx_status stopped = osbx_stop(sandbox.get(), 0, nullptr, &error);
    EXPECT_EQ(stopped, expected == OSBX_E_NOT_FOUND ? OSBX_E_NOT_FOUND : OSBX_OK) << osbx_error_message(error);
    osbx_error_free(error);
    ExpectUsable(keeper_->backend(), keeper_->name(), blow.name);
  }
}

// A frozen tree is still a tree: it would run on as soon as somebody thaws it.
TEST_F(ContainerGone, PausedDuringACommandEndsAtTheTimeoutAndLeavesNothing) {
  const Sandbox sandbox = Running();
  const std::string id = IdOf(sandbox);
  ExecOptions options;
  options.timeout_ms = 3000;
  bool paused = false;
  options.output = [&](uint32_t, const uint8_t*, size_t) {
    if (!paused) {
      EXPECT_EQ(Post("/containers/" + id + "/pause").status, 204);
    }
    paused = true;
    return 0;
  };
  const Ended ended = Shell(sandbox.get(), "echo started; exec sleep 3132", options);
  Figure("paused during a command, timeout 3 s: %s after %lld ms", osbx_end_reason_name(ended.reason),
         static_cast<long long>(ended.status.ms));
  EXPECT_TRUE(ended.status.ok()) << ended;
  EXPECT_LT(ended.status.ms, kBoundMs);
  const Sandbox again = Running();
  EXPECT_FALSE(keeper_->Runs("3132") && ended.reason == OSBX_END_TIMED_OUT)
      << "said to have been killed, but it runs on once thawed";
  EXPECT_FALSE(keeper_->Runs("3132"));
}

TEST_F(ContainerGone, PausedBetweenCallsIsNotRunningAndCreateThawsIt) {
  const Sandbox sandbox = Running();
  ASSERT_TRUE(Put(sandbox.get(), "/workspace/kept", "kept").ok());
  ASSERT_EQ(Post("/containers/" + IdOf(sandbox) + "/pause").status, 204);
  const Ended ended = Exec(sandbox.get(), {"true"});
  EXPECT_EQ(ended.status.code, OSBX_E_NOT_RUNNING) << ended;
  const Status status = Put(sandbox.get(), "/workspace/a", "a");
  EXPECT_EQ(status.code, OSBX_E_NOT_RUNNING) << status;
  const Sandbox again = Running();
  std::string kept;
  EXPECT_TRUE(Get(again.get(), "/workspace/kept", &kept).ok());
  EXPECT_EQ(kept, "kept");
}

// Many commands, one end: the watch of the sandbox ends each stream, on engines too that never would (Docker 20 and
// gVisor).
TEST_F(ContainerGone, ManyCommandsEndWithTheirSandbox) {
  const Sandbox sandbox = Running();
  const std::string id = IdOf(sandbox);
  constexpr int kCommands = 8;
  std::atomic<int> started{0};
  std::vector<Ended> ends(kCommands);
  std::vector<std::thread> threads;
  for (int i = 0; i < kCommands; ++i) {
    threads.emplace_back([&, i] {
      ExecOptions options;
      options.timeout_ms = 60000;
      options.output = [&](uint32_t, const uint8_t*, size_t) { return ++started, 0; };
      ends[i] = Shell(sandbox.get(), "echo started; exec sleep 3133", options);
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return started >= kCommands; }));
  const int64_t struck = monotonic_ms();
  EXPECT_EQ(Post("/containers/" + id + "/kill").status, 204);
  for (std::thread& thread : threads) thread.join();
  Figure("%d commands ended %lld ms after their sandbox", kCommands, static_cast<long long>(monotonic_ms() - struck));
  EXPECT_LT(monotonic_ms() - struck, kBoundMs);
  for (const Ended& ended : ends) EXPECT_EQ(ended.reason, OSBX_END_SANDBOX_GONE) << ended;
  ExpectUsable(keeper_->backend(), keeper_->name(), "kill");
}

// gVisor's own death, not the engine's doing: the process that is the sandbox is killed on the host.
TEST_F(ContainerGone, KilledOnTheHostIsSandboxGone) {
  const Sandbox sandbox = Running();
  const std::string body = CallEngine(EngineSocket(), "GET", "/containers/" + IdOf(sandbox) + "/json").body;
  const size_t at = body.find("\"Pid\":");
  ASSERT_NE(at, std::string::npos);
  const pid_t pid = std::atoi(body.c_str() + at + 6);
  ASSERT_GT(pid, 1);
  ExecOptions options;
  int64_t struck = 0;
  options.output = [&](uint32_t, const uint8_t*, size_t) {
    if (struck == 0) {
      EXPECT_EQ(kill(pid, SIGKILL), 0);
      struck = monotonic_ms();
    }
    return 0;
  };
  const Ended ended = Shell(sandbox.get(), "echo started; exec sleep 3134", options);
  Figure("killed on the host: %s, %lld ms after", osbx_end_reason_name(ended.reason),
         static_cast<long long>(monotonic_ms() - struck));
  EXPECT_TRUE(ended.reason == OSBX_END_SANDBOX_GONE || ended.reason == OSBX_END_OUT_OF_MEMORY) << ended;
  EXPECT_LT(monotonic_ms() - struck, kBoundMs);
  ExpectUsable(keeper_->backend(), keeper_->name(), "SIGKILL on the host");
}

}  // namespace
}  // namespace osbx::testing
