#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace osbx::base {
namespace {

using std::string_literals::operator""s;

TEST(Utf8, AcceptsTheEdgesOfEachLength) {
  for (const std::string& text : {""s, "\0"s, "\x7f"s, "\xc2\x80"s, "\xdf\xbf"s, "\xe0\xa0\x80"s, "\xed\x9f\xbf"s,
                                  "\xee\x80\x80"s, "\xef\xbf\xbf"s, "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s}) {
    EXPECT_TRUE(IsValidUtf8(text)) << HexEncode(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndWhatIsBeyond) {
  for (const std::string& text :
       {"\x80"s, "\xbf"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc2"s, "\xc2\x20"s, "\xe0\x9f\xbf"s, "\xe2\x82"s, "\xe2\x28\xa1"s,
        "\xed\xa0\x80"s, "\xed\xbf\xbf"s, "\xf0\x8f\xbf\xbf"s, "\xf0\x90\x80"s, "\xf4\x90\x80\x80"s,
        "\xf5\x80\x80\x80"s, "\xf8\x88\x80\x80\x80"s, "\xfe"s, "\xff"s}) {
    EXPECT_FALSE(IsValidUtf8(text)) << HexEncode(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
}

TEST(Utf8, PrefixEndsAtTheFirstBadByte) {
  EXPECT_EQ(ValidUtf8Prefix("ab\xc3\xa9\xff zzz"), 4u);
  EXPECT_EQ(ValidUtf8Prefix("ab\xc3"), 2u);
  EXPECT_EQ(ValidUtf8Prefix("ab"), 2u);
}

TEST(ControlCharacter, IsFoundInBothBlocks) {
  for (const std::string& text :
       {"a\0"s, "\n"s, "\x1b[0m"s, "x\x1f"s, "\x7f"s, "\xc2\x80"s, "\xc2\x9f"s, "\xff\x01"s}) {
    EXPECT_TRUE(HasControlCharacter(text));
  }
  for (const std::string& text : {""s, "plain text"s, "\xc2\xa0"s, "\xc3\x80"s, "\xff"s}) {
    EXPECT_FALSE(HasControlCharacter(text));
  }
}

TEST(PrintableLine, ReplacesEachBadByteAndControl) {
  EXPECT_EQ(PrintableLine("\xff\xfe"
                          "A\0B\x1b\n"s,
                          100),
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "A B  ");
  EXPECT_EQ(PrintableLine("a\xc2\x85z", 100), "a z");
  EXPECT_EQ(PrintableLine("a\xe2\x80\xa8z\xe2\x80\xa9", 100), "a z ");
  EXPECT_EQ(PrintableLine("caf\xc3\xa9 \xf0\x9f\x98\x80", 100), "caf\xc3\xa9 \xf0\x9f\x98\x80");
}

TEST(PrintableLine, CutsBetweenCharacters) {
  EXPECT_EQ(PrintableLine("abc", 2), "ab");
  EXPECT_EQ(PrintableLine("ab\xc3\xa9", 3), "ab");
  EXPECT_EQ(PrintableLine("ab\xc3\xa9", 4), "ab\xc3\xa9");
  EXPECT_EQ(PrintableLine("\xff\xff", 5), "\xEF\xBF\xBD");
  EXPECT_EQ(PrintableLine("abc", 0), "");
}

TEST(ParseDecimal, TakesPlainNumbersInRange) {
  EXPECT_EQ(ParseDecimal("0", 0, 10), 0);
  EXPECT_EQ(ParseDecimal("10", 0, 10), 10);
  EXPECT_EQ(ParseDecimal("9223372036854775807", 0, INT64_MAX), INT64_MAX);
}

TEST(ParseDecimal, RefusesAllElse) {
  for (const std::string& text : {""s, " 1"s, "1 "s, "+1"s, "-1"s, "01"s, "00"s, "1.0"s, "1e1"s, "0x1"s, "1\0"s,
                                  "\xd9\xa1"s, "9223372036854775808"s, "99999999999999999999999999"s}) {
    EXPECT_EQ(ParseDecimal(text, INT64_MIN, INT64_MAX), std::nullopt) << text;
  }
  EXPECT_EQ(ParseDecimal("11", 0, 10), std::nullopt);
  EXPECT_EQ(ParseDecimal("4", 5, 10), std::nullopt);
}

TEST(Encoding, Hex) {
  const uint8_t bytes[] = {0x00, 0x0f, 0xa0, 0xff};
  EXPECT_EQ(HexEncode(bytes, sizeof(bytes)), "000fa0ff");
  EXPECT_EQ(HexEncode(bytes, 0), "");
}

TEST(Encoding, PercentLeavesOnlyUnreserved) {
  EXPECT_EQ(PercentEncode("azAZ09-._~"), "azAZ09-._~");
  EXPECT_EQ(PercentEncode("a b+c/d?e#f%g\n\0\xc3\xa9"s), "a%20b%2Bc%2Fd%3Fe%23f%25g%0A%00%C3%A9");
}

}  // namespace
}  // namespace osbx::base
