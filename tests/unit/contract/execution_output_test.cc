// What becomes of a command's bytes: the cap, and text that is not UTF-8.
#include "base/json.h"
#include "unit/contract/execution_test_support.h"

namespace osbx::contract {
namespace {

using testing::Runner;
using testing::TestDirectory;

constexpr size_t kCap = 1048576;
const char kBad[] = "\xEF\xBF\xBD";

class ExecutionOutput : public ::testing::Test {
 protected:
  TestDirectory directory_;
  Runner runner_{directory_.path()};
};

std::string Bytes(size_t count, const std::string& redirect) {
  return "head -c " + std::to_string(count) + " /dev/zero | tr '\\0' x " + redirect;
}

TEST_F(ExecutionOutput, TheCapIsExactOnEachStream) {
  for (const std::string redirect : {"", ">&2"}) {
    for (const size_t count : {kCap - 1, kCap, kCap + 1}) {
      const ExecutionResult result = runner_.Run(Bytes(count, redirect) + "; exit 6");
      const std::string& text = redirect.empty() ? result.stdout_text : result.stderr_text;
      EXPECT_EQ(text, std::string(std::min(count, kCap), 'x'));
      EXPECT_EQ(result.truncated, count > kCap) << count << redirect;
      EXPECT_EQ(result.exit_code, 6);
    }
  }
}

TEST_F(ExecutionOutput, OneStreamsCapIsNotTheOthers) {
  const ExecutionResult result = runner_.Run(Bytes(kCap, "") + ";" + Bytes(kCap, ">&2"));
  EXPECT_EQ(result.stdout_text.size(), kCap);
  EXPECT_EQ(result.stderr_text.size(), kCap);
  EXPECT_FALSE(result.truncated);
}

TEST_F(ExecutionOutput, MuchMoreThanTheCapIsDrained) {
  const ExecutionResult result = runner_.Run("head -c 50000000 /dev/zero; echo end >&2; exit 9");
  EXPECT_EQ(result.stdout_text, std::string(kCap, '\0'));
  EXPECT_EQ(result.stderr_text, "end\n");
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.exit_code, 9);
}

TEST_F(ExecutionOutput, EachBadByteIsReplaced) {
  EXPECT_EQ(runner_.Run("printf 'a\\377\\376b\\303'").stdout_text, std::string("a") + kBad + kBad + "b" + kBad);
  EXPECT_EQ(runner_.Run("printf '\\355\\240\\200' >&2").stderr_text, std::string(kBad) + kBad + kBad);
}

TEST_F(ExecutionOutput, ACharacterInTwoReadsIsWhole) {
  // Most halves are read alone; what is right does not depend on it.
  const ExecutionResult result =
      runner_.Run("for i in 1 2 3 4 5; do printf '\\342\\202'; sleep 0.01; printf '\\254'; done");
  EXPECT_EQ(result.stdout_text, "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
}

TEST_F(ExecutionOutput, ACharacterThatTheCapCutsIsDropped) {
  for (size_t inside = 1; inside <= 3; ++inside) {
    const ExecutionResult result = runner_.Run(Bytes(kCap - inside, "") + "; printf '\\360\\237\\230\\200tail'");
    EXPECT_EQ(result.stdout_text, std::string(kCap - inside, 'x')) << inside;
    EXPECT_TRUE(result.truncated);
  }
  const ExecutionResult whole = runner_.Run(Bytes(kCap - 4, "") + "; printf '\\360\\237\\230\\200tail'");
  EXPECT_EQ(whole.stdout_text, std::string(kCap - 4, 'x') + "\xF0\x9F\x98\x80");
  EXPECT_TRUE(whole.truncated);
}

TEST_F(ExecutionOutput, AnUnfinishedCharacterAtTheRealEndIsBad) {
  const ExecutionResult result = runner_.Run(Bytes(kCap - 2, "") + "; printf '\\342\\202'");
  EXPECT_EQ(result.stdout_text, std::string(kCap - 2, 'x') + kBad + kBad);
  EXPECT_FALSE(result.truncated);
}

TEST_F(ExecutionOutput, NulAndControlCharactersMakeValidJson) {
  const ExecutionResult result = runner_.Run("printf 'a\\001\\033b\\177\\\\\"'");
  const auto json = base::ParseJson(ToJson(result));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->root()["stdout"].AsString(),
            "a\x01\x1b"
            "b\x7f\\\"");
  // Our own reader takes no NUL.
  EXPECT_NE(ToJson(runner_.Run("printf 'a\\000b'")).find("\"stdout\":\"a\\u0000b\""), std::string::npos);
}

}  // namespace
}  // namespace osbx::contract
