#include "bench/child_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "bench/sample.h"

namespace osbx::bench {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// vfork, so that the child can tell the time of its exec. A function of its own: the caller's variables are not at
// risk.
__attribute__((noinline)) pid_t Launch(char* const* arguments, char* const* environment, int output,
                                       double* exec_time) {
  const pid_t parent = getpid();
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(output, 1) < 0) _exit(127);
  *exec_time = NowMicroseconds();
  execve(arguments[0], arguments, environment);
  _exit(127);
}

void ReadToEnd(int fd) {
  char buffer[4096];
  ssize_t count = 0;
  do {
    count = read(fd, buffer, sizeof(buffer));
  } while (count > 0 || (count < 0 && errno == EINTR));
  close(fd);
}

}  // namespace

void Fail(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

void FailWithErrno(const std::string& what) { Fail(what + ": " + std::strerror(errno)); }

ChildProgram::ChildProgram(std::vector<std::string> arguments, std::vector<std::string> environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) FailWithErrno("pipe");
  output_ = ends[0];
  pid_ = Launch(Pointers(arguments).data(), Pointers(environment).data(), ends[1], &exec_time_);
  if (pid_ < 0) FailWithErrno("vfork");
  close(ends[1]);
}

ChildProgram::~ChildProgram() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(output_);
}

std::string ChildProgram::ReadLine() {
  std::string line;
  for (;;) {
    char c = 0;
    const ssize_t count = read(output_, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) Fail("a program ended without having listened");
    if (c == '\n') return line;
    line += c;
  }
}

int ChildProgram::ReadPort() {
  const std::string line = ReadLine();
  const size_t colon = line.rfind(':');
  const int port = colon == std::string::npos ? 0 : std::atoi(line.c_str() + colon + 1);
  if (port <= 0) Fail("no port in \"" + line + "\"");
  return port;
}

double ChildProgram::StatusKib(const std::string& field) const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, field.size() + 1, field + ":") == 0) return std::atof(line.c_str() + field.size() + 1);
  }
  Fail("no " + field + " of a process");
}

size_t ChildProgram::Descriptors() const {
  DIR* const directory = opendir(("/proc/" + std::to_string(pid_) + "/fd").c_str());
  if (directory == nullptr) FailWithErrno("the descriptors of a process");
  size_t count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count - 2;  // . and ..
}

void Await(const std::string& what, const std::function<bool()>& condition) {
  const double end = NowMicroseconds() + 10e6;
  while (!condition()) {
    if (NowMicroseconds() > end) Fail("waited in vain: " + what);
    usleep(1000);
  }
}

void RunPlainly(const char* shell, const char* command) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) FailWithErrno("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  const char* const arguments[] = {shell, "-c", command, nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, shell, &actions, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(std::string("cannot run ") + shell);
  close(out[1]);
  close(err[1]);
  ReadToEnd(out[0]);
  ReadToEnd(err[0]);
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) Fail(std::string("failed: ") + command);
}

}  // namespace osbx::bench
