// Connections: slow ones, idle ones, very many, and those that come to nothing.
#include <csignal>

#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

// Threads that a server may start at its first piece of work, and keep.
constexpr int kPool = 2;

class Connections : public Case {
 protected:
  struct Cost {
    int descriptors;
    int threads;
    int64_t memory;
  };
  static Cost Now() {
    const pid_t pid = SharedServer().pid();
    return {Descriptors(pid), Threads(pid), MemoryKibibytes(pid)};
  }
  // The server comes back to what it cost before.
  static void ExpectNoMoreThan(const Cost& before, int64_t kibibytes) {
    Cost now = Now();
    EXPECT_TRUE(Eventually([&] {
      now = Now();
      return now.descriptors <= before.descriptors && now.threads <= before.threads + kPool;
    })) << now.descriptors
        << " descriptors, " << now.threads << " threads; before " << before.descriptors << ", " << before.threads;
    EXPECT_LE(now.memory - before.memory, kibibytes) << before.memory << " to " << now.memory;
  }
  static void Probe(int times) {
    for (int i = 0; i < times; ++i) {
      Connection connection(server());
      ASSERT_TRUE(connection.connected());
      if (i % 3 == 1) connection.Reset();
    }
  }
  static void HoldIdle(size_t count, const std::function<void()>& meanwhile) {
    std::vector<Connection> idle;
    idle.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      idle.emplace_back(server());
      ASSERT_TRUE(idle.back().connected()) << i;
      if (i % 2 == 1) {
        idle.back().Send(Head("GET", "/healthz"));
        ASSERT_EQ(idle.back().Receive().status, 200) << i;
      }
    }
    meanwhile();
  }
};

CONTRACT(Connections, SlowHeads, "A head has to be complete 10 seconds after its first byte.",
         "A running command, a slow upload and a slow head do not keep others waiting.") {
  std::vector<Connection> slow;
  slow.reserve(20);
  for (int i = 0; i < 20; ++i) {
    slow.emplace_back(server());
    slow.back().Send("GET /healthz HTTP/1.1\r\nHost: sandbox\r\nX: ");
  }
  // A byte now and then does not prolong it.
  size_t ended = 0;
  EXPECT_TRUE(Eventually([&] {
    EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
    ended = 0;
    for (Connection& connection : slow) ended += connection.Send("x") ? 0 : 1;
    return ended == slow.size();
  })) << ended;
}

CONTRACT(Connections, OthersGoOn, "A running command, a slow upload and a slow head do not keep others waiting.") {
  Connection command(server());
  command.Send(ExecuteMessage("exec " + Helper("nap '" + Disk("pid") + "'"), ", \"timeoutSeconds\": 0"));
  EXPECT_GT(PidFrom(Disk("pid")), 0);
  std::vector<Connection> uploads;
  uploads.reserve(20);
  for (int i = 0; i < 20; ++i) {
    uploads.emplace_back(server());
    uploads.back().Send(Message("PUT", Url("up" + std::to_string(i)), std::string(300'000, 'x')).substr(0, 200'000));
  }
  // Readers that do not read.
  WriteDisk(Disk("large"), std::string(size_t{8} << 20, 'x'));
  std::vector<Connection> readers;
  readers.reserve(20);
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back(server());
    readers.back().Send(Head("GET", Url("large")));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
    EXPECT_EQ(Call(server(), "PUT", Url("quick"), "x").status, 204);
    EXPECT_EQ(Call(server(), "GET", Url("quick")).body, "x");
  }
}

CONTRACT(Connections, IdleMinute, "A connection on which nothing happens for a minute is closed.") {
  NEEDS(kSoak);
  Connection fresh(server());
  Connection used(server());
  used.Send(Head("GET", "/healthz"));
  EXPECT_EQ(used.Receive().status, 200);
  Connection upload(server());
  const std::string message = Message("PUT", Url("file"), "content");
  upload.Send(std::string_view(message).substr(0, message.size() - 1));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3 && !fresh.ClosedInSilence(); ++i) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_TRUE(fresh.ClosedInSilence());
  EXPECT_TRUE(used.ClosedInSilence());
  EXPECT_NE(upload.Receive().status, 204);
}

CONTRACT(Connections, ThousandIdle, "Idle connections leave nothing behind: no thread, no descriptor, no memory.") {
  NEEDS(kProcess);
  NEEDS(kDescriptors);
  const Cost rest = Now();
  HoldIdle(1000, [] {});  // what is allocated once
  ExpectNoMoreThan(rest, int64_t{64} << 10);
  const int64_t memory = Now().memory;
  for (int round = 0; round < 3; ++round) {
    HoldIdle(1000, [&] {
      EXPECT_LE(Threads(SharedServer().pid()), rest.threads + kPool) << "no thread for each";
      EXPECT_EQ(Shell("printf x").out, "x");
    });
  }
  ExpectNoMoreThan({rest.descriptors, rest.threads, memory}, 2048);
}

CONTRACT(Connections, Probes, "Connecting and closing, over and over, leaves nothing behind and prints nothing.") {
  NEEDS(kProcess);
  Probe(500);
  EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
  const Cost before = Now();
  Probe(5000);
  EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
  ExpectNoMoreThan(before, 1024);
}

CONTRACT(Connections, ProbesPrintNothing,
         "Connecting and closing, over and over, leaves nothing behind and prints nothing.") {
  NEEDS(kOwnServer);
  OwnServer own;
  ASSERT_TRUE(own.listening());
  for (int i = 0; i < 200; ++i) {
    Connection connection(own.address());
    if (i % 3 == 1) connection.Reset();
    if (i % 3 == 2) connection.Send("GET /heal");
  }
  EXPECT_EQ(Call(own.address(), "GET", "/healthz").status, 200);
  own.Signal(SIGTERM);
  ASSERT_TRUE(own.Wait().has_value());
  EXPECT_EQ(own.Stdout(), own.first_line() + "\n");
  EXPECT_EQ(own.Stderr(), "");
}

CONTRACT(Connections, TheMost,
         "There are at most 2048 connections; at the limit the one that has been idle longest makes room.") {
  NEEDS(kDescriptors);
  Connection longest(server());
  longest.Send(Head("GET", "/healthz"));
  EXPECT_EQ(longest.Receive().status, 200);
  Connection command(server());
  command.Send(ExecuteMessage("exec " + Helper("nap '" + Disk("pid") + "'"), ", \"timeoutSeconds\": 0"));
  const pid_t pid = PidFrom(Disk("pid"));
  EXPECT_GT(pid, 0);
  HoldIdle(2100, [&] {
    EXPECT_TRUE(longest.ClosedInSilence());
    EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
    EXPECT_TRUE(Alive(pid)) << "one that is not idle does not make room";
  });
}

CONTRACT(Connections, HalfOfTheDescriptors,
         "Connections take at most half of the descriptors that the server may have.") {
  NEEDS(kOwnServer);
  StartOptions options;
  options.descriptors = 64;
  OwnServer own(options);
  ASSERT_TRUE(own.listening());
  std::vector<Connection> idle;
  idle.reserve(100);
  for (int i = 0; i < 100; ++i) idle.emplace_back(own.address());
  EXPECT_EQ(ShellOn(own.address(), "printf x").out, "x");
  EXPECT_EQ(Call(own.address(), "PUT", Url("file"), "content").status, 204);
}

}  // namespace
}  // namespace osbx::conformance
