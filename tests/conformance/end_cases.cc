// The program's end on a signal, and what it owes as PID 1.
#include <unistd.h>

#include <csignal>

#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

class End : public Case {
 protected:
  std::string NapMessage() const {
    return ExecuteMessage("exec " + Helper("nap '" + Disk("pid") + "'"), ", \"timeoutSeconds\": 0");
  }
  static bool Refuses(const Address& address) { return !Connection(address).connected(); }
  // The orphan of a command is gone, not only dead: someone collected it.
  void ExpectReaped(const Address& server, const std::string& orphan) {
    for (int i = 0; i < 20; ++i) {
      unlink(orphan.c_str());
      EXPECT_EQ(ShellOn(server, Helper("orphan '" + orphan + "'")).exit_code, 0);
      const pid_t pid = PidFrom(orphan);
      EXPECT_TRUE(Eventually([&] { return !Zombie(pid); }, std::chrono::seconds(5))) << pid;
    }
  }
  // Pids of a namespace of its own mean nothing here: there the server's shell looks.
  static bool Zombie(pid_t pid) { return pid > 0 && Exists(pid) && !Alive(pid); }
};

CONTRACT(End, Sigterm, "On SIGTERM the program stops accepting connections and ends.") {
  NEEDS(kProgram);
  OwnServer own;
  ASSERT_TRUE(own.listening());
  Connection idle(own.address());
  Connection used(own.address());
  used.Send(Head("GET", "/healthz"));
  EXPECT_EQ(used.Receive().status, 200);
  own.Signal(SIGTERM);
  EXPECT_EQ(own.Wait(), 0);
  EXPECT_TRUE(Refuses(own.address()));
  EXPECT_TRUE(idle.ClosedInSilence());
  EXPECT_TRUE(used.ClosedInSilence());
  EXPECT_EQ(own.Stderr(), "");
}

CONTRACT(End, AnswersWhatIsUnderWay, "What is under way at SIGTERM is answered, for at most 5 seconds.",
         "On SIGTERM the program stops accepting connections and ends.") {
  NEEDS(kProgram);
  OwnServer own;
  ASSERT_TRUE(own.listening());
  Connection command(own.address());
  command.Send(ExecuteMessage(Helper("nap '" + Disk("pid") + "'") + "; printf answered"));
  const pid_t pid = PidFrom(Disk("pid"));
  ASSERT_GT(pid, 0);
  const std::string upload_message = Message("PUT", "/files/file", std::string(100'000, 'x'));
  Connection upload(own.address());
  upload.Send(std::string_view(upload_message).substr(0, 50'000));
  EXPECT_EQ(Call(own.address(), "GET", "/healthz").status, 200);
  own.Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return Refuses(own.address()); }));
  kill(pid, SIGKILL);
  upload.Send(std::string_view(upload_message).substr(50'000));
  const Ran ran = ParseRan(command.Receive());
  EXPECT_EQ(ran.out, "answered") << ran;
  EXPECT_EQ(upload.Receive().status, 204);
  EXPECT_EQ(own.Wait(), 0);
  EXPECT_EQ(ReadDisk(own.workspace() + "/file").size(), 100'000u);
}

CONTRACT(End, KillsWhatGoesOn, "A command that is still running then is killed with its tree, and answered with 503.") {
  NEEDS(kProgram);
  OwnServer own;
  ASSERT_TRUE(own.listening());
  Connection command(own.address());
  command.Send(ExecuteMessage(Helper("tree '" + Disk("tree") + "'"), ", \"timeoutSeconds\": 0"));
  std::vector<pid_t> pids;
  for (const char* name : {"tree0", "tree1", "tree2", "tree3"}) pids.push_back(PidFrom(Disk(name)));
  Connection upload(own.address());
  const std::string message = Message("PUT", "/files/file", "content");
  upload.Send(std::string_view(message).substr(0, message.size() - 1));
  own.Signal(SIGTERM);
  EXPECT_TRUE(Refused(command.Receive(), 503));
  EXPECT_EQ(own.Wait(), 0);
  for (const pid_t pid : pids) {
    EXPECT_GT(pid, 0);
    EXPECT_TRUE(Eventually([&] { return !Alive(pid); }, std::chrono::seconds(5))) << pid;
    if (Alive(pid)) kill(pid, SIGKILL);
  }
}

CONTRACT(End, SecondSigterm, "A second SIGTERM ends the program at once.") {
  NEEDS(kProgram);
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 3 && best > std::chrono::seconds(3); ++attempt) {
    unlink(Disk("pid").c_str());
    OwnServer own;
    ASSERT_TRUE(own.listening());
    Connection command(own.address());
    command.Send(NapMessage());
    const pid_t pid = PidFrom(Disk("pid"));
    ASSERT_GT(pid, 0);
    const auto start = Clock::now();
    own.Signal(SIGTERM);
    ASSERT_TRUE(Eventually([&] { return Refuses(own.address()); }));
    EXPECT_FALSE(own.Ended());
    own.Signal(SIGTERM);
    EXPECT_TRUE(own.Wait().has_value());
    best = std::min<std::chrono::nanoseconds>(best, Clock::now() - start);
    kill(pid, SIGKILL);
  }
  EXPECT_LT(best, std::chrono::seconds(3));  // it would have waited five
}

CONTRACT(End, ReapsAsPid1, "As PID 1 the program reaps every orphan.") {
  NEEDS(kPid1);
  ExpectReaped(server(), Disk("orphan"));
}

CONTRACT(End, Pid1OfANamespace, "As PID 1 the program reaps every orphan.", "As PID 1 the program ends on SIGTERM.") {
  NEEDS(kProgram);
  NEEDS(kPidNamespace);
  StartOptions options;
  options.pid_1 = true;
  OwnServer own(options);
  ASSERT_TRUE(own.listening()) << own.first_line() << own.Stderr();
  for (int i = 0; i < 20; ++i) {
    unlink(Disk("orphan").c_str());
    EXPECT_EQ(ShellOn(own.address(), Helper("orphan '" + Disk("orphan") + "'")).exit_code, 0);
    const std::string there = "test -e /proc/" + std::to_string(PidFrom(Disk("orphan")));
    EXPECT_TRUE(Eventually([&] { return ShellOn(own.address(), there).exit_code == 1; }, std::chrono::seconds(5)));
  }
  own.Signal(SIGTERM);
  EXPECT_EQ(own.Wait(), 0);
}

CONTRACT(End, NoZombies, "As PID 1 the program reaps every orphan.") {
  NEEDS(kProcess);
  // Whatever the server is, what it adopts and starts is collected.
  ExpectReaped(server(), Disk("orphan"));
  EXPECT_EQ(Shell(Helper("nap '" + Disk("child") + "'") + " & :").exit_code, 0);
  const pid_t pid = PidFrom(Disk("child"));
  kill(pid, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return !Zombie(pid); }, std::chrono::seconds(5))) << pid;
}

}  // namespace
}  // namespace osbx::conformance
