// POST /execute: deadlines, the one seat, clients that go away, and background children.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

class Tree : public Case {
 protected:
  // A command that ends when Go() is called; made before it is sent.
  std::string WaitCommand() {
    EXPECT_EQ(mkfifo(Disk("gate").c_str(), 0600), 0);
    return "read -r line <'" + Disk("gate") + "'; printf '%s' \"$line\"";
  }
  // Waits until the command waits, and lets it go; the text it prints.
  void Go(const std::string& text = "gone on") {
    int fd = -1;
    EXPECT_TRUE(Eventually([&] { return (fd = open(Disk("gate").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; }));
    EXPECT_EQ(write(fd, (text + "\n").data(), text.size() + 1), static_cast<ssize_t>(text.size() + 1));
    close(fd);
  }
  std::string Nap(const std::string& name) const { return Helper("nap '" + Disk(name) + "'"); }

  // The four processes of the helper's tree.
  std::vector<pid_t> TreePids() const {
    std::vector<pid_t> pids;
    for (const char* name : {"tree0", "tree1", "tree2", "tree3"}) pids.push_back(PidFrom(Disk(name)));
    return pids;
  }
  static void ExpectDead(const std::vector<pid_t>& pids) {
    for (size_t i = 0; i < pids.size(); ++i) {
      EXPECT_GT(pids[i], 0) << i;
      EXPECT_TRUE(Eventually([&] { return !Alive(pids[i]); }, std::chrono::seconds(5))) << "process " << i << " lives";
      if (Alive(pids[i])) kill(pids[i], SIGKILL);
    }
  }
  static bool SeatIsFree() { return Shell(":").response.status == 200; }
};

CONTRACT(
    Tree, KilledAtTheDeadline,
    "At the deadline the command's whole tree is killed, with children that ignore SIGTERM or have called `setsid`.",
    "After the deadline `exitCode` is 124, and the output so far is there.") {
  // A deadline that a busy machine reaches before the whole tree is there says nothing: then a longer one.
  Ran ran;
  for (const char* seconds : {"2", "8", "25"}) {
    ran = Shell(
        "trap '' TERM; printf before; printf warned >&2; " + Helper("tree '" + Disk("tree") + "'") + "; printf after",
        std::string(", \"timeoutSeconds\": ") + seconds);
    const auto there = [&](const char* name) { return ReadDisk(Disk(name)) != "(no such file)"; };
    if (there("tree0") && there("tree1") && there("tree2") && there("tree3")) break;
  }
  EXPECT_TRUE(ran.complete) << ran;
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_EQ(ran.out, "before");
  EXPECT_EQ(ran.err, "warned");
  EXPECT_FALSE(ran.truncated);
  ExpectDead(TreePids());
}

CONTRACT(Tree, DeadlineOfALoudCommand, "After the deadline `exitCode` is 124, and the output so far is there.") {
  const Ran ran = Shell("while :; do printf 0123456789abcdef; done", ", \"timeoutSeconds\": 1");
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_EQ(ran.out.substr(0, 16), "0123456789abcdef");
}

CONTRACT(Tree, TheDefaultDeadline, "`timeoutSeconds` is 60 when it is left out.") {
  NEEDS(kSoak);
  const auto start = Clock::now();
  Connection connection(server());
  connection.Send(ExecuteMessage("exec " + Nap("pid")));
  EXPECT_TRUE(Eventually([] { return SeatIsFree(); }, std::chrono::seconds(100)));
  EXPECT_GE(Clock::now() - start, std::chrono::seconds(59));
  EXPECT_EQ(ParseRan(connection.Receive()).exit_code, 124);
}

CONTRACT(Tree, OneSeat, "A second `/execute` while one is running is 409.",
         "`/healthz` and `/files` answer while a command is running.") {
  Connection first(server());
  first.Send(ExecuteMessage(WaitCommand()));
  WriteDisk(Disk("file"), "content");
  // It runs when its end of the FIFO is open; a second writer keeps it waiting.
  int held = -1;
  ASSERT_TRUE(Eventually([&] { return (held = open(Disk("gate").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Refused(Shell("echo >'" + Disk("second") + "'").response, 409));
    EXPECT_EQ(Call(server(), "GET", "/healthz").body, "{\"status\":\"ok\"}");
    EXPECT_EQ(Call(server(), "GET", Url("file")).body, "content");
    EXPECT_EQ(Call(server(), "PUT", Url("other"), "x").status, 204);
    EXPECT_EQ(Call(server(), "DELETE", Url("other")).status, 204);
  }
  Go();
  close(held);
  const Ran ran = ParseRan(first.Receive());
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_EQ(ran.out, "gone on");
  EXPECT_EQ(ReadDisk(Disk("second")), "(no such file)");
  EXPECT_TRUE(SeatIsFree());
}

CONTRACT(Tree, ClientGone,
         "When the client goes away, the command's tree is killed and the seat is free within a second.",
         "A client that only closes its sending side has gone away, too.") {
  enum class Way { kClose, kReset, kHalf };
  for (const Way way : {Way::kClose, Way::kReset, Way::kHalf}) {
    auto best = std::chrono::nanoseconds::max();
    for (int attempt = 0; attempt < 5 && best >= std::chrono::seconds(1); ++attempt) {
      for (const char* name : {"tree0", "tree1", "tree2", "tree3"}) unlink(Disk(name).c_str());
      Connection client(server());
      client.Send(ExecuteMessage(Helper("tree '" + Disk("tree") + "'"), ", \"timeoutSeconds\": 0"));
      const std::vector<pid_t> pids = TreePids();
      const auto start = Clock::now();
      switch (way) {
        case Way::kClose:
          client.Close();
          break;
        case Way::kReset:
          client.Reset();
          break;
        case Way::kHalf:
          client.CloseSendingSide();
          break;
      }
      ASSERT_TRUE(Eventually([] { return SeatIsFree(); })) << static_cast<int>(way);
      best = std::min<std::chrono::nanoseconds>(best, Clock::now() - start);
      ExpectDead(pids);
    }
    EXPECT_LT(Milliseconds(best), 1000) << static_cast<int>(way);
  }
}

CONTRACT(Tree, BackgroundChild, "A background child that holds the output does not delay the answer.",
         "What is in the pipes when the shell has exited is still in the answer.",
         "A background child lives on behind the answer, and the seat is free.") {
  const Ran ran = Shell(Nap("pid") + " & printf early; " + Helper("bytes 50000") + "; printf late >&2; exit 4",
                        ", \"timeoutSeconds\": 0");
  EXPECT_EQ(ran.exit_code, 4) << ran;
  EXPECT_EQ(ran.out.size(), 50'005u);
  EXPECT_EQ(ran.err, "late");
  const pid_t pid = PidFrom(Disk("pid"));
  EXPECT_TRUE(Alive(pid));
  EXPECT_TRUE(SeatIsFree());
  EXPECT_EQ(Shell("kill -9 " + std::to_string(pid)).exit_code, 0);
  ExpectDead({pid});
}

CONTRACT(Tree, ChildThatGoesOnPrinting,
         "A background child that goes on printing delays the answer by one second at most.") {
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5 && best > std::chrono::milliseconds(1500); ++attempt) {
    unlink(Disk("pid").c_str());
    const auto start = Clock::now();
    const Ran ran = Shell(Helper("chatter '" + Disk("pid") + "'") + " &");
    best = std::min<std::chrono::nanoseconds>(best, Clock::now() - start);
    EXPECT_EQ(ran.exit_code, 0) << ran;
    const pid_t pid = PidFrom(Disk("pid"));
    EXPECT_TRUE(Alive(pid));
    kill(pid, SIGKILL);
  }
  EXPECT_LT(Milliseconds(best), 1500);  // with what a command takes anyway
}

CONTRACT(Tree, ChildPrintsLater,
         "A background child may go on printing behind the answer: that is thrown away, and the child neither dies nor "
         "waits for it.") {
  ASSERT_EQ(mkfifo(Disk("gate").c_str(), 0600), 0);
  EXPECT_EQ(Shell(Helper("late '" + Disk("gate") + "' '" + Disk("printed") + "'") + " &").exit_code, 0);
  Go("x");
  EXPECT_GT(PidFrom(Disk("printed")), 0) << "it has printed 300 kB to each stream";
  const Ran next = Shell("printf mine");
  EXPECT_EQ(next.out, "mine") << next;
}

CONTRACT(Tree, EarlierChildren, "A later command's deadline does not kill an earlier command's background child.") {
  EXPECT_EQ(Shell(Nap("plain") + " >/dev/null 2>&1 & " + Nap("holds") + " &").exit_code, 0);
  const std::vector<pid_t> pids = {PidFrom(Disk("plain")), PidFrom(Disk("holds"))};
  EXPECT_EQ(Shell("exec " + Nap("pid"), ", \"timeoutSeconds\": 0.5").exit_code, 124);
  for (const pid_t pid : pids) {
    EXPECT_TRUE(Alive(pid));
    kill(pid, SIGKILL);
  }
}

}  // namespace
}  // namespace osbx::conformance
