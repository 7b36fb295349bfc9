// Rounds of create, exec, put, get and destroy in one process: descriptors, threads and memory come back to where they
// were.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

void OneRound(osbx_backend* backend, const std::string& name, int number) {
  Sandbox sandbox;
  Status status = Create(backend, name, &sandbox);
  ASSERT_TRUE(status.ok()) << status;
  const Ended ended = Shell(sandbox.get(), "echo round; exit 3");
  ASSERT_EQ(ended.exit_code, 3) << ended;
  ASSERT_EQ(ended.out, "round\n");
  const std::string content = "content " + std::to_string(number);
  status = Put(sandbox.get(), "/workspace/file", content);
  ASSERT_TRUE(status.ok()) << status;
  std::string again;
  status = Get(sandbox.get(), "/workspace/file", &again);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(again, content);
  status = Destroy(backend, name);
  ASSERT_TRUE(status.ok()) << status;
}

// What the allocator keeps for itself is not a leak; after a trim what stays is held by somebody.
long TrimmedKib() {
  malloc_trim(0);
  return process_resident_kib();
}

// `workers` threads share the backend and the rounds; each has a sandbox name of its own.
void RunRounds(int rounds, int workers, long most_growth_kib, int64_t budget_ms) {
  const LeakCheck before_backend;
  {
    const Backend backend = NewBackend();
    std::vector<std::string> names;
    for (int i = 0; i < workers; ++i) names.push_back(UniqueName("rounds"));
    const auto run = [&](int count, int64_t until) {
      std::atomic<int> taken{0}, done{0};
      std::vector<std::thread> threads;
      for (const std::string& name : names) {
        threads.emplace_back([&, name] {
          while (taken++ < count && monotonic_ms() < until && !::testing::Test::HasFatalFailure()) {
            OneRound(backend.get(), name, taken);
            const int number = ++done;
            if (number % 50 == 0) {
              Figure("%d rounds: %ld KiB resident, %d descriptors", number, process_resident_kib(), process_fd_count());
            }
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      return done.load();
    };

    // What is made once and kept (connections, the loop's thread, the allocator's arenas) is there after some rounds.
    const int warm_up = 5 * workers;
    ASSERT_EQ(run(warm_up, monotonic_ms() + budget_ms), warm_up);
    const int fds = process_fd_count();
    const int threads = process_thread_count();
    const long memory = TrimmedKib();
    const int64_t started = monotonic_ms();
    const int done = run(rounds, started + budget_ms);
    const int64_t ms = monotonic_ms() - started;
    EXPECT_EQ(done, rounds) << "not done in " << budget_ms << " ms";
    const long grown = TrimmedKib() - memory;
    Figure(
        "%d rounds in %lld ms (%lld ms each): resident %ld KiB, grown by %ld KiB; descriptors %d, were %d; threads "
        "%d, were %d",
        done, static_cast<long long>(ms), static_cast<long long>(ms / (done > 0 ? done : 1)), memory, grown,
        process_fd_count(), fds, process_thread_count(), threads);
    WaitUntil([&] { return process_fd_count() <= fds; }, 10000);
    EXPECT_LE(process_fd_count(), fds);
    EXPECT_LE(process_thread_count(), threads);
    if (!kSanitized) {
      EXPECT_LE(grown, most_growth_kib);
    }
  }
  before_backend.ExpectNoLeak();
}

TEST(Rounds, TwentyLeaveNothing) { RunRounds(20, 1, 1024, 150000); }

// A backend made and freed each time: its loop, its connections and its thread go with it.
TEST(Rounds, BackendsLeaveNothing) {
  SandboxForTest owner("backends");
  owner.Rest();
  const auto round = [&] {
    const Backend backend = NewBackend();
    Sandbox sandbox;
    ASSERT_TRUE(Open(backend.get(), owner.name(), &sandbox).ok());
    ASSERT_EQ(Exec(sandbox.get(), {"true"}).exit_code, 0);
  };
  for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(round());
  const LeakCheck leaks;
  const long memory = TrimmedKib();
  for (int i = 0; i < 40; ++i) ASSERT_NO_FATAL_FAILURE(round());
  leaks.ExpectNoLeak();
  const long grown = TrimmedKib() - memory;
  Figure("40 backends: grown by %ld KiB", grown);
  if (!kSanitized) {
    EXPECT_LE(grown, 1024);
  }
}

TEST(RoundsSoak, FiveHundredLeaveNothing) { RunRounds(500, 4, 2048, 1700000); }

}  // namespace
}  // namespace osbx::testing
