#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/spec.h"

namespace osbx::core {
namespace {

using base::Code;
using base::CodeOf;

TEST(UserId, PlainDecimalGivesBothNumbers) {
  const auto parsed = [](std::string_view text) { return ParseNumericUser(text).value().value(); };
  EXPECT_EQ(parsed("1").uid, 1);
  EXPECT_EQ(parsed("1").gid, 1);
  EXPECT_EQ(parsed("1000:100").uid, 1000);
  EXPECT_EQ(parsed("1000:100").gid, 100);
  EXPECT_EQ(parsed("2147483646:2147483646").gid, 2147483646);
}

TEST(UserId, NameIsNotNumeric) {
  for (const char* name : {"app", "_x", "www-data", "a:b", "root"}) {
    const auto parsed = ParseNumericUser(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_FALSE(parsed->has_value()) << name;
  }
}

TEST(UserId, EverySpellingOfRootIsRefused) {
  for (const char* root : {"0",        "00",       "000000000000000000000000",
                           "+0",       "-0",       "+00",
                           "-00",      "0:0",      "0:1000",
                           "1000:0",   "1000:00",  "1000:+0",
                           "1000:-0",  "root",     "root:root",
                           "root:app", "app:root", "app:0",
                           "app:00",   "app:-0"}) {
    const absl::Status status = ValidateUser(root);
    EXPECT_EQ(CodeOf(status), Code::kInvalid) << root;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("root")) << root;
  }
}

TEST(UserId, NumbersThatAreNotPlainAreRefused) {
  for (const char* bad : {"",
                          ":",
                          "1:",
                          ":1",
                          "+1",
                          "-1",
                          "01",
                          "1 ",
                          " 1",
                          "1.0",
                          "0x1",
                          "1e3",
                          "1000:",
                          "1000:01",
                          "1000:+1",
                          "1:1:1",
                          "2147483647",
                          "4294967296",
                          "4294967297",
                          "18446744073709551616",
                          "18446744073709551617:1",
                          "1:2147483647",
                          "1a",
                          "1000:staff",
                          "\xD9\xA1"}) {
    EXPECT_EQ(CodeOf(ValidateUser(bad)), Code::kInvalid) << bad;
    EXPECT_FALSE(ParseNumericUser(bad).ok()) << bad;
  }
}

TEST(UserId, NamesAreCheckedByTheirCharacters) {
  for (const std::string& good : {std::string("app"), std::string("_a.b-C9"), std::string("www-data:www-data"),
                                  std::string("Root"), std::string(255, 'u')}) {
    EXPECT_TRUE(ValidateUser(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string("a b"), std::string("a:"), std::string("a:b:c"), std::string("a/b"), std::string("a\n"),
        std::string("a\0", 2), std::string("-a"), std::string(".a"), std::string("a:1"), std::string("a:-b"),
        std::string(256, 'u'), std::string("\xC3\xA9")}) {
    EXPECT_EQ(CodeOf(ValidateUser(bad)), Code::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace osbx::core
