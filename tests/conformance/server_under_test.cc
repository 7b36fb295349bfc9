#include "server_under_test.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace osbx::conformance {
namespace {

constexpr int kNotHere = 125;  // a namespace could not be made

std::string Temporary() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/conformance.XXXXXX";
  return mkdtemp(path.data()) != nullptr ? path : "";
}

bool WriteText(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return done;
}

// In a child: namespaces of its own, by right or through a user namespace.
bool Unshare(int flags) {
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  if (unshare(flags) != 0) {
    if (unshare(flags | CLONE_NEWUSER) != 0) return false;
    WriteText("/proc/self/setgroups", "deny");
    if (!WriteText("/proc/self/uid_map", uid + " " + uid + " 1")) return false;
    if (!WriteText("/proc/self/gid_map", gid + " " + gid + " 1")) return false;
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool MountDisk(const std::string& path, int mebibytes) {
  const std::string data = "mode=777,size=" + std::to_string(mebibytes) + "m";
  return mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, data.c_str()) == 0;
}

bool MountProc() { return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0; }

// Whether a child can do it.
template <typename Attempt>
bool ChildCan(Attempt attempt) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt() ? 0 : kNotHere);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int CodeOf(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Waits for the child in the PID namespace and ends as it did; a signal that ends this one ends the namespace.
[[noreturn]] void WaitForPid1(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(CodeOf(status));
}

std::optional<Address> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const long port = std::strtol(text.c_str() + colon + 1, nullptr, 10);
  if (port <= 0 || port > 65535) return std::nullopt;
  return Address{host, static_cast<uint16_t>(port)};
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Shared {
  std::unique_ptr<OwnServer> own;
  std::unique_ptr<ServerUnderTest> server;
};

Shared& TheShared() {
  static auto* shared = new Shared;
  return *shared;
}

}  // namespace

const char* Program() {
  const char* program = std::getenv("CONFORMANCE_PROGRAM");
  return program != nullptr && *program != '\0' ? program : nullptr;
}

bool IsLibrary() {
  const char* form = std::getenv("CONFORMANCE_FORM");
  return form != nullptr && std::string(form) == "library";
}

std::string Helper(const std::string& arguments) {
  static const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return "'" + self + "' --helper " + arguments;
}

OwnServer::OwnServer(const StartOptions& options) : directory_(Temporary()) {
  const auto given = options.variables.find("SANDBOX_WORKSPACE");
  const char* small_disk = std::getenv("CONFORMANCE_SMALL_DISK");
  const bool mounts = options.disk_mebibytes > 0 && (small_disk == nullptr || *small_disk == '\0');
  made_workspace_ = given == options.variables.end();
  if (!made_workspace_) {
    workspace_ = given->second;
  } else if (options.disk_mebibytes > 0 && !mounts) {
    workspace_ = std::string(small_disk) + "/conformance.XXXXXX";
    if (mkdtemp(workspace_.data()) == nullptr) return;
  } else {
    workspace_ = Temporary();
  }
  if (options.uid != 0 && geteuid() == 0) {
    if (chown(workspace_.c_str(), options.uid, options.uid) != 0) return;
  }

  const char* path = std::getenv("PATH");
  std::map<std::string, std::string> variables = options.variables;
  variables.emplace("PATH", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  variables.emplace("SANDBOX_WORKSPACE", workspace_);
  variables.emplace("SANDBOX_PORT", "0");
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) {
    if (value != "(unset)") lines.push_back(name + "=" + value);
  }
  std::vector<char*> environment;
  environment.reserve(lines.size() + 1);
  for (std::string& line : lines) environment.push_back(line.data());
  environment.push_back(nullptr);
  std::vector<std::string> words{Program()};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int out[2];
  int pids[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(pids, O_CLOEXEC) != 0) return;
  const int errors = open((directory_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  child_ = fork();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int flags = (mounts || options.pid_1 ? CLONE_NEWNS : 0) | (options.pid_1 ? CLONE_NEWPID : 0);
    if (flags != 0 && !Unshare(flags)) _exit(kNotHere);
    if (mounts && !MountDisk(workspace_, options.disk_mebibytes)) _exit(kNotHere);
    if (options.pid_1) {
      const pid_t inner = fork();
      if (inner != 0) {
        if (write(pids[1], &inner, sizeof(inner)) != sizeof(inner)) _exit(kNotHere);
        // The readers of the output wait for its last writer.
        for (const int fd : {out[0], out[1], errors, pids[1]}) close(fd);
        WaitForPid1(inner);
      }
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!MountProc()) _exit(kNotHere);
    }
    const rlimit descriptors = {options.descriptors, options.descriptors};
    if (options.descriptors != 0 && setrlimit(RLIMIT_NOFILE, &descriptors) != 0) _exit(kNotHere);
    if (options.uid != 0 && geteuid() == 0 &&
        (setgroups(0, nullptr) != 0 || setgid(options.uid) != 0 || setuid(options.uid) != 0)) {
      _exit(kNotHere);
    }
    if (options.uid != 0) prctl(PR_SET_PDEATHSIG, SIGKILL);  // another uid cleared it
    dup2(null, 0);
    dup2(out[1], 1);
    dup2(errors, 2);
    dup2(null, 9);  // without CLOEXEC
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    execve(Program(), arguments.data(), environment.data());
    _exit(127);
  }
  for (const int fd : {out[1], errors, null, pids[1]}) close(fd);
  output_ = out[0];
  pid_ = child_;
  if (options.pid_1 && read(pids[0], &pid_, sizeof(pid_)) != sizeof(pid_)) pid_ = -1;
  close(pids[0]);
  ReadFirstLine();
}

void OwnServer::ReadFirstLine() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (out_.find('\n') == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    pollfd ready{output_, POLLIN, 0};
    if (poll(&ready, 1, 1000) <= 0) continue;
    char piece[4096];
    const ssize_t got = read(output_, piece, sizeof(piece));
    if (got <= 0) break;
    out_.append(piece, static_cast<size_t>(got));
  }
  first_line_ = out_.substr(0, out_.find('\n'));
  static constexpr char kWords[] = "listening on ";
  if (first_line_.rfind(kWords, 0) != 0) return;
  if (const auto parsed = ParseAddress(first_line_.substr(sizeof(kWords) - 1))) address_ = {"127.0.0.1", parsed->port};
}

OwnServer::~OwnServer() {
  if (child_ > 0 && !end_) {
    Signal(SIGKILL);
    Wait();
  }
  if (output_ >= 0) close(output_);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  if (made_workspace_ && !workspace_.empty()) std::filesystem::remove_all(workspace_, ignored);
}

void OwnServer::Signal(int signal) const {
  if (pid_ > 0 && !end_) kill(pid_, signal);
}

bool OwnServer::Collect(int options) {
  if (end_ || child_ <= 0) return true;
  int status = 0;
  if (waitpid(child_, &status, options) != child_) return false;
  end_ = CodeOf(status);
  return true;
}

std::optional<int> OwnServer::Wait() {
  Eventually([this] { return Collect(WNOHANG); });
  return end_;
}

bool OwnServer::Ended() { return Collect(WNOHANG); }

std::string OwnServer::Stdout() {
  char piece[4096];
  ssize_t got = 0;
  pollfd ready{output_, POLLIN, 0};
  while (poll(&ready, 1, 0) > 0 && (got = read(output_, piece, sizeof(piece))) > 0) {
    out_.append(piece, static_cast<size_t>(got));
  }
  return out_;
}

std::string OwnServer::Stderr() const { return ReadFile(directory_ + "/stderr"); }

std::optional<std::string> ConnectShared() {
  const char* address = std::getenv("CONFORMANCE_ADDRESS");
  if (address != nullptr && *address != '\0') {
    const char* workspace = std::getenv("CONFORMANCE_WORKSPACE");
    const char* pid = std::getenv("CONFORMANCE_PID");
    const auto parsed = ParseAddress(address);
    if (!parsed) return std::string("CONFORMANCE_ADDRESS is not ADDRESS:PORT: ") + address;
    if (workspace == nullptr) return "CONFORMANCE_WORKSPACE is not set";
    TheShared().server = std::make_unique<ServerUnderTest>(*parsed, workspace, pid != nullptr ? std::atoi(pid) : 0);
    return std::nullopt;
  }
  if (Program() == nullptr) return "set CONFORMANCE_ADDRESS and CONFORMANCE_WORKSPACE, or CONFORMANCE_PROGRAM";
  auto own = std::make_unique<OwnServer>();
  if (!own->listening()) {
    return std::string(Program()) + " does not listen: " + own->first_line() + " " + own->Stderr();
  }
  TheShared().server = std::make_unique<ServerUnderTest>(own->address(), own->workspace(), own->pid());
  TheShared().own = std::move(own);
  return std::nullopt;
}

void StopShared() { TheShared() = {}; }

const ServerUnderTest& SharedServer() { return *TheShared().server; }

bool CanMount() {
  static const bool can = ChildCan([] { return Unshare(CLONE_NEWNS) && MountDisk("/tmp", 1); });
  return can;
}

bool CanBePid1() {
  static const bool can = ChildCan([] {
    if (!Unshare(CLONE_NEWNS | CLONE_NEWPID)) return false;
    const pid_t inner = fork();
    if (inner == 0) _exit(MountProc() ? 0 : kNotHere);
    int status = 0;
    return inner > 0 && waitpid(inner, &status, 0) == inner && CodeOf(status) == 0;
  });
  return can;
}

}  // namespace osbx::conformance
