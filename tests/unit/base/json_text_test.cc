#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace osbx::base {
namespace {

using std::string_literals::operator""s;

std::string Written(std::string_view text) {
  std::string out = "x";
  AppendJsonString(&out, text);
  return out.substr(1);
}

TEST(JsonText, EscapesWhatItMust) {
  EXPECT_EQ(Written(""), "\"\"");
  EXPECT_EQ(Written("a/\x7f\xC3\xA9"), "\"a/\x7f\xC3\xA9\"");
  EXPECT_EQ(Written("\"\\"), R"("\"\\")");
  EXPECT_EQ(Written("\0\x01\t\n\r\x1f"s), R"("\u0000\u0001\t\n\r\u001f")");
}

TEST(JsonText, IsReadBackAsItWas) {
  std::string text;
  for (int byte = 1; byte < 128; ++byte) text += static_cast<char>(byte);
  const auto document = ParseJson(Written(text));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root().AsString(), text);
}

TEST(Utf8Repair, ReplacesEachBadByte) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidUtf8("plain \xC3\xA9\0"s), "plain \xC3\xA9\0"s);
  EXPECT_EQ(ToValidUtf8("\xE2\x82"), bad + bad);
  EXPECT_EQ(ToValidUtf8("\xE2\x82z"), bad + bad + "z");
  EXPECT_EQ(ToValidUtf8("\xF0\x9F\x98\xF0\x9F\x98\x80"), bad + bad + bad + "\xF0\x9F\x98\x80");
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80\xC0\xAF\xFF"), bad + bad + bad + bad + bad + bad);
}

TEST(Utf8Repair, FindsACharacterThatIsCut) {
  for (const std::string& whole : {"ab"s, "ab\xC3\xA9"s, ""s, "ab\xE2\x82\xAC"s, "ab\xF0\x9F\x98\x80"s}) {
    EXPECT_EQ(WithoutCutCharacter(whole), whole.size());
  }
  for (const std::string& tail : {"\xC3"s, "\xE2"s, "\xE2\x82"s, "\xE0"s, "\xE0\xA0"s, "\xED"s, "\xED\x9F"s, "\xF0"s,
                                  "\xF0\x9F"s, "\xF0\x9F\x98"s, "\xF4\x8F\xBF"s}) {
    EXPECT_EQ(WithoutCutCharacter("ab" + tail), 2u)
        << HexEncode(reinterpret_cast<const uint8_t*>(tail.data()), tail.size());
  }
  // No bytes behind these would make them a character.
  for (const std::string& tail :
       {"\xC0"s, "\x80"s, "\xE0\x9F"s, "\xED\xA0"s, "\xF4\x90"s, "\xF5"s, "\xFF"s, "\x80\x80\x80\x80"s}) {
    EXPECT_EQ(WithoutCutCharacter("ab" + tail), 2 + tail.size());
  }
}

}  // namespace
}  // namespace osbx::base
