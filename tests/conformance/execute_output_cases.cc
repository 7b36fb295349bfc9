// POST /execute: what of a command's output is in the answer.
#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

class Output : public Case {};

constexpr size_t kCap = size_t{1} << 20;
constexpr char kReplacement[] = "\xef\xbf\xbd";

std::string Repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

CONTRACT(Output, TheCap, "`stdout` and `stderr` hold at most 1 MiB (1,048,576 bytes of raw output) each.",
         "Output of exactly 1 MiB is not truncated.",
         "Past 1 MiB `truncated` is true, the command runs on to its end, and `exitCode` is its own.") {
  for (const size_t size : {kCap - 1, kCap, kCap + 1, 3 * kCap}) {
    for (const char* stream : {"1", "2"}) {
      const Ran ran = Shell(Helper("bytes " + std::to_string(size) + " " + stream) + " && exit 7");
      ASSERT_TRUE(ran.complete) << ran;
      const std::string& text = *stream == '1' ? ran.out : ran.err;
      const std::string& other = *stream == '1' ? ran.err : ran.out;
      EXPECT_EQ(ran.exit_code, 7) << size;
      EXPECT_EQ(text.size(), std::min(size, kCap)) << stream;
      EXPECT_EQ(text.find_first_not_of('x'), std::string::npos);
      EXPECT_EQ(other, "");
      EXPECT_EQ(ran.truncated, size > kCap) << size;
    }
  }
  const Ran both = Shell(Helper("bytes 1048576 1") + "; " + Helper("bytes 1048576 2"));
  EXPECT_EQ(both.out.size(), kCap);
  EXPECT_EQ(both.err.size(), kCap);
  EXPECT_FALSE(both.truncated);
}

CONTRACT(Output, BoundedMemory, "The server's memory stays bounded however much a command prints.") {
  NEEDS(kProcess);
  Shell(Helper("bytes 2000000"));
  const int64_t before = PeakMemoryKibibytes(SharedServer().pid());
  ASSERT_GT(before, 0);
  const Ran ran = Shell(Helper("bytes 268435456") + " && " + Helper("bytes 67108864 2"));
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_TRUE(ran.truncated);
  EXPECT_LT(PeakMemoryKibibytes(SharedServer().pid()) - before, 64 << 10);
}

CONTRACT(Output, NotUtf8, "Each byte that is not valid UTF-8 becomes U+FFFD, and the answer is valid JSON.") {
  struct {
    const char* printed;  // for printf
    std::string told;     // R stands for U+FFFD
  } const cases[] = {
      {"a\\377b", "aRb"},
      {"\\200", "R"},
      {"\\300\\257", "RR"},
      {"\\355\\240\\200", "RRR"},
      {"\\364\\220\\200\\200", "RRRR"},
      {"\\360\\237\\230", "RRR"},
      {"\\342\\202", "RR"},
      {"\\342\\202x", "RRx"},
      {"\\303", "R"},
      {"\\303\\251", "\xc3\xa9"},
      {"\\360\\237\\230\\200", "\xf0\x9f\x98\x80"},
      {"\\357\\277\\277", "\xef\xbf\xbf"},
      {"\\001\\037\\\\\"\\r\\n\\t\\177", "\x01\x1f\\\"\r\n\t\x7f"},
  };
  for (const auto& each : cases) {
    std::string expected;
    for (const char c : each.told) {
      if (c == 'R') {
        expected += kReplacement;
      } else {
        expected += c;
      }
    }
    const Ran out = Shell(std::string("printf '") + each.printed + "'");
    EXPECT_EQ(out.out, expected) << each.printed << " " << out;
    const Ran err = Shell(std::string("printf '") + each.printed + "' >&2");
    EXPECT_EQ(err.err, expected) << each.printed;
  }
  const Ran nul = Shell("printf 'a\\000b'");
  EXPECT_EQ(nul.out, std::string("a\0b", 3));
}

CONTRACT(Output, WholeCharacters, "A character that arrives in pieces is kept whole.",
         "A character that the cap would cut is left out.") {
  const Ran pieces = Shell(Helper("euros 200000"));
  EXPECT_TRUE(pieces.out == "x" + Repeated("\xe2\x82\xac", 200'000)) << pieces.out.size();
  EXPECT_FALSE(pieces.truncated);
  // 1 + 3 * 349,525 is the cap exactly; with a byte more before it the last character is cut after two bytes, with two
  // after one.
  for (const size_t before : {0, 1, 2}) {
    const Ran ran = Shell("printf '" + std::string(before, ' ') + "'; " + Helper("euros 349525"));
    const size_t whole = before == 0 ? 349'525 : 349'524;
    EXPECT_TRUE(ran.out == std::string(before, ' ') + "x" + Repeated("\xe2\x82\xac", whole)) << ran.out.size();
    EXPECT_EQ(ran.truncated, before != 0);
  }
}

}  // namespace
}  // namespace osbx::conformance
