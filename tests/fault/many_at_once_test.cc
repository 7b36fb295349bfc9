// Many threads and several processes at once, each with its own output: none crossed, none lost, nothing left.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fault/engine_api.h"
#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

// One round of everything in a sandbox that others use too; what was wrong, or nothing.
std::string Round(osbx_sandbox* sandbox, const std::string& mark) {
  ExecOptions options;
  options.timeout_ms = 120000;
  const Ended ended = Shell(sandbox, "echo " + mark + "; echo " + mark + " >&2; exit 9", options);
  if (!ended.status.ok() || ended.exit_code != 9 || ended.out != mark + "\n" || ended.err != mark + "\n") {
    std::ostringstream text;
    text << "exec: " << ended;
    return text.str();
  }
  const std::string path = "/workspace/" + mark;
  std::string again;
  std::ostringstream text;
  Status status = Put(sandbox, path, mark);
  if (!status.ok()) return text << "put: " << status, text.str();
  status = Get(sandbox, path, &again);
  if (!status.ok()) return text << "get: " << status, text.str();
  return again == mark ? "" : "get gave " + again + " for " + mark;
}

// argv: --process NAME NUMBER. Races for the sandbox with its siblings, and works in it with several threads.
int RunProcess(char** argv) {
  const Backend backend = NewBackend();
  Sandbox sandbox;
  const Status status = Create(backend.get(), argv[2], &sandbox);
  if (!status.ok()) {
    std::cerr << "create: " << status << "\n";
    return 10;
  }
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string wrong = Round(sandbox.get(), "p" + std::string(argv[3]) + "t" + std::to_string(i));
      if (!wrong.empty()) std::cerr << wrong << "\n";
      if (!wrong.empty()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%s\n", osbx_info_id(osbx_sandbox_info(sandbox.get())));
  return failures == 0 ? 0 : 11;
}

TEST(ManyAtOnce, FiftyThreadsOnThreeSandboxes) {
  const LeakCheck leaks;
  {
    std::vector<std::unique_ptr<SandboxForTest>> owners;
    for (int i = 0; i < 3; ++i) owners.push_back(std::make_unique<SandboxForTest>("many"));
    // All through one backend, so that they share its loop and its connections.
    const Backend backend = NewBackend();
    std::vector<Sandbox> sandboxes(owners.size());
    for (size_t i = 0; i < owners.size(); ++i) {
      ASSERT_TRUE(Open(backend.get(), owners[i]->name(), &sandboxes[i]).ok());
    }
    constexpr int kThreads = 50;
    std::vector<std::string> wrong(kThreads);
    std::vector<std::thread> threads;
    const int64_t started = monotonic_ms();
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        wrong[static_cast<size_t>(i)] =
            Round(sandboxes[static_cast<size_t>(i) % sandboxes.size()].get(), "t" + std::to_string(i));
      });
    }
    for (std::thread& thread : threads) thread.join();
    Figure("50 threads, an exec, a put and a get each, on 3 sandboxes: %lld ms",
           static_cast<long long>(monotonic_ms() - started));
    for (const std::string& text : wrong) EXPECT_EQ(text, "");
  }
  leaks.ExpectNoLeak();
}

TEST(ManyAtOnce, CancelsAmongManyHitOnlyTheirOwn) {
  SandboxForTest owner("cancels");
  owner.Rest();
  const LeakCheck leaks;
  constexpr int kThreads = 12;
  std::vector<Ended> ends(kThreads);
  {
    const Backend backend = NewBackend();
    Sandbox sandbox;
    ASSERT_TRUE(Open(backend.get(), owner.name(), &sandbox).ok());
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const Cancel cancel = NewCancel();
        ExecOptions options;
        options.timeout_ms = 120000;
        options.cancel = cancel.get();
        if (i % 2 == 0) {
          const FireLater fire(cancel.get(), 1500);
          ends[static_cast<size_t>(i)] =
              Shell(sandbox.get(), "echo " + std::to_string(i) + "; exec sleep 3161", options);
        } else {
          ends[static_cast<size_t>(i)] =
              Shell(sandbox.get(), "echo " + std::to_string(i) + "; sleep 5; exit 8", options);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (int i = 0; i < kThreads; ++i) {
    const Ended& ended = ends[static_cast<size_t>(i)];
    EXPECT_EQ(ended.reason, i % 2 == 0 ? OSBX_END_CANCELLED : OSBX_END_EXITED) << i << ": " << ended;
    if (i % 2 != 0) {
      EXPECT_EQ(ended.exit_code, 8);
      EXPECT_EQ(ended.out, std::to_string(i) + "\n");
    }
  }
  EXPECT_FALSE(owner.Runs("3161"));
  owner.Rest();
  leaks.ExpectNoLeak();
}

TEST(ManyAtOnce, FourProcessesGetOneSandboxAndWorkInIt) {
  const std::string name = UniqueName("processes");
  char self[4096];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  ASSERT_GT(size, 0);
  std::vector<std::string> ids(4);
  std::vector<std::thread> threads;
  const int64_t started = monotonic_ms();
  for (size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      ids[i] = FirstLineOf(std::string(self, static_cast<size_t>(size)) + " --process " + name + " " +
                           std::to_string(i) + " || echo failed");
    });
  }
  for (std::thread& thread : threads) thread.join();
  Figure("4 processes with 4 threads each, create included: %lld ms", static_cast<long long>(monotonic_ms() - started));
  for (const std::string& id : ids) {
    EXPECT_EQ(id, ids[0]);
    EXPECT_EQ(id.size(), 64u) << id;
  }
  EXPECT_TRUE(Destroy(NewBackend().get(), name).ok());
}

// Destroy and create race; every call ends well, or says clearly that the other one won.
TEST(ManyAtOnce, DestroyAndCreateRace) {
  const std::string name = UniqueName("race");
  const LeakCheck leaks;
  {
    const Backend backend = NewBackend();
    std::vector<std::thread> threads;
    std::vector<Status> destroyed(8), created(4);
    Sandbox first;
    ASSERT_TRUE(Create(backend.get(), name, &first).ok());
    for (size_t i = 0; i < destroyed.size(); ++i) {
      threads.emplace_back([&, i] { destroyed[i] = Destroy(backend.get(), name, NewCancel(120000).get()); });
    }
    for (size_t i = 0; i < created.size(); ++i) {
      threads.emplace_back([&, i] {
        Sandbox sandbox;
        created[i] = Create(backend.get(), name, &sandbox, NewCancel(120000).get());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : destroyed) EXPECT_TRUE(status.ok()) << "destroy: " << status;
    for (const Status& status : created) EXPECT_TRUE(status.ok()) << "create: " << status;
    EXPECT_TRUE(Destroy(backend.get(), name).ok());
    Sandbox last;
    EXPECT_EQ(Open(backend.get(), name, &last).code, OSBX_E_NOT_FOUND);
  }
  leaks.ExpectNoLeak();
}

}  // namespace
}  // namespace osbx::testing

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--process") == 0) return osbx::testing::RunProcess(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
