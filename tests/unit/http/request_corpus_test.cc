// Replays the fuzz corpus of the parser of requests and their bodies.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/request_properties.h"

namespace osbx::http {
namespace {

TEST(RequestCorpus, EveryPropertyHoldsForEveryFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(OSBX_SOURCE_DIR "/fuzz/corpus/request")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(osbx::testing::RequestViolation(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace osbx::http
