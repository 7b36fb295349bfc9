// Building JSON text.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"

namespace osbx::base {
namespace {

TEST(JsonBuilder, PrintsEveryKindOfMember) {
  JsonBuilder inner = JsonBuilder::Object();
  inner.Set("k", "v");
  JsonBuilder array = JsonBuilder::Array();
  array.Add("one").Add(JsonBuilder::Object()).Add(JsonBuilder::Array());
  JsonBuilder object = JsonBuilder::Object();
  object.Set("s", "text")
      .Set("t", true)
      .Set("f", false)
      .Set("i", 42)
      .Set("o", std::move(inner))
      .Set("a", std::move(array))
      .Set("v", std::vector<std::string>{"x", "y"})
      .Set("e", std::vector<std::string>{});
  EXPECT_EQ(object.Print(),
            R"({"s":"text","t":true,"f":false,"i":42,"o":{"k":"v"},"a":["one",{},[]],"v":["x","y"],"e":[]})");
}

TEST(JsonBuilder, IntegersAreExact) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{2147483648}, int64_t{-2147483649},
                              int64_t{9007199254740991}, int64_t{9007199254740992}, int64_t{-9007199254740992}}) {
    const std::string text = JsonBuilder::Object().Set("n", value).Print();
    EXPECT_EQ(text, "{\"n\":" + std::to_string(value) + "}");
    const auto parsed = ParseJson(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->root()["n"].AsInt(), value);
  }
}

TEST(JsonBuilder, StringsSurviveTheWayBack) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  all += "\xc2\x85\xe2\x80\xa8\xf0\x9f\x98\x80</script>";
  const auto parsed = ParseJson(JsonBuilder::Object().Set(all.c_str(), all).Print());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->root()[all].AsString(), all);
}

TEST(JsonBuilder, StringViewNeedsNoEndingNul) {
  const std::string text = "abcdef";
  EXPECT_EQ(JsonBuilder::Array().Add(std::string_view(text).substr(1, 3)).Print(), R"(["bcd"])");
}

TEST(JsonBuilder, MovesOwnership) {
  JsonBuilder first = JsonBuilder::Array();
  first.Add("x");
  JsonBuilder second = std::move(first);
  first = JsonBuilder::Object();
  EXPECT_EQ(second.Print(), R"(["x"])");
  EXPECT_EQ(first.Print(), "{}");
}

}  // namespace
}  // namespace osbx::base
