// Replays the fuzz corpus of the stream demultiplexer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/demultiplexer_properties.h"

namespace osbx::transport {
namespace {

TEST(DemultiplexerCorpus, EveryPropertyHoldsForEveryFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(OSBX_SOURCE_DIR "/fuzz/corpus/demultiplexer")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(testing::DemultiplexerViolation(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 10);
}

}  // namespace
}  // namespace osbx::transport
