#include "transport/endpoint.h"

#include <sys/un.h>

#include <algorithm>

#include "base/text.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

// The last byte of sun_path is for the terminating zero, which some engines insist on.
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr size_t kMaxHost = 253;  // RFC 1035

// Never repeats the URI, which may hold credentials.
absl::Status Invalid(std::string_view what) { return Error(Code::kInvalid, "Docker host: " + std::string(what)); }

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool IsHostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
}

bool IsHost(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), IsHostCharacter);
}

// The text between the brackets; curl and the resolver judge the rest.
bool IsIpv6(std::string_view host) {
  return host.find(':') != std::string_view::npos && host.size() <= 45 &&
         std::all_of(host.begin(), host.end(), [](char c) { return IsHexDigit(c) || c == ':' || c == '.'; });
}

// What may stand in a request target: printable ASCII without a query or fragment.
bool IsBasePath(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '?' && c != '#'; });
}

std::string_view WithoutTrailingSlashes(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

absl::StatusOr<Endpoint> ParseUnix(std::string_view path) {
  path = WithoutTrailingSlashes(path);
  if (path.empty() || path.front() != '/') return Invalid("a unix:// address needs an absolute path");
  if (path.size() > kMaxSocketPath) {
    return Invalid("the socket's path is longer than " + std::to_string(kMaxSocketPath) + " bytes");
  }
  if (base::HasControlCharacter(path)) return Invalid("the socket's path has a control character");
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kUnix;
  endpoint.socket_path = std::string(path);
  return endpoint;
}

absl::StatusOr<Endpoint> ParseTcp(std::string_view rest, bool tls, std::string_view cert_path) {
  if (tls && cert_path.empty()) return Invalid("TLS needs a folder of certificates (DOCKER_CERT_PATH)");
  if (tls && base::HasControlCharacter(cert_path))
    return Invalid("the path of the certificates has a control character");

  const size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  const std::string_view path = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  if (authority.find('@') != std::string_view::npos) return Invalid("credentials in the address are not supported");

  std::string_view host = authority;
  std::string_view port;
  bool has_port = false;
  const bool bracketed = !authority.empty() && authority.front() == '[';
  const size_t host_end = bracketed ? authority.find(']') : authority.find(':');
  if (bracketed) {
    if (host_end == std::string_view::npos || !IsIpv6(authority.substr(1, host_end - 1))) {
      return Invalid("the IPv6 address is malformed");
    }
    host = authority.substr(0, host_end + 1);
    const std::string_view after = authority.substr(host_end + 1);
    if (!after.empty() && after.front() != ':') return Invalid("the IPv6 address is malformed");
    has_port = !after.empty();
    if (has_port) port = after.substr(1);
  } else {
    has_port = host_end != std::string_view::npos;
    host = authority.substr(0, host_end);
    if (has_port) port = authority.substr(host_end + 1);
    if (!IsHost(host)) return Invalid("the host name is missing or malformed");
  }
  if (!has_port) port = tls ? "2376" : "2375";
  if (!base::ParseDecimal(port, 1, 65535)) return Invalid("the port is not a number from 1 to 65535");
  if (!IsBasePath(path)) return Invalid("the path is malformed");

  Endpoint endpoint;
  endpoint.kind = tls ? Endpoint::Kind::kTls : Endpoint::Kind::kTcp;
  endpoint.authority = std::string(host) + ":" + std::string(port);
  endpoint.base_path = std::string(WithoutTrailingSlashes(path));
  if (tls) endpoint.cert_path = std::string(cert_path);
  return endpoint;
}

}  // namespace

std::string Endpoint::ToString() const {
  switch (kind) {
    case Kind::kUnix:
      return "unix://" + socket_path;
    case Kind::kTcp:
      return "tcp://" + authority + base_path;
    case Kind::kTls:
      return "https://" + authority + base_path;
  }
  return {};
}

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view uri, bool tls, std::string_view cert_path) {
  const size_t scheme_end = uri.find("://");
  if (scheme_end == std::string_view::npos) return Invalid("it must be unix:///path or tcp://host:port");
  const std::string_view scheme = uri.substr(0, scheme_end);
  const std::string_view rest = uri.substr(scheme_end + 3);
  if (scheme == "unix") return ParseUnix(rest);
  if (scheme == "tcp") return ParseTcp(rest, tls || !cert_path.empty(), cert_path);
  if (scheme == "https") return ParseTcp(rest, true, cert_path);
  if (scheme == "http") {
    if (tls) return Invalid("http:// contradicts DOCKER_TLS_VERIFY");
    return ParseTcp(rest, false, {});
  }
  if (scheme == "ssh" || scheme == "npipe" || scheme == "fd") {
    return Invalid(std::string(scheme) + ":// is not supported");
  }
  return Invalid("its scheme is not unix, tcp, http or https");
}

}  // namespace osbx::transport
