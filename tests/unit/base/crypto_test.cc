#include "base/crypto.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace osbx::base {
namespace {

TEST(Sha256, AnswersTheKnownVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(RandomHex, HasTheLengthAskedForAndOnlyHexDigits) {
  for (const size_t bytes : {0u, 1u, 16u, 63u, 64u, 65u, 1000u}) {
    const std::string text = RandomHex(bytes);
    EXPECT_EQ(text.size(), 2 * bytes);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(RandomHex, NeverRepeatsAcrossThreads) {
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : made) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 200; ++i) mine.push_back(RandomHex(16));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const std::vector<std::string>& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 800u);
}

}  // namespace
}  // namespace osbx::base
