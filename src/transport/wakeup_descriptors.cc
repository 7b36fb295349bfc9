#include "transport/wakeup_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "base/text.h"

namespace osbx::transport {
namespace {

constexpr int kWakeups = 8;
constexpr int kNearby = 32;  // a new descriptor is the lowest free one, so the pair is nearly always here

// An unnamed unix stream socket that exec would leave open.
bool IsCandidate(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC) != 0) return false;
  int value = 0;
  socklen_t size = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &size) != 0 || value != AF_UNIX) return false;
  size = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size) != 0 || value != SOCK_STREAM) return false;
  sockaddr_storage peer;
  size = sizeof(peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && size <= sizeof(sa_family_t);
}

// Whether exactly `expected` waits to be read there; nothing is taken.
bool Holds(int fd, const std::string& expected) {
  char buffer[64];
  const ssize_t got = recv(fd, buffer, sizeof(buffer), MSG_PEEK | MSG_DONTWAIT);
  return got == static_cast<ssize_t>(expected.size()) && std::memcmp(buffer, expected.data(), expected.size()) == 0;
}

void Discard(int fd) {
  char buffer[64];
  (void)recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
}

std::vector<int> Nearby(int lowest_free) {
  std::vector<int> found;
  for (int fd = std::max(lowest_free, 0); fd < lowest_free + kNearby; ++fd) {
    if (IsCandidate(fd)) found.push_back(fd);
  }
  return found;
}

std::vector<int> Everywhere() {
  std::vector<int> found;
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    const auto fd = base::ParseDecimal(entry->d_name, 0, 1 << 30);
    if (fd && IsCandidate(static_cast<int>(*fd))) found.push_back(static_cast<int>(*fd));
  }
  closedir(directory);
  return found;
}

// `wakeups` is what the reading end holds. Nothing is sent before an end is found that holds just that.
bool MarkPair(const std::vector<int>& candidates, const std::string& wakeups) {
  for (const int reader : candidates) {
    if (!Holds(reader, wakeups)) continue;
    const std::string token = base::RandomHex(16);
    if (send(reader, token.data(), token.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(token.size())) {
      continue;
    }
    for (const int writer : candidates) {
      if (writer == reader || !Holds(writer, token)) continue;
      Discard(writer);
      Discard(reader);
      fcntl(reader, F_SETFD, FD_CLOEXEC);
      fcntl(writer, F_SETFD, FD_CLOEXEC);
      return true;
    }
  }
  return false;
}

}  // namespace

int LowestFreeDescriptor() {
  const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd;
}

void CloseWakeupDescriptorsOnExec(CURLM* multi, int lowest_free) {
  for (int i = 0; i < kWakeups; ++i) curl_multi_wakeup(multi);
  const std::string wakeups(kWakeups, '\1');
  if (!MarkPair(Nearby(lowest_free), wakeups)) MarkPair(Everywhere(), wakeups);
}

}  // namespace osbx::transport
