// The host process is killed with SIGKILL in the middle of a put: the old file stays whole, and what the put had
// written beside it goes. An end of its input is no proof for the guest, since the engine makes a clean one of a dead
// client.
//
// The victim is this program started again, so that it is a process of its own in every way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fault/fault_support.h"
#include "support/socket_proxy.h"

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;
constexpr char kPath[] = "/workspace/d/file";

// argv: --victim HOST NAME buffer|stream SIZE STOP. A stream stops for ever after STOP bytes and says so on
// descriptor 3.
int RunVictim(char** argv) {
  const std::string how = argv[4];
  const size_t size = std::stoull(argv[5]);
  const size_t stop = std::stoull(argv[6]);
  const Backend backend = NewBackend(argv[2]);
  Sandbox sandbox;
  if (!Open(backend.get(), argv[3], &sandbox).ok()) return 10;
  if (how == "buffer") return Put(sandbox.get(), kPath, std::string(size, 'n')).ok() ? 0 : 11;
  size_t given = 0;
  const Status status = PutStream(sandbox.get(), kPath, [&](uint8_t* buffer, size_t capacity) -> int64_t {
    if (given == stop) {
      if (write(3, "x", 1) != 1) return -1;
      for (;;) pause();
    }
    const size_t part = std::min({capacity, stop - given, size_t{10000}});
    std::fill_n(buffer, part, 'n');
    given += part;
    return static_cast<int64_t>(part);
  });
  return status.ok() ? 0 : 12;
}

class HostKilled : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { owner_ = new SandboxForTest("hostkill"); }
  static void TearDownTestSuite() {
    delete owner_;
    owner_ = nullptr;
  }

  void SetUp() override {
    const Status status = Put(owner_->get(), kPath, "old");
    ASSERT_TRUE(status.ok()) << status;
  }

  pid_t StartVictim(const std::string& how, size_t size, size_t stop) {
    int pipe_fds[2];
    EXPECT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
    const std::string uri = proxy_.uri(), sizes = std::to_string(size), stops = std::to_string(stop);
    const pid_t pid = fork();
    if (pid == 0) {
      if (dup2(pipe_fds[1], 3) != 3) _exit(20);
      const char* arguments[] = {"victim",    "--victim",    uri.c_str(),   owner_->name().c_str(),
                                 how.c_str(), sizes.c_str(), stops.c_str(), nullptr};
      execv("/proc/self/exe", const_cast<char* const*>(arguments));
      _exit(21);
    }
    close(pipe_fds[1]);
    ready_ = pipe_fds[0];
    return pid;
  }

  void Kill(pid_t pid) {
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    int ended = 0;
    EXPECT_EQ(waitpid(pid, &ended, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(ended)) << "it had ended before: " << WEXITSTATUS(ended);
    close(ready_);
  }

  // The file is old, or where all of it had been sent, wholly new; and nothing lies beside it.
  void ExpectWhole(const char* what, size_t at, bool may_be_new, size_t size) {
    const int64_t killed = monotonic_ms();
    std::string names;
    EXPECT_TRUE(WaitUntil([&] {
      names = Shell(owner_->get(), "ls -A /workspace/d").out;
      return names == "file\n";
    })) << what
        << " at " << at << " leaves " << names;
    const int64_t clean = monotonic_ms() - killed;
    std::string content;
    const Status status = Get(owner_->get(), kPath, &content);
    EXPECT_TRUE(status.ok()) << status;
    const bool fresh = may_be_new && content == std::string(size, 'n');
    EXPECT_TRUE(content == "old" || fresh) << what << " at " << at << ": " << content.size() << " bytes";
    Figure("%s killed at byte %zu of %zu: %s, clean after %lld ms", what, at, size, fresh ? "new" : "old",
           static_cast<long long>(clean));
  }

  inline static SandboxForTest* owner_ = nullptr;
  SocketProxy proxy_{EngineSocket()};
  int ready_ = -1;
};

// The proxy lets exactly so many bytes of the content through; then the process is killed.
TEST_F(HostKilled, PutOfABufferAtSeveralByteCounts) {
  for (const size_t size : {size_t{200000}, size_t{3000000}}) {
    for (const size_t at : {size_t{0}, size_t{1}, size_t{65536}, size / 2, size - 1, size}) {
      const int rule = proxy_.AddRule(ProxyRule("POST", "/exec/[^/]*/start$", Action::kStallRequest).At(at));
      const pid_t victim = StartVictim("buffer", size, 0);
      ASSERT_TRUE(proxy_.WaitForHits(rule, 1));
      Kill(victim);
      EXPECT_TRUE(proxy_.WaitForNoConnections());
      proxy_.ClearRules();
      ExpectWhole("put", at, at == size, size);
      ASSERT_TRUE(Put(owner_->get(), kPath, "old").ok());
    }
  }
}

// The record that commits a stream is cut as well: token and length are 52 bytes behind the content.
TEST_F(HostKilled, PutOfAStreamAtSeveralByteCounts) {
  constexpr size_t kSize = 1000000;
  for (const size_t at : {size_t{0}, size_t{1}, size_t{65536}, kSize - 1, kSize}) {
    const pid_t victim = StartVictim("stream", kSize, at);
    char byte = 0;
    ASSERT_EQ(read(ready_, &byte, 1), 1) << "the victim did not get there";
    Kill(victim);
    EXPECT_TRUE(proxy_.WaitForNoConnections());
    ExpectWhole("put_stream", at, false, kSize);
  }
}

TEST_F(HostKilled, ManyPutsAtOnceLeaveNothing) {
  constexpr int kVictims = 6;
  std::vector<pid_t> victims;
  std::vector<int> pipes;
  for (int i = 0; i < kVictims; ++i) {
    victims.push_back(StartVictim("stream", 1000000, 100000 * static_cast<size_t>(i)));
    pipes.push_back(ready_);
  }
  for (int i = 0; i < kVictims; ++i) {
    char byte = 0;
    ASSERT_EQ(read(pipes[i], &byte, 1), 1);
  }
  for (int i = 0; i < kVictims; ++i) {
    ready_ = pipes[i];
    Kill(victims[i]);
  }
  ExpectWhole("six put_stream", 0, false, 1000000);
}

}  // namespace
}  // namespace osbx::testing

int main(int argc, char** argv) {
  if (argc == 7 && std::strcmp(argv[1], "--victim") == 0) return osbx::testing::RunVictim(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
