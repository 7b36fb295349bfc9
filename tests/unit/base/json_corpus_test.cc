// Replays the fuzz corpus of the JSON gate.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/json_properties.h"

#ifndef OSBX_SOURCE_DIR
#error "OSBX_SOURCE_DIR must name the top of the tree"
#endif

namespace osbx::base {
namespace {

TEST(JsonCorpus, EveryPropertyHoldsForEveryFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(OSBX_SOURCE_DIR "/fuzz/corpus/json")) {
    std::ifstream file(entry.path(), std::ios::binary);
    // On the heap and without a NUL behind it, so that a sanitizer sees a read past its end.
    const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(osbx::testing::JsonPropertyViolation(std::string_view(text.data(), text.size())), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace osbx::base
