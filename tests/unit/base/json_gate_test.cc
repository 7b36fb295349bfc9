// What ParseJson() lets through and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace osbx::base {
namespace {

using std::string_literals::operator""s;

bool Accepts(std::string_view text) { return ParseJson(text).ok(); }

// The byte offset that the refusal names, or -1 where nothing is refused.
int64_t RefusedAt(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = ParseJson(text, limits);
  if (parsed.ok()) return -1;
  EXPECT_EQ(CodeOf(parsed.status()), Code::kInvalid);
  const std::string message(parsed.status().message());
  return ParseDecimal(std::string_view(message).substr(message.rfind(' ') + 1), 0, INT64_MAX).value_or(-2);
}

std::string Nested(int depth, const std::string& open, const std::string& inner, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += inner;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonGate, AcceptsEveryKindOfValue) {
  for (const char* text :
       {"null", "true", "false", "0", "-0", "\"\"", "[]", "{}", " [ ] ", "\t{\n}\r", "[1,2]", "[[],{}]", "{\"a\":1}",
        "{\"\":0}", "{ \"a\" : [ 1 , { \"a\" : null } ] , \"b\" : \"c\" }", "[[1],[2,[3]]]"}) {
    EXPECT_TRUE(Accepts(text)) << text;
  }
}

TEST(JsonGate, AcceptsEveryFormOfNumber) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "-1",
                           "10",
                           "1234567890",
                           "0.0",
                           "-0.5",
                           "1.50",
                           "0e0",
                           "1e5",
                           "1E5",
                           "1e+5",
                           "1e-5",
                           "1.25E-07",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "1e99999999999999999999999",
                           "0e99999999999999999999999",
                           "123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
                           "-0.000000000000000000000000000000000000000000000000000000000000000000000000000001"}) {
    EXPECT_TRUE(Accepts(text)) << text;
  }
}

TEST(JsonGate, RefusesOtherNumbers) {
  for (const char* text :
       {"01",    "00",   "-01", "+1",  "-",   "--1",      ".5",        "-.5", "1.",  "1.e5", "1e",  "1e+", "1e-",
        "1e1.5", "0x10", "1_0", "1 0", "NaN", "Infinity", "-Infinity", "nan", "inf", "1f",   "1-1", "١"}) {
    EXPECT_FALSE(Accepts(text)) << text;
    EXPECT_FALSE(Accepts("[" + std::string(text) + "]")) << text;
  }
}

TEST(JsonGate, RefusesWhatIsNoValue) {
  for (const char* text :
       {"",          " ",          "\n",      "[",        "]",         "{",          "}",
        "[1",        "[1,",        "[1,]",    "[,1]",     "[,]",       "[1 2]",      "[1}",
        "{]",        "{\"a\"",     "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}",
        "{\"a\" 1}", "{\"a\"::1}", "{a:1}",   "{'a':1}",  "{1:1}",     "{null:1}",   "{\"a\":1 \"b\":2}",
        "True",      "TRUE",       "nul",     "nulll",    "truefalse", "undefined",  "'a'",
        "\"a",       "\"",         "// x\n1", "1 // x",   "/* x */ 1", "[1]]",       "{}}",
        ":",         ",",          "\"a\":1"}) {
    EXPECT_FALSE(Accepts(text)) << text;
  }
}

TEST(JsonGate, RefusesASecondValue) {
  EXPECT_EQ(RefusedAt("{} {}"), 3);
  EXPECT_EQ(RefusedAt("1 2"), 2);
  EXPECT_EQ(RefusedAt("{}\n,"), 3);
  EXPECT_EQ(RefusedAt("{}\0"s), 2);
}

TEST(JsonGate, RefusesOtherWhiteSpace) {
  for (const std::string& space :
       {"\f"s, "\v"s, "\0"s, "\xc2\xa0"s, "\xe2\x80\xa8"s, "\xef\xbb\xbf"s, "\xe3\x80\x80"s, "\x1f"s, "\b"s}) {
    EXPECT_FALSE(Accepts(space + "1"));
    EXPECT_FALSE(Accepts("1" + space));
    EXPECT_FALSE(Accepts("[" + space + "1]"));
    EXPECT_FALSE(Accepts("{\"a\"" + space + ":1}"));
  }
}

TEST(JsonGate, RefusesAByteOrderMarkButNotItsCharacterInAString) {
  EXPECT_EQ(RefusedAt("\xef\xbb\xbf{}"), 0);
  EXPECT_TRUE(Accepts("\"\xef\xbb\xbf\""));
}

TEST(JsonGate, AcceptsOnlyTheListedEscapes) {
  EXPECT_TRUE(Accepts(R"("\"\\\/\b\f\n\r\tA\u00e9\uABCD\uabcd")"));
  for (int c = 1; c < 128; ++c) {
    const std::string text = "\"\\"s + static_cast<char>(c) + "\"";
    const bool listed = std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) != std::string_view::npos;
    EXPECT_EQ(Accepts(text), listed) << c;
  }
  for (const char* text :
       {R"("\u")", R"("\u1")", R"("\u12")", R"("\u123")", R"("\u123g")", R"("\u+123")", R"("\u 123")", R"("\U0041")",
        R"("\u{41}")", R"("\x41")", "\"\\", "\"\\u", "\"\\u12", "\"\\u0041"}) {
    EXPECT_FALSE(Accepts(text)) << text;
  }
}

TEST(JsonGate, RefusesControlCharactersInStrings) {
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_EQ(RefusedAt("\"a"s + static_cast<char>(c) + "\""), 2) << c;
    EXPECT_FALSE(Accepts("{\"a"s + static_cast<char>(c) + "\":1}")) << c;
  }
  EXPECT_TRUE(Accepts("\"\x7f\""));
}

TEST(JsonGate, RefusesNulInAnySpelling) {
  EXPECT_EQ(RefusedAt("{\"command\":\"echo safe\\u0000; rm\"}"), 21);
  EXPECT_EQ(RefusedAt("\"a\0b\""s), 2);
  EXPECT_FALSE(Accepts(R"({"a\u0000":1})"));
  EXPECT_TRUE(Accepts(R"("\\u0000")"));
  EXPECT_TRUE(Accepts(R"("\u0001")"));
}

TEST(JsonGate, RefusesLoneSurrogates) {
  EXPECT_TRUE(Accepts(R"("\ud83d\ude00\uD800\uDC00\udbff\udfff")"));
  for (const char* text :
       {R"("\ud800")", R"("\udbff")", R"("\udc00")", R"("\udfff")", R"("\ud800\ud800")", R"("\ud800x")",
        R"("\ud800\n")", R"("\ud800A")", R"("\udc00\ud800")", R"("\udc00\udc00")", R"("\ud800\u")", R"("\ud800\udbff")",
        R"("\ud800\ue000")", "\"\\ud800\\", "\"\\ud800\\udc0", "\"\\ud800", R"({"\ud800":1})"}) {
    EXPECT_FALSE(Accepts(text)) << text;
  }
  EXPECT_EQ(RefusedAt(R"("ab\ud800")"), 3);
}

TEST(JsonGate, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(RefusedAt("\"a\xff\""), 2);
  EXPECT_EQ(RefusedAt("\"\xc0\x80\""), 1);
  EXPECT_EQ(RefusedAt("\"\xed\xa0\x80\""), 1);
  EXPECT_EQ(RefusedAt("\"\xf4\x90\x80\x80\""), 1);
  EXPECT_EQ(RefusedAt("\"\xe2\x82\""), 1);
  EXPECT_TRUE(Accepts("\"\xf4\x8f\xbf\xbf\xc3\xa9\""));
  EXPECT_FALSE(Accepts("\xff\xfe[\0]\0"s));  // UTF-16
}

TEST(JsonGate, RefusesDuplicateKeyInAnySpelling) {
  EXPECT_EQ(RefusedAt(R"({"name":1,"name":2})"), 10);
  EXPECT_EQ(RefusedAt(R"({"name":1,"n\u0061me":2})"), 10);
  EXPECT_EQ(RefusedAt(R"({"n\u0061me":1,"x":0,"name":2})"), 21);
  EXPECT_EQ(RefusedAt(R"({"\u00e9":1,"é":2})"), 12);
  EXPECT_EQ(RefusedAt(R"({"\ud83d\ude00":1,"😀":2})"), 18);
  EXPECT_EQ(RefusedAt(R"({"/":1,"\/":2})"), 7);
  EXPECT_EQ(RefusedAt(R"({"":1,"":2})"), 6);
  EXPECT_EQ(RefusedAt(R"([{"a":{"b":1,"c":[],"b":2}}])"), 20);
  EXPECT_EQ(RefusedAt(R"({"a":1,"b":{"a":1},"a":2})"), 19);
}

TEST(JsonGate, AcceptsTheSameKeyInOtherObjectsAndOtherCase) {
  EXPECT_TRUE(Accepts(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"A":1,"a ":1,"aa":1})"));
  EXPECT_TRUE(Accepts("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}"));  // the same to the eye, not the same characters
}

TEST(JsonGate, FindsOneDuplicateAmongVeryManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(RefusedAt(text + "\"k\\u0035\":0}"), static_cast<int64_t>(text.size()));
}

TEST(JsonGate, BoundsDepth) {
  EXPECT_TRUE(Accepts(Nested(64, "[", "1", "]")));
  EXPECT_EQ(RefusedAt(Nested(65, "[", "1", "]")), 64);
  EXPECT_TRUE(Accepts(Nested(64, "{\"a\":", "1", "}")));
  EXPECT_FALSE(Accepts(Nested(65, "{\"a\":", "1", "}")));
  EXPECT_EQ(RefusedAt(std::string(1 << 20, '[')), 64);
  JsonLimits limits;
  limits.max_depth = 0;
  EXPECT_EQ(RefusedAt("[]", limits), 0);
  EXPECT_EQ(RefusedAt("1", limits), -1);
  limits.max_depth = -1;
  EXPECT_EQ(RefusedAt("[]", limits), 0);
}

TEST(JsonGate, BoundsSize) {
  JsonLimits limits;
  limits.max_bytes = 4;
  EXPECT_EQ(RefusedAt("[12]", limits), -1);
  EXPECT_EQ(RefusedAt("[12] ", limits), 4);
}

TEST(JsonGate, BoundsTheNumberOfValues) {
  JsonLimits limits;
  limits.max_values = 3;
  EXPECT_EQ(RefusedAt("[1,2]", limits), -1);
  EXPECT_EQ(RefusedAt("[1,2,3]", limits), 5);
  EXPECT_EQ(RefusedAt("{\"a\":1,\"b\":[]}", limits), -1);
}

TEST(JsonGate, RefusesEveryBeginningOfAText) {
  const std::string text = R"({"a":[1.5e-3,"x\n\ud83d\ude00"],"b":{"c":null,"d":true}})";
  ASSERT_TRUE(Accepts(text));
  for (size_t size = 0; size < text.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer sees a read past its end.
    const std::vector<char> beginning(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Accepts(std::string_view(beginning.data(), size))) << size;
  }
}

TEST(JsonGate, MessageIsPrintable) {
  const auto parsed = ParseJson("[\x01\xff]");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().message(), "JSON: not UTF-8 at byte 2");
}

}  // namespace
}  // namespace osbx::base
