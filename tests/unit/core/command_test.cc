#include "core/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace osbx::core {
namespace {

using base::Code;
using base::CodeOf;
using testing::HasSubstr;

Command True() {
  Command command;
  command.argv = {"true"};
  return command;
}

std::string Refusal(const Command& command) {
  const absl::Status status = ValidateCommand(command);
  if (status.ok()) return "";
  EXPECT_EQ(CodeOf(status), Code::kInvalid);
  return std::string(status.message());
}

TEST(Command, PlainOneIsFine) {
  Command command = True();
  command.argv.push_back("");
  command.argv.push_back("-rf\n\xE2\x82\xAC");
  command.env = {{"A", ""}, {"A", "b=c"}};
  command.directory = "/";
  command.timeout = std::chrono::milliseconds(1);
  command.stdin_bytes = std::string("\0\xff", 2);
  EXPECT_EQ(Refusal(command), "");
}

TEST(Command, NeedsAProgram) {
  EXPECT_THAT(Refusal(Command()), HasSubstr("argv"));
  Command command;
  command.argv = {"", "x"};
  EXPECT_THAT(Refusal(command), HasSubstr("argv"));
}

TEST(Command, ArgumentsAreTextWithoutNul) {
  for (const std::string& bad : {std::string("a\0b", 3), std::string("\xff"), std::string("\xED\xA0\x80")}) {
    Command command = True();
    command.argv.push_back(bad);
    EXPECT_THAT(Refusal(command), HasSubstr("argv"));
  }
}

TEST(Command, EnvironmentIsChecked) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"", "v"}, {"A=", "v"}, {std::string("A\0", 2), "v"}, {"\xff", "v"}, {"A", "\xff"}, {"A", {"\0", 1}}}) {
    Command command = True();
    command.env = {{key, value}};
    EXPECT_THAT(Refusal(command), HasSubstr("environment")) << key;
  }
}

TEST(Command, DirectoryIsAbsoluteAndBounded) {
  for (const std::string& bad : {std::string("x"), std::string("./x"), std::string("/a\0", 3), std::string("/\xff"),
                                 "/" + std::string(4095, 'a')}) {
    Command command = True();
    command.directory = bad;
    EXPECT_THAT(Refusal(command), HasSubstr("directory")) << bad;
  }
  EXPECT_FALSE(ValidateDirectory("").ok());
  EXPECT_TRUE(ValidateDirectory("/" + std::string(4094, 'a')).ok());
}

TEST(Command, TimeoutIsPositive) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    Command command = True();
    command.timeout = std::chrono::milliseconds(bad);
    EXPECT_THAT(Refusal(command), HasSubstr("timeout")) << bad;
  }
}

TEST(Command, IsBoundedAltogether) {
  Command command = True();
  command.env = {{"A", std::string(kMaxCommandBytes / 2, 'x')}};
  command.argv.push_back(std::string(kMaxCommandBytes / 2 - 10, 'x'));
  EXPECT_EQ(Refusal(command), "");
  command.directory = "/tmp/0123456789";
  EXPECT_THAT(Refusal(command), HasSubstr("1 MiB"));

  command = True();
  command.argv.resize(kMaxCommandBytes + 1);
  command.argv[0] = "true";
  EXPECT_THAT(Refusal(command), HasSubstr("1 MiB")) << "empty arguments count as well";
}

TEST(Command, HasStdinOnlyWhenSomethingCanCome) {
  Command command = True();
  EXPECT_FALSE(command.has_stdin());
  command.stdin_bytes = "x";
  EXPECT_TRUE(command.has_stdin());
  command.stdin_bytes.clear();
  command.stdin_reader = [](uint8_t*, size_t) { return int64_t{0}; };
  EXPECT_TRUE(command.has_stdin());
}

}  // namespace
}  // namespace osbx::core
