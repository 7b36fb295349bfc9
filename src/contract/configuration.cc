#include "contract/configuration.h"

#include <utility>

#include "http/listen_address.h"

namespace osbx::contract {

absl::Status SetListenAddress(std::string_view text, Configuration& configuration) {
  OSBX_ASSIGN_OR_RETURN(http::ListenAddress address, http::ParseListenAddress(text));
  configuration.host = std::move(address.host);
  configuration.port = address.port;
  return absl::OkStatus();
}

}  // namespace osbx::contract
