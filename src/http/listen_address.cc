#include "http/listen_address.h"

#include <arpa/inet.h>

#include <optional>

#include "base/text.h"

namespace osbx::http {
namespace {

bool IsAddress(int family, const std::string& text) {
  unsigned char parsed[sizeof(in6_addr)];
  return ::inet_pton(family, text.c_str(), parsed) == 1;
}

absl::Status Malformed() {
  return base::Error(
      base::Code::kInvalid,
      "a listen address must be ADDRESS:PORT, [IPV6-ADDRESS]:PORT or :PORT, with a port from 0 to 65535");
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find('\0') != std::string_view::npos) return Malformed();
  const std::optional<int64_t> port = base::ParseDecimal(text.substr(colon + 1), 0, 65535);
  if (!port.has_value()) return Malformed();
  ListenAddress address;
  address.port = static_cast<uint16_t>(*port);
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return address;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  address.host = std::string(bracketed ? host.substr(1, host.size() - 2) : host);
  if (!IsAddress(bracketed ? AF_INET6 : AF_INET, address.host)) return Malformed();
  return address;
}

}  // namespace osbx::http
