#include "http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace osbx::http {
namespace {

using base::Code;
using base::Error;

constexpr int kBacklog = 1024;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address Make(const in6_addr& host, uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = host;
  address.sin6_port = htons(port);
  Address result;
  std::memcpy(&result.storage, &address, sizeof(address));
  result.size = sizeof(address);
  return result;
}

Address Make(const in_addr& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  Address result;
  std::memcpy(&result.storage, &address, sizeof(address));
  result.size = sizeof(address);
  return result;
}

uint16_t PortOf(const Address& address) {
  in_port_t port = 0;
  if (address.family() == AF_INET6) {
    std::memcpy(&port, reinterpret_cast<const char*>(&address.storage) + offsetof(sockaddr_in6, sin6_port),
                sizeof(port));
  } else {
    std::memcpy(&port, reinterpret_cast<const char*>(&address.storage) + offsetof(sockaddr_in, sin_port), sizeof(port));
  }
  return ntohs(port);
}

std::string TextOf(const Address& address) {
  char host[INET6_ADDRSTRLEN] = "";
  const bool v6 = address.family() == AF_INET6;
  const char* const start = reinterpret_cast<const char*>(&address.storage);
  inet_ntop(address.family(), start + (v6 ? offsetof(sockaddr_in6, sin6_addr) : offsetof(sockaddr_in, sin_addr)), host,
            sizeof(host));
  const std::string port = std::to_string(PortOf(address));
  return v6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

// An errno, or 0.
int Open(const Address& address, base::UniqueFd& opened) {
  base::UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return errno;
  const int on = 1;
  const int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.family() == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(socket.get(), address.get(), address.size) != 0) return errno;
  if (listen(socket.get(), kBacklog) != 0) return errno;
  opened = std::move(socket);
  return 0;
}

absl::Status Failed(const Address& address, int error) {
  const char* const text = strerrordesc_np(error);
  const std::string message =
      "cannot listen on " + TextOf(address) + ": " + (text != nullptr ? text : "errno " + std::to_string(error));
  switch (error) {
    case EADDRINUSE:
      return Error(Code::kConflict, message);
    case EACCES:
    case EPERM:
      return Error(Code::kPermission, message);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL:  // a link-local address
      return Error(Code::kInvalid, message);
    default:
      return Error(Code::kInternal, message);
  }
}

}  // namespace

absl::StatusOr<Listener> OpenListener(const std::string& host, uint16_t port) {
  Address address;
  in6_addr v6 = in6addr_any;
  in_addr v4{};  // any
  if (host.empty() || inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    address = Make(v6, port);
  } else if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    address = Make(v4, port);
  } else {
    return Error(Code::kInvalid, "cannot listen on \"" + host + "\": it is no IPv4 or IPv6 address");
  }
  Listener listener;
  int error = Open(address, listener.socket);
  if (host.empty() && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) {
    address = Make(v4, port);
    error = Open(address, listener.socket);
  }
  if (error != 0) return Failed(address, error);
  Address bound;
  bound.size = sizeof(bound.storage);
  if (getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size) != 0) {
    return Failed(address, errno);
  }
  listener.address = TextOf(bound);
  listener.port = PortOf(bound);
  return listener;
}

}  // namespace osbx::http
