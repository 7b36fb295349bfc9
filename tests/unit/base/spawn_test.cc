#include "base/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace osbx::base {
namespace {

struct Output {
  int status = -1;
  pid_t pid = -1;
  std::string text;
};

Output RunProgram(std::vector<std::string> arguments, std::vector<std::string> environment = {"PATH=/usr/bin:/bin"}) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  SpawnOptions options;
  options.program = arguments[0];
  options.arguments = std::move(arguments);
  options.environment = std::move(environment);
  options.directory = "/";
  options.stdout_fd = writing.get();
  options.stderr_fd = writing.get();
  const absl::StatusOr<pid_t> pid = Spawn(options);
  EXPECT_TRUE(pid.ok()) << pid.status();
  writing.Reset();
  Output output;
  if (!pid.ok()) return output;
  output.pid = *pid;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(reading.get(), buffer, sizeof(buffer))) > 0) {
    output.text.append(buffer, static_cast<size_t>(count));
  }
  EXPECT_EQ(waitpid(*pid, &output.status, 0), *pid);
  return output;
}

Output RunShell(const std::string& command) { return RunProgram({"/bin/sh", "-c", command}); }

std::string StatusField(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + ":\t");
  if (at == std::string::npos) return "missing";
  const size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

absl::Status Failure(const std::string& program, const std::string& directory = "",
                     std::vector<std::string> arguments = {"x"}) {
  SpawnOptions options;
  options.program = program;
  options.arguments = std::move(arguments);
  options.directory = directory;
  options.stdout_fd = 1;
  options.stderr_fd = 2;
  const absl::StatusOr<pid_t> pid = Spawn(options);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
  return pid.status();
}

TEST(Spawn, PassesArgumentsEnvironmentAndDirectory) {
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", "echo \"$1,$A,$PWD\"", "sh", "one two"}, {"A=b"}).text, "one two,b,/\n");
}

TEST(Spawn, InheritsNoDescriptor) {
  const UniqueFd low(open("/dev/null", O_RDWR));  // not CLOEXEC
  const UniqueFd high(fcntl(low.get(), F_DUPFD, 900));
  ASSERT_TRUE(high.valid());
  // 3 is what lists them.
  EXPECT_EQ(RunProgram({"/bin/ls", "/proc/self/fd"}).text, "0\n1\n2\n3\n");
  EXPECT_EQ(RunShell("readlink /proc/self/fd/0").text, "/dev/null\n");
}

TEST(Spawn, WorksWhereStandardDescriptorsAreClosed) {
  const pid_t child = fork();
  if (child == 0) {
    close(0);
    close(1);
    close(2);
    const Output output = RunShell("echo out; echo err >&2; cat");
    _exit(output.text == "out\nerr\n" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Spawn, SignalsAreAsNew) {
  struct sigaction before_pipe = {};
  struct sigaction before_usr1 = {};
  struct sigaction ignore = {};
  struct sigaction caught = {};
  ignore.sa_handler = SIG_IGN;
  caught.sa_handler = [](int) {};
  sigaction(SIGPIPE, &ignore, &before_pipe);
  sigaction(SIGUSR1, &caught, &before_usr1);
  sigaction(SIGRTMAX, &ignore, nullptr);
  sigset_t some;
  sigset_t before;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  sigaddset(&some, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &some, &before);

  const std::string status = RunProgram({"/bin/cat", "/proc/self/status"}).text;
  EXPECT_EQ(StatusField(status, "SigIgn"), "0000000000000000");
  EXPECT_EQ(StatusField(status, "SigBlk"), "0000000000000000");
  EXPECT_EQ(StatusField(status, "SigCgt"), "0000000000000000");

  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), 1);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 0);
  struct sigaction now = {};
  sigaction(SIGPIPE, &before_pipe, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN) << "the child changed its parent";
  sigaction(SIGUSR1, &before_usr1, nullptr);
  signal(SIGRTMAX, SIG_DFL);
}

TEST(Spawn, LeadsASessionAndKeepsTheUmask) {
  const mode_t before = umask(027);
  const Output output = RunShell("cut -d' ' -f1,5,6 /proc/$$/stat; umask");
  umask(before);
  const std::string pid = std::to_string(output.pid);
  EXPECT_EQ(output.text, pid + " " + pid + " " + pid + "\n0027\n");
}

TEST(Spawn, AFailureIsAStatusAndLeavesNoChild) {
  EXPECT_EQ(CodeOf(Failure("/no/such/program")), Code::kNotFound);
  EXPECT_EQ(CodeOf(Failure("/etc/passwd/x")), Code::kNotFound);
  EXPECT_EQ(CodeOf(Failure("/etc/passwd")), Code::kPermission);
  EXPECT_EQ(CodeOf(Failure("/bin/true", "/no/such/directory")), Code::kNotFound);
  EXPECT_NE(Failure("/bin/true", "/no/such/directory").message().find("/no/such/directory"), std::string::npos);
  EXPECT_EQ(CodeOf(Failure("/bin/true", "", {"true", std::string(200'000, 'x')})), Code::kTooLarge);
}

}  // namespace
}  // namespace osbx::base
