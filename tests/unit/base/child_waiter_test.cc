#include "base/child_waiter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/process_scan.h"
#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Event;
using testing::Eventually;

pid_t ForkExit(int code) {
  const pid_t pid = fork();
  if (pid == 0) _exit(code);
  return pid;
}

pid_t ForkWaiting() {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

bool IsZombie(pid_t pid) {
  const auto info = ReadProcess(pid);
  return info.has_value() && info->state == 'Z';
}

class Fixture {
 public:
  explicit Fixture(int kind) {
    Run([&] { waiter = kind == 2 ? NewReapingChildWaiter(loop).value() : NewChildWaiter(loop, kind == 1); });
  }
  ~Fixture() {
    Run([&] { waiter.reset(); });
  }
  void Run(const EventLoop::Task& task) const { static_cast<void>(loop->RunAndWait(task)); }
  // Watches `pid` from the loop; the result is there when it has ended.
  ChildExit Wait(pid_t pid) {
    Event ended;
    ChildExit result;
    Run([&] {
      waiter->Watch(pid, [&](ChildExit exit) {
        result = exit;
        ended.Set();
      });
    });
    EXPECT_TRUE(ended.Wait());
    return result;
  }

  const std::shared_ptr<EventLoop> loop = EventLoop::Create();
  std::shared_ptr<ChildWaiter> waiter;
};

class HostedWaiter : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ways, HostedWaiter, ::testing::Values(0, 1));

TEST_P(HostedWaiter, CodesAndSignals) {
  Fixture fixture(GetParam());
  EXPECT_EQ(fixture.Wait(ForkExit(0)).code, 0);
  EXPECT_EQ(fixture.Wait(ForkExit(255)).code, 255);
  const pid_t pid = ForkWaiting();
  kill(pid, SIGKILL);
  const ChildExit exit = fixture.Wait(pid);
  EXPECT_EQ(exit.code, 128 + SIGKILL);
  EXPECT_TRUE(exit.known);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_P(HostedWaiter, AnExitBeforeTheWatchIsNotLost) {
  Fixture fixture(GetParam());
  const pid_t pid = ForkExit(7);
  ASSERT_TRUE(Eventually([&] { return IsZombie(pid); }));
  EXPECT_EQ(fixture.Wait(pid).code, 7);
}

TEST_P(HostedWaiter, TwoHundredAtOnce) {
  Fixture fixture(GetParam());
  std::map<pid_t, int> expected;
  for (int i = 0; i < 200; ++i) expected[ForkExit(i)] = i;
  std::map<pid_t, int> codes;
  Event all;
  fixture.Run([&] {
    for (const auto& entry : expected) {
      fixture.waiter->Watch(entry.first, [&codes, &all, pid = entry.first](ChildExit exit) {
        codes[pid] = exit.known ? exit.code : -1;
        if (codes.size() == 200) all.Set();
      });
    }
  });
  EXPECT_TRUE(all.Wait());
  EXPECT_EQ(codes, expected);
}

TEST_P(HostedWaiter, AStrangersChildIsNotKnown) {
  Fixture fixture(GetParam());
  EXPECT_FALSE(fixture.Wait(1).known);
  const pid_t stolen = ForkExit(3);
  ASSERT_EQ(waitpid(stolen, nullptr, 0), stolen);
  EXPECT_FALSE(fixture.Wait(stolen).known);
}

TEST_P(HostedWaiter, LeavesTheChildrenOfOthers) {
  Fixture fixture(GetParam());
  const pid_t other = ForkExit(9);
  fixture.Wait(ForkExit(0));
  int status = 0;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

TEST_P(HostedWaiter, CanEndBeforeTheChild) {
  const pid_t pid = ForkWaiting();
  {
    Fixture fixture(GetParam());
    fixture.Run([&] { fixture.waiter->Watch(pid, [](ChildExit) { FAIL(); }); });
  }
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

// Runs `scenario` in a child process that adopts orphans, as the program does that owns its process.
int InOwner(int (*scenario)()) {
  const pid_t owner = fork();
  if (owner == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child_signal, nullptr);
    _exit(scenario());
  }
  int status = 0;
  EXPECT_EQ(waitpid(owner, &status, 0), owner);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool HasChild() { return waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT | WNOHANG) == 0; }

TEST(ReapingWaiter, WatchedChildrenAndTheirCodes) {
  EXPECT_EQ(InOwner([] {
              Fixture fixture(2);
              if (!fixture.waiter->adopts_orphans()) return 1;
              for (int i = 0; i < 200; ++i) {
                if (fixture.Wait(ForkExit(i)).code != i) return 2;
              }
              const pid_t pid = ForkWaiting();
              kill(pid, SIGTERM);
              if (fixture.Wait(pid).code != 128 + SIGTERM) return 3;
              return HasChild() ? 4 : 0;
            }),
            0);
}

TEST(ReapingWaiter, ReapsEveryOrphan) {
  EXPECT_EQ(InOwner([] {
              Fixture fixture(2);
              const pid_t parent = fork();
              if (parent == 0) {
                for (int i = 0; i < 300; ++i) ForkExit(1);
                _exit(5);
              }
              if (fixture.Wait(parent).code != 5) return 1;
              return Eventually([] { return !HasChild(); }) ? 0 : 2;
            }),
            0);
}

TEST(ReapingWaiter, AnExitBeforeTheWatchIsNotLost) {
  EXPECT_EQ(InOwner([] {
              Fixture fixture(2);
              const pid_t pid = ForkExit(6);
              if (!Eventually([&] { return !ReadProcess(pid).has_value(); })) return 1;  // reaped
              const ChildExit exit = fixture.Wait(pid);
              if (!exit.known || exit.code != 6) return 2;
              // It is told once.
              return fixture.Wait(pid).known ? 3 : 0;
            }),
            0);
}

TEST(ReapingWaiter, ChildrenFromBeforeItAreReaped) {
  EXPECT_EQ(InOwner([] {
              const pid_t pid = ForkExit(6);
              if (!Eventually([&] { return IsZombie(pid); })) return 1;
              Fixture fixture(2);
              return Eventually([] { return !HasChild(); }) ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace osbx::base
