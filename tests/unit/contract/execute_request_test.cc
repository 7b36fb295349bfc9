#include "contract/execute_request.h"

#include <gtest/gtest.h>

namespace osbx::contract {
namespace {

using std::chrono::milliseconds;

std::optional<milliseconds> Timeout(const std::string& number) {
  const auto request = ParseExecuteRequest("{\"command\":\"x\",\"timeoutSeconds\":" + number + "}");
  EXPECT_TRUE(request.ok()) << number << " " << request.status();
  return request.ok() ? request->timeout : milliseconds(-1);
}

TEST(ExecuteRequest, CommandAlone) {
  const auto request = ParseExecuteRequest(R"({"command":"echo \"hi\"\n\u00e9"})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->command, "echo \"hi\"\n\xC3\xA9");
  EXPECT_EQ(request->timeout, milliseconds(60000));
}

TEST(ExecuteRequest, UnknownFieldsAreIgnored) {
  const auto request = ParseExecuteRequest(R"( {"stdin":{"a":[null]},"command":"x","Command":1} )");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->command, "x");
}

TEST(ExecuteRequest, Timeouts) {
  EXPECT_EQ(Timeout("1"), milliseconds(1000));
  EXPECT_EQ(Timeout("0.25"), milliseconds(250));
  EXPECT_EQ(Timeout("0.0001"), milliseconds(1));
  EXPECT_EQ(Timeout("1e-400"), milliseconds(1));
  EXPECT_EQ(Timeout("1e9"), milliseconds(1'000'000'000'000));
  for (const char* const none : {"0", "0.0", "-0", "0e5", "1e12", "1e300", "9223372036854775807"}) {
    EXPECT_EQ(Timeout(none), std::nullopt) << none;
  }
}

TEST(ExecuteRequest, BadTimeouts) {
  for (const char* const bad : {"-1", "-0.001", "-1e-400", "-1e999", "1e999", "null", "true", "\"5\"", "[]", "{}",
                                "NaN", "Infinity", "+1", "01", ".5"}) {
    const auto request = ParseExecuteRequest(std::string("{\"command\":\"x\",\"timeoutSeconds\":") + bad + "}");
    EXPECT_EQ(base::CodeOf(request.status()), base::Code::kInvalid) << bad;
  }
}

TEST(ExecuteRequest, BadBodies) {
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("null"), std::string("[]"), std::string("\"command\""),
        std::string("{}"), std::string(R"({"command":""})"), std::string(R"({"command":null})"),
        std::string(R"({"command":5})"), std::string(R"({"command":["x"]})"), std::string(R"({"command":"a\u0000b"})"),
        std::string(R"({"command":"\ud800"})"), std::string("{\"command\":\"\xff\"}"),
        std::string(R"({"command":"a","command":"b"})"), std::string(R"({"command":"a","comm\u0061nd":"b"})"),
        std::string(R"({"command":"a"} x)"), std::string(R"({"command":"a"}{})"), std::string(R"({"command":"a",})"),
        "{\"command\":\"a\",\"deep\":" + std::string(64, '[') + std::string(64, ']') + "}"}) {
    EXPECT_EQ(base::CodeOf(ParseExecuteRequest(bad).status()), base::Code::kInvalid) << bad;
  }
  EXPECT_TRUE(
      ParseExecuteRequest("{\"command\":\"a\",\"deep\":" + std::string(63, '[') + std::string(63, ']') + "}").ok());
}

}  // namespace
}  // namespace osbx::contract
