// Rounds of create, exec, put, get and destroy in one process: descriptors, threads and memory come back to where they
// were.
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

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

void RunRounds(int rounds, int warm_up, long most_growth_kib, int64_t budget_ms) {
  const std::string name = UniqueName("rounds");
  const LeakCheck before_backend;
  {
    const Backend backend = NewBackend();
    for (int i = 0; i < warm_up; ++i) ASSERT_NO_FATAL_FAILURE(OneRound(backend.get(), name, i));
    const int fds = process_fd_count();
    const int threads = process_thread_count();
    const long memory = TrimmedKib();
    const int64_t started = monotonic_ms();
    int done = 0;
    while (done < rounds && monotonic_ms() - started < budget_ms) {
      ASSERT_NO_FATAL_FAILURE(OneRound(backend.get(), name, done));
      ++done;
      if (done % 50 == 0) Figure("%d rounds: %ld KiB resident, %d descriptors", done, TrimmedKib(), process_fd_count());
    }
    const int64_t ms = monotonic_ms() - started;
    EXPECT_EQ(done, rounds) << "not done in " << budget_ms << " ms";
    const long grown = TrimmedKib() - memory;
    Figure("%d rounds in %lld ms (%lld ms each): resident %ld KiB, grown by %ld KiB; descriptors %d, were %d; threads "
           "%d, were %d",
           done, static_cast<long long>(ms), static_cast<long long>(ms / (done > 0 ? done : 1)), memory, grown,
           process_fd_count(), fds, process_thread_count(), threads);
    WaitUntil([&] { return process_fd_count() <= fds; }, 10000);
    EXPECT_LE(process_fd_count(), fds);
    EXPECT_LE(process_thread_count(), threads);
    EXPECT_LE(grown, most_growth_kib);
  }
  before_backend.ExpectNoLeak();
}

TEST(Rounds, TwentyLeaveNothing) { RunRounds(20, 3, 1024, 150000); }

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
  EXPECT_LE(grown, 1024);
}

TEST(RoundsSoak, FiveHundredLeaveNothing) { RunRounds(500, 10, 2048, 560000); }

}  // namespace
}  // namespace osbx::testing
