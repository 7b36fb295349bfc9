// Reading values out of a parsed document.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>

#include "base/json.h"

namespace osbx::base {
namespace {

JsonDocument Parsed(std::string_view text) {
  auto document = ParseJson(text);
  EXPECT_TRUE(document.ok()) << document.status();
  return *std::move(document);
}

std::optional<int64_t> IntOf(std::string_view text) { return Parsed(text).root().AsInt(); }
std::optional<double> NumberOf(std::string_view text) { return Parsed(text).root().AsNumber(); }

TEST(JsonValue, GettersAnswerOnlyForTheirType) {
  const JsonDocument document = Parsed(R"({"s":"x","n":1.5,"i":7,"t":true,"f":false,"z":null,"a":[1],"o":{"k":1}})");
  const JsonValue root = document.root();
  EXPECT_EQ(root["s"].AsString(), "x");
  EXPECT_EQ(root["n"].AsNumber(), 1.5);
  EXPECT_EQ(root["i"].AsInt(), 7);
  EXPECT_EQ(root["t"].AsBool(), true);
  EXPECT_EQ(root["f"].AsBool(), false);
  EXPECT_TRUE(root["z"].is_null());
  EXPECT_TRUE(root["a"].is_array());
  EXPECT_TRUE(root["o"].is_object());
  for (const char* key : {"n", "i", "t", "z", "a", "o", "missing"}) EXPECT_FALSE(root[key].AsString()) << key;
  for (const char* key : {"s", "t", "z", "a", "o", "missing"}) {
    EXPECT_FALSE(root[key].AsNumber()) << key;
    EXPECT_FALSE(root[key].AsInt()) << key;
  }
  for (const char* key : {"s", "n", "i", "z", "a", "o", "missing"}) EXPECT_FALSE(root[key].AsBool()) << key;
  for (const char* key : {"s", "n", "t", "z", "o", "missing"}) EXPECT_TRUE(root[key].Items().empty()) << key;
  for (const char* key : {"s", "n", "t", "z", "a", "missing"}) EXPECT_TRUE(root[key].Members().empty()) << key;
}

TEST(JsonValue, MissingIsNotNull) {
  const JsonDocument document = Parsed(R"({"z":null})");
  EXPECT_TRUE(document.root()["z"].exists());
  EXPECT_FALSE(document.root()["y"].exists());
  EXPECT_FALSE(document.root()["y"].is_null());
  EXPECT_FALSE(document.root()["y"]["x"].exists());
  EXPECT_FALSE(JsonValue().exists());
  EXPECT_FALSE(JsonValue()["x"].exists());
}

TEST(JsonValue, KeysAreComparedExactly) {
  using std::string_literals::operator""s;
  const JsonDocument document = Parsed(R"({"Name":1,"name":2,"n":3})");
  EXPECT_EQ(document.root()["Name"].AsInt(), 1);
  EXPECT_EQ(document.root()["name"].AsInt(), 2);
  EXPECT_FALSE(document.root()["NAME"].exists());
  EXPECT_FALSE(document.root()["n\0"s].exists());
  EXPECT_FALSE(document.root()[""].exists());
}

TEST(JsonValue, ItemsAndMembersKeepTheirOrder) {
  const JsonDocument document = Parsed(R"({"b":[3,1,2],"a\n":"x"})");
  const auto members = document.root().Members();
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].first, "b");
  EXPECT_EQ(members[1].first, "a\n");
  const auto items = members[0].second.Items();
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].AsInt(), 3);
  EXPECT_EQ(items[2].AsInt(), 2);
}

TEST(JsonValue, StringsAreUnescaped) {
  EXPECT_EQ(Parsed(R"("a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00z")").root().AsString(),
            "a\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(Parsed(R"("\u007f\u0080\u07ff\u0800\uffff\udbff\udfff")").root().AsString(),
            "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf");
}

TEST(JsonValue, IntIsExactOrNothing) {
  EXPECT_EQ(IntOf("0"), 0);
  EXPECT_EQ(IntOf("-0"), 0);
  EXPECT_EQ(IntOf("-12"), -12);
  EXPECT_EQ(IntOf("1.0"), 1);
  EXPECT_EQ(IntOf("1.50e1"), 15);
  EXPECT_EQ(IntOf("1e3"), 1000);
  EXPECT_EQ(IntOf("1200e-2"), 12);
  EXPECT_EQ(IntOf("0.000e999"), 0);
  EXPECT_EQ(IntOf("0.0012e4"), 12);
  EXPECT_EQ(IntOf("9007199254740992"), 9007199254740992);
  EXPECT_EQ(IntOf("-9007199254740992"), -9007199254740992);
  EXPECT_EQ(IntOf("900719925474099200000e-5"), 9007199254740992);
  for (const char* text :
       {"0.5", "1.5", "12e-1", "-0.1", "9007199254740993", "-9007199254740993", "9007199254740992.5", "1e16", "1e400",
        "-1e400", "9e18", "1.00000000000000000000000001", "0.99999999999999999999999999", "1e-400", "5e-324",
        "1e99999999999999999999", "1e-99999999999999999999", "99999999999999999999999999999999999"}) {
    EXPECT_EQ(IntOf(text), std::nullopt) << text;
  }
}

TEST(JsonValue, NumberIsTheNearestDoubleOrNothing) {
  EXPECT_EQ(NumberOf("0.1"), 0.1);
  EXPECT_EQ(NumberOf("-2.5e-3"), -2.5e-3);
  EXPECT_EQ(NumberOf("1.7976931348623157e308"), 1.7976931348623157e308);
  EXPECT_EQ(NumberOf("5e-324"), 5e-324);
  EXPECT_EQ(NumberOf("1e-400"), 0.0);
  EXPECT_EQ(NumberOf("0e999999999999"), 0.0);
  EXPECT_EQ(NumberOf("0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000025e84"),
            0.25);
  EXPECT_EQ(NumberOf("1e400"), std::nullopt);
  EXPECT_EQ(NumberOf("-1e400"), std::nullopt);
  EXPECT_EQ(NumberOf("1e99999999999999999999999999"), std::nullopt);
}

TEST(JsonValue, FallbacksStandInForMissingAndWronglyTyped) {
  const JsonDocument document = Parsed(R"({"s":"x","i":7,"b":true})");
  const JsonValue root = document.root();
  EXPECT_EQ(root["s"].StringOr("y"), "x");
  EXPECT_EQ(root["i"].StringOr("y"), "y");
  EXPECT_EQ(root["i"].IntOr(1), 7);
  EXPECT_EQ(root["s"].IntOr(1), 1);
  EXPECT_EQ(root["b"].BoolOr(false), true);
  EXPECT_EQ(root["missing"].BoolOr(true), true);
}

TEST(JsonDocument, MovesKeepViewsAlive) {
  JsonDocument first = Parsed("[1]");
  const JsonValue root = first.root();
  JsonDocument second = std::move(first);
  EXPECT_EQ(root.Items()[0].AsInt(), 1);
  second = Parsed("2");
  EXPECT_EQ(second.root().AsInt(), 2);
}

// A locale with a decimal comma, compiled for this test alone: none needs to be installed.
class JsonLocale : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/osbx-locale-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    ASSERT_EQ(std::system(("localedef -i de_DE -f UTF-8 " + folder_ + "/de_DE.UTF-8").c_str()), 0);
    ::setenv("LOCPATH", folder_.c_str(), 1);
    ASSERT_NE(setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
    ASSERT_STREQ(localeconv()->decimal_point, ",");
  }
  void TearDown() override {
    setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
    ASSERT_EQ(std::system(("rm -rf " + folder_).c_str()), 0);
  }

 private:
  std::string folder_;
};

TEST_F(JsonLocale, ChangesNothing) {
  const auto number = ParseJson(R"({"command":"true","timeoutSeconds":1.5})");
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(number->root()["timeoutSeconds"].AsNumber(), 1.5);
  EXPECT_FALSE(ParseJson("1,5").ok());
  EXPECT_EQ(JsonBuilder::Object().Set("n", int64_t{1234567}).Print(), R"({"n":1234567})");
}

}  // namespace
}  // namespace osbx::base
