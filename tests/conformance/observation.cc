#include "observation.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "http_client.h"

namespace osbx::conformance {
namespace {

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Proc(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// The number behind `key` in /proc/PID/status; -1 when it is not there.
int64_t StatusNumber(pid_t pid, const std::string& key) {
  std::ifstream status(Proc(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, key.size() + 1, key + ":") == 0)
      return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return -1;
}

}  // namespace

bool Exists(pid_t pid) { return access(Proc(pid, "stat").c_str(), F_OK) == 0; }

bool Alive(pid_t pid) {
  const std::string stat = Slurp(Proc(pid, "stat"));
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

pid_t PidFrom(const std::string& path) {
  pid_t pid = -1;
  Eventually([&] {
    std::ifstream file(path);
    return static_cast<bool>(file >> pid);
  });
  return pid > 0 ? pid : -1;
}

int Descriptors(pid_t pid) {
  DIR* const directory = opendir(Proc(pid, "fd").c_str());
  if (directory == nullptr) return -1;
  int count = -2;  // without . and ..
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

int Threads(pid_t pid) { return static_cast<int>(StatusNumber(pid, "Threads")); }

int64_t MemoryKibibytes(pid_t pid) { return StatusNumber(pid, "VmRSS"); }

int64_t PeakMemoryKibibytes(pid_t pid) {
  const int64_t peak = StatusNumber(pid, "VmHWM");
  return peak >= 0 ? peak : MemoryKibibytes(pid);
}

bool IsGvisor() {
  // Its kernel calls itself 4.4.0 and was built at a fixed time.
  return Slurp("/proc/version").find("gVisor") != std::string::npos ||
         Slurp("/proc/version").find("Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016") != std::string::npos;
}

bool HasIpv6() { return !Slurp("/proc/net/if_inet6").empty(); }

}  // namespace osbx::conformance
