// libFuzzer target for the paths of /files. Any violation of a property ends the run with the reason. Each input is
// tried as it is, and behind "/files/".
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/workspace_path_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& target : {std::string(text), "/files/" + std::string(text)}) {
    const std::string violation = osbx::testing::WorkspacePathViolation(target);
    if (!violation.empty()) {
      std::fprintf(stderr, "%s\n", violation.c_str());
      std::abort();
    }
  }
  return 0;
}
