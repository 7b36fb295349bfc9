// The socket that a server listens on.
#ifndef OSBX_HTTP_LISTENER_H_
#define OSBX_HTTP_LISTENER_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace osbx::http {

struct Listener {
  base::UniqueFd socket;
  std::string address;  // "127.0.0.1:3000", "[::]:3000"
  uint16_t port = 0;
};

// `host`: an address, or empty for every interface: IPv6 and IPv4 by one socket, or IPv4 alone where there is no IPv6.
// Errors: kInvalid for no address of this host, kConflict for a taken port, kPermission.
absl::StatusOr<Listener> OpenListener(const std::string& host, uint16_t port);

}  // namespace osbx::http

#endif  // OSBX_HTTP_LISTENER_H_
