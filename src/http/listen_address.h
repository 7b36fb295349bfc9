// Where a server listens, in text.
#ifndef OSBX_HTTP_LISTEN_ADDRESS_H_
#define OSBX_HTTP_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::http {

struct ListenAddress {
  std::string host;  // an IPv4 or IPv6 address; empty for every interface
  uint16_t port = 0;
};

// "127.0.0.1:3000", "[::1]:3000", ":3000". Names are not looked up. kInvalid otherwise.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace osbx::http

#endif  // OSBX_HTTP_LISTEN_ADDRESS_H_
