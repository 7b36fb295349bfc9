// Where the engine listens.
#ifndef OSBX_TRANSPORT_ENDPOINT_H_
#define OSBX_TRANSPORT_ENDPOINT_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::transport {

struct Endpoint {
  enum class Kind { kUnix, kTcp, kTls };
  Kind kind = Kind::kUnix;
  std::string socket_path;  // kUnix, absolute
  std::string authority;    // kTcp, kTls: host:port, an IPv6 host in brackets
  std::string base_path;    // kTcp, kTls: a path prefix without trailing slash, usually empty
  std::string cert_path;    // kTls: folder with ca.pem, cert.pem, key.pem

  // For messages: "unix:///var/run/docker.sock", "tcp://host:2375", "https://host:2376" with TLS.
  std::string ToString() const;
};

// Reads the forms of DOCKER_HOST: unix:///path, tcp://host[:port][/path], and http:// and https:// as Docker's clients
// take them. `tls` is DOCKER_TLS_VERIFY, `cert_path` is DOCKER_CERT_PATH; without a port it is 2375, or 2376 with TLS.
//
// A tcp:// address uses TLS when either is set, an https:// one always, and the server is always verified: there is no
// TLS without `cert_path`, and having certificates never ends in a plain connection. Trailing slashes do not count.
// Everything else is kInvalid: another scheme (ssh, npipe, fd), a relative path, a socket path over 107 bytes,
// credentials, a query, http:// with `tls`. No message repeats the address, which may hold a password.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view uri, bool tls, std::string_view cert_path);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_ENDPOINT_H_
