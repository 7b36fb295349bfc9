// Replays the fuzz corpus of the parser of an answer's head and the decoder of its body.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/response_head_properties.h"

namespace osbx::transport {
namespace {

TEST(ResponseHeadCorpus, EveryPropertyHoldsForEveryFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(OSBX_SOURCE_DIR "/fuzz/corpus/response_head")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(testing::ResponseHeadViolation(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 10);
}

}  // namespace
}  // namespace osbx::transport
