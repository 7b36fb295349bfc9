// The least that a static program can do to be reached: binds, listens, says so. The baseline of how fast a server
// starts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

int main() {
  const int server = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t size = sizeof(address);
  if (server < 0 || bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(server, 1024) != 0 ||
      getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 1;
  }
  std::printf("listening on [::]:%d\n", ntohs(address.sin6_port));
  std::fflush(stdout);
  pause();
  return 0;
}
