// The program itself: its configuration, its end, and where it runs.
#include <arpa/inet.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

class Program : public Case {
 protected:
  // One that does not start says why in one line on stderr.
  static void ExpectFailure(const StartOptions& options, int code, const std::string& word) {
    OwnServer server(options);
    EXPECT_FALSE(server.listening()) << word;
    if (server.listening()) return;
    EXPECT_EQ(server.Wait(), code) << word;
    const std::string told = server.Stderr();
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_NE(told.find(word), std::string::npos) << told;
    EXPECT_EQ(server.Stdout(), "");
  }
};

CONTRACT(Program, SaysWhereItListens,
         "Once it listens it prints one line on stdout, `listening on ` and the address: `listening on [::]:3000`.",
         "The program needs no argument.") {
  NEEDS(kOwnServer);
  OwnServer own;
  ASSERT_TRUE(own.listening()) << own.first_line() << own.Stderr();
  // Where no interface has an IPv6 address the kernel may know the protocol all the same.
  const std::string port = std::to_string(own.address().port);
  EXPECT_TRUE(own.first_line() == "listening on [::]:" + port ||
              (!HasIpv6() && own.first_line() == "listening on 0.0.0.0:" + port))
      << own.first_line();
  EXPECT_EQ(own.Stderr(), "");
}

CONTRACT(Program, Port,
         "`SANDBOX_PORT` | `3000` | the port, on all interfaces, IPv4 and IPv6; `0` takes any free one") {
  NEEDS(kOwnServer);
  OwnServer any;
  OwnServer other;
  ASSERT_TRUE(any.listening() && other.listening());
  EXPECT_NE(any.address().port, other.address().port);
  EXPECT_EQ(Call({"127.0.0.1", any.address().port}, "GET", "/healthz").status, 200);
  if (HasIpv6()) {
    EXPECT_EQ(Call({"::1", any.address().port}, "GET", "/healthz").status, 200);
  }
  // The default is free here, or it is told to be taken.
  StartOptions options;
  options.variables["SANDBOX_PORT"] = "(unset)";
  OwnServer standard(options);
  if (standard.listening()) {
    EXPECT_EQ(standard.address().port, 3000);
  } else {
    EXPECT_EQ(standard.Wait(), 1);
    EXPECT_NE(standard.Stderr().find("3000"), std::string::npos) << standard.Stderr();
  }
}

CONTRACT(Program, Workspace, "`SANDBOX_WORKSPACE` | `/workspace` | where commands start, and what `/files` shows") {
  NEEDS(kOwnServer);
  OwnServer own;
  ASSERT_TRUE(own.listening());
  EXPECT_EQ(Call(own.address(), "PUT", "/files/made", "x").status, 204);
  EXPECT_EQ(ReadDisk(own.workspace() + "/made"), "x");
  EXPECT_EQ(ShellOn(own.address(), "read -r line <made; printf '%s' \"$line\"; pwd").out.front(), 'x');
  StartOptions options;
  options.variables["SANDBOX_WORKSPACE"] = "(unset)";
  OwnServer standard(options);
  if (standard.listening()) {
    EXPECT_EQ(ShellOn(standard.address(), "pwd").out, "/workspace\n");
  } else {
    EXPECT_EQ(standard.Wait(), 1);
    EXPECT_NE(standard.Stderr().find("/workspace"), std::string::npos) << standard.Stderr();
  }
}

CONTRACT(Program, Shell, "`SANDBOX_SHELL` | `/bin/sh` | the shell that runs commands",
         "The command is run as `$SANDBOX_SHELL -c command`, in the workspace.") {
  NEEDS(kOwnServer);
  // A shell that shows what it is called with.
  WriteDisk(Disk("shell"), "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
  ASSERT_EQ(chmod(Disk("shell").c_str(), 0755), 0);
  StartOptions options;
  options.variables["SANDBOX_SHELL"] = Disk("shell");
  OwnServer own(options);
  ASSERT_TRUE(own.listening()) << own.Stderr();
  EXPECT_EQ(ShellOn(own.address(), "echo  $HOME | cat").out, "<-c><echo  $HOME | cat>");
  OwnServer standard;
  EXPECT_EQ(ShellOn(standard.address(), "printf %s \"$0\"").out, "/bin/sh");
}

CONTRACT(Program, BadValues, "A bad value is one line on stderr and exit code 2.") {
  NEEDS(kProgram);
  for (const char* port : {"", "x", "-1", "65536", "3000x", " 3000", "+80", "0x50", "99999999999999999999", "3000.0"}) {
    StartOptions options;
    options.variables["SANDBOX_PORT"] = port;
    ExpectFailure(options, 2, "SANDBOX_PORT");
  }
  for (const char* name : {"SANDBOX_WORKSPACE", "SANDBOX_SHELL"}) {
    StartOptions options;
    options.variables[name] = "relative/path";
    ExpectFailure(options, 2, name);
  }
}

CONTRACT(Program, Arguments, "Any argument but `--version` and `--help` is exit code 2.") {
  NEEDS(kProgram);
  for (const char* argument : {"--port=1", "-h", "serve", ""}) {
    StartOptions options;
    options.arguments = {argument};
    ExpectFailure(options, 2, "argument");
  }
}

CONTRACT(
    Program, CannotStart,
    "A workspace or a shell that does not exist, or a port that is taken, is one line on stderr and exit code 1.") {
  NEEDS(kProgram);
  StartOptions missing;
  missing.variables["SANDBOX_WORKSPACE"] = Disk("missing");
  ExpectFailure(missing, 1, Disk("missing"));
  StartOptions no_shell;
  no_shell.variables["SANDBOX_SHELL"] = Disk("missing");
  ExpectFailure(no_shell, 1, Disk("missing"));
  WriteDisk(Disk("file"), "x");
  StartOptions file;
  file.variables["SANDBOX_WORKSPACE"] = Disk("file");
  ExpectFailure(file, 1, Disk("file"));
  OwnServer first;
  ASSERT_TRUE(first.listening());
  StartOptions taken;
  taken.variables["SANDBOX_PORT"] = std::to_string(first.address().port);
  ExpectFailure(taken, 1, std::to_string(first.address().port));
}

CONTRACT(Program, VersionAndHelp, "`--version` and `--help` print to stdout and exit with 0.") {
  NEEDS(kProgram);
  for (const char* argument : {"--version", "--help"}) {
    StartOptions options;
    options.arguments = {argument};
    OwnServer own(options);
    EXPECT_EQ(own.Wait(), 0) << argument;
    EXPECT_FALSE(own.first_line().empty()) << argument;
    EXPECT_EQ(own.Stderr(), "") << argument;
  }
}

CONTRACT(Program, AnyUid, "Any uid will do, without a passwd entry and without `HOME`.") {
  NEEDS(kAnotherUid);
  StartOptions options;
  options.uid = 65532;
  OwnServer own(options);
  ASSERT_TRUE(own.listening()) << own.Stderr();
  EXPECT_EQ(ShellOn(own.address(), "printf x; exit 3").exit_code, 3);
  EXPECT_EQ(Call(own.address(), "PUT", "/files/a/b", "x").status, 204);
  struct stat info {};
  ASSERT_EQ(stat((own.workspace() + "/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65532u);
}

CONTRACT(Program, StartsFast, "It listens within 10 ms of its start, under gVisor within 100 ms.") {
  NEEDS(kTimed);
  NEEDS(kOwnServer);
  auto best = std::chrono::nanoseconds::max();
  const auto bound = IsGvisor() ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10);
  for (int attempt = 0; attempt < 20 && best > bound; ++attempt) {
    const auto start = Clock::now();
    OwnServer own;
    best = std::min<std::chrono::nanoseconds>(best, Clock::now() - start);
  }
  EXPECT_LE(best, bound);
}

}  // namespace
}  // namespace osbx::conformance
