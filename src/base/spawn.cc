#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "base/unique_fd.h"

namespace osbx::base {
namespace {

// The child shares this process's memory until exec, and its thread waits meanwhile. So the child may neither allocate
// nor take a lock, and tells its failure by writing it here.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;  // null: stay
  int stdout_fd;          // both above 2
  int stderr_fd;
  sigset_t not_default;  // signals that are ignored or caught here
  // The child's answer.
  const char* failed_step;
  int error;
};

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr int kSignals = 64;

// No instrumented code: a sanitizer would take the child for this thread.
#define OSBX_CHILD_CODE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

// For kernels and filters without close_range().
OSBX_CHILD_CODE void CloseOneByOne() {
  struct Entry {  // linux_dirent64
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[1];
  };
  alignas(Entry) char buffer[2048];
  const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t end = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    for (rlim_t fd = 3; fd < end; ++fd) close(static_cast<int>(fd));
    return;
  }
  // Closing changes what is listed, so begin again until a whole pass closes nothing.
  bool closed_some = true;
  while (closed_some) {
    closed_some = false;
    lseek(directory, 0, SEEK_SET);
    long bytes = 0;
    while ((bytes = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0) {
      for (long at = 0; at < bytes;) {
        const auto* const entry = reinterpret_cast<const Entry*>(buffer + at);
        at += entry->length;
        int fd = 0;
        const char* digit = entry->name;
        for (; *digit >= '0' && *digit <= '9'; ++digit) fd = fd * 10 + (*digit - '0');
        if (digit != entry->name && *digit == 0 && fd > 2 && fd != directory && close(fd) == 0) closed_some = true;
      }
    }
  }
  close(directory);
}

OSBX_CHILD_CODE void Fail(Launch* launch, const char* step) {
  launch->error = errno;
  launch->failed_step = step;
  _exit(127);
}

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer's own clone() takes the child for one with memory of its own, and spoils what both share.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);  // NOLINT(bugprone-reserved-identifier): glibc's
constexpr auto CloneFunction = __clone;
#else
constexpr auto CloneFunction = clone;
#endif

OSBX_CHILD_CODE int ChildMain(void* argument) {
  auto* const launch = static_cast<Launch*>(argument);
  setsid();  // cannot fail: a new process leads no group
  // Ignored signals would stay so in the program; caught ones could run a handler here once the mask is empty.
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (sigismember(&launch->not_default, signal) == 1) sigaction(signal, &default_action, nullptr);
  }
  if (launch->directory != nullptr && chdir(launch->directory) != 0) Fail(launch, "enter the directory");
  if (dup2(launch->stdout_fd, 1) < 0 || dup2(launch->stderr_fd, 2) < 0) Fail(launch, "connect the output");
  close(0);
  if (open("/dev/null", O_RDONLY) != 0) Fail(launch, "open /dev/null");
  if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0) CloseOneByOne();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(launch->program, launch->arguments, launch->environment);
  Fail(launch, "run");
  return 0;
}

#undef OSBX_CHILD_CODE

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// `fd`, or a copy of it above the standard ones, which the child replaces; this process may have none of those.
absl::StatusOr<int> AboveStandard(int fd, UniqueFd* copy) {
  if (fd > 2) return fd;
  copy->Reset(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy->valid()) {
    return Error(Code::kInternal, "cannot copy a descriptor for a program (errno " + std::to_string(errno) + ")");
  }
  return copy->get();
}

absl::Status StartError(std::string_view step, std::string_view what, int error) {
  Code code = Code::kInternal;
  std::string_view reason;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      code = Code::kNotFound;
      reason = ": it does not exist, or what it needs to run does not";
      break;
    case EACCES:
    case EPERM:
      code = Code::kPermission;
      reason = ": no permission";
      break;
    case E2BIG:
    case ENAMETOOLONG:  // what gVisor says of one argument that is too long
      code = Code::kTooLarge;
      reason = ": its arguments and environment are too long";
      break;
    case EAGAIN:
      code = Code::kAtCapacity;
      reason = ": the limit of processes is reached";
      break;
    case ENOMEM:
      code = Code::kNoMemory;
      reason = ": out of memory";
      break;
    default:
      break;
  }
  std::string message = "cannot ";
  message.append(step).append(" ").append(what).append(reason);
  return Error(code, message + " (errno " + std::to_string(error) + ")");
}

}  // namespace

sigset_t SignalsNotDefault() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = 1; signal <= kSignals; ++signal) {
    struct sigaction action = {};
    // glibc keeps two signals for itself, refuses them here, and has no handler for them in a program that begins.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) sigaddset(&set, signal);
  }
  return set;
}

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  UniqueFd stdout_copy;
  UniqueFd stderr_copy;
  const std::vector<char*> arguments = Pointers(options.arguments);
  const std::vector<char*> environment = Pointers(options.environment);
  Launch launch = {};
  OSBX_ASSIGN_OR_RETURN(launch.stdout_fd, AboveStandard(options.stdout_fd, &stdout_copy));
  OSBX_ASSIGN_OR_RETURN(launch.stderr_fd, AboveStandard(options.stderr_fd, &stderr_copy));
  launch.program = options.program.c_str();
  launch.arguments = arguments.data();
  launch.environment = environment.data();
  launch.directory = options.directory.empty() ? nullptr : options.directory.c_str();
  launch.not_default = options.not_default.has_value() ? *options.not_default : SignalsNotDefault();

  // No handler of this process may run in the child, which shares its memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  alignas(16) char stack[kStackBytes];
  const pid_t pid = CloneFunction(&ChildMain, stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0) return StartError("start a process for", options.program, clone_error);
  // The child is as good as dead; whoever reaps every child may have been faster.
  if (launch.error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    const bool directory = launch.directory != nullptr && std::string_view(launch.failed_step) == "enter the directory";
    const bool program = std::string_view(launch.failed_step) == "run";
    return StartError(launch.failed_step,
                      directory ? options.directory
                      : program ? options.program
                                : "of a program",
                      launch.error);
  }
  return pid;
}

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

}  // namespace osbx::base
