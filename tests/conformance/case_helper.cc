#include "case_helper.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace osbx::conformance {
namespace {

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Under a name of its own first, so that whoever sees the file sees it whole.
void WritePid(const std::string& path) {
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || !WriteAll(fd, std::to_string(getpid()) + "\n")) _exit(9);
  close(fd);
  if (rename(temporary.c_str(), path.c_str()) != 0) _exit(9);
}

[[noreturn]] void Nap(const std::string& path) {
  WritePid(path);
  for (;;) pause();
}

void IgnoreSignals() {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1}) std::signal(signal, SIG_IGN);
}

// bytes N [FD]: N bytes.
int Bytes(uint64_t count, int fd) {
  const std::string block(64 << 10, 'x');
  for (uint64_t left = count; left > 0;) {
    const size_t size = std::min<uint64_t>(left, block.size());
    if (!WriteAll(fd, std::string_view(block).substr(0, size))) return 1;
    left -= size;
  }
  return 0;
}

// euros N: "x" and N characters of three bytes, many of them in a write of its own for each byte.
int Euros(uint64_t count) {
  std::string text = "x";
  for (uint64_t i = 0; i < count; ++i) text += "\xe2\x82\xac";
  const size_t slowly = std::min<size_t>(text.size(), 3000);
  for (size_t i = 0; i < slowly; ++i) {
    if (!WriteAll(1, std::string_view(text).substr(i, 1))) return 1;
  }
  return WriteAll(1, std::string_view(text).substr(slowly)) ? 0 : 1;
}

// state: what this process was given, one fact a line.
int State() {
  printf("session %s\n", getsid(0) == getpid() ? "own" : "other");
  printf("group %s\n", getpgrp() == getpid() ? "own" : "other");
  struct stat in {};
  const bool null = fstat(0, &in) == 0 && S_ISCHR(in.st_mode) && in.st_rdev == makedev(1, 3);
  printf("stdin %s\n", null ? "null" : "other");
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal <= 64; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) printf("not default %d\n", signal);
    if (sigismember(&blocked, signal) == 1) printf("blocked %d\n", signal);
  }
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf("open %d\n", fd);
  }
  return 0;
}

// tree PREFIX: this process, a child, a child in its own session, and an orphan in its own session; none minds a
// signal.
[[noreturn]] void Tree(const std::string& prefix) {
  IgnoreSignals();
  if (fork() == 0) Nap(prefix + "1");
  if (fork() == 0) {
    setsid();
    Nap(prefix + "2");
  }
  if (fork() == 0) {
    setsid();
    if (fork() == 0) Nap(prefix + "3");
    _exit(0);
  }
  Nap(prefix + "0");
}

// orphan PATH: a child whose parent is gone before it ends.
int Orphan(const std::string& path) {
  if (fork() != 0) return 0;
  const pid_t parent = getpid();
  if (fork() != 0) _exit(0);
  while (getppid() == parent) sched_yield();
  WritePid(path);
  _exit(0);
}

// late FIFO PATH: when the FIFO is written to, prints more than a pipe holds, then writes PATH.
int Late(const std::string& fifo, const std::string& path) {
  const int fd = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  if (fd < 0 || read(fd, &byte, 1) != 1) return 1;
  if (Bytes(300'000, 1) != 0 || Bytes(300'000, 2) != 0) return 1;
  WritePid(path);
  return 0;
}

// chatter PATH: prints until it is killed, with pauses.
[[noreturn]] void Chatter(const std::string& path) {
  WritePid(path);
  for (;;) {
    if (!WriteAll(1, "x")) _exit(1);
    const timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

int RunHelper(int count, char** arguments) {
  const auto argument = [&](int i) { return std::string(i < count ? arguments[i] : ""); };
  const std::string mode = argument(0);
  const uint64_t number = std::strtoull(argument(1).c_str(), nullptr, 10);
  if (mode == "bytes") return Bytes(number, argument(2) == "2" ? 2 : 1);
  if (mode == "euros") return Euros(number);
  if (mode == "state") return State();
  if (mode == "nap") Nap(argument(1));
  if (mode == "tree") Tree(argument(1));
  if (mode == "orphan") return Orphan(argument(1));
  if (mode == "late") return Late(argument(1), argument(2));
  if (mode == "chatter") Chatter(argument(1));
  fprintf(stderr, "no such helper: %s\n", mode.c_str());
  return 2;
}

}  // namespace osbx::conformance
