// What a contract server is told: where the files are, and the shell that runs commands.
#ifndef OSBX_CONTRACT_CONFIGURATION_H_
#define OSBX_CONTRACT_CONFIGURATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::contract {

struct Configuration {
  std::string workspace = "/workspace";
  std::string shell = "/bin/sh";
  std::string host;  // an address; empty for every interface
  uint16_t port = 3000;
};

// "ADDRESS:PORT", "[IPV6-ADDRESS]:PORT" or ":PORT"; kInvalid otherwise.
absl::Status SetListenAddress(std::string_view text, Configuration& configuration);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_CONFIGURATION_H_
