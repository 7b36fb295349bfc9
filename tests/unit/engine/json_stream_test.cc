#include "engine/json_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

struct Splitter {
  JsonStream stream;
  std::vector<std::string> seen;  // the member "k" of each object
  absl::Status Feed(std::string_view bytes) {
    return stream.Feed(bytes, [this](base::JsonValue object) {
      seen.push_back(object["k"].StringOr("?"));
      return true;
    });
  }
};

using Strings = std::vector<std::string>;

constexpr char kText[] =
    "{\"k\":\"a\"}\r\n"
    "\n"
    "{\"k\":\"b}{\\\"\\\\\"} {\"k\":\"c\",\"x\":[{\"y\":{}},[]]}{\"k\":\"d\"}\n"
    "  \t\n"
    "{\"k\":\"\xe2\x98\x95\"}";

TEST(JsonObjectStream, FindsEveryObjectWhereverTheBytesAreCut) {
  const std::string text = kText;
  const Strings expected = {"a", "b}{\"\\", "c", "d", "\xe2\x98\x95"};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    Splitter splitter;
    for (size_t at = 0; at < text.size(); at += piece) ASSERT_TRUE(splitter.Feed(text.substr(at, piece)).ok());
    EXPECT_EQ(splitter.seen, expected) << "in pieces of " << piece;
    EXPECT_TRUE(splitter.stream.Finish().ok());
  }
}

TEST(JsonObjectStream, TakesALineOfAMebibyte) {
  const std::string value(size_t{1} << 20, 'x');
  const std::string text = "{\"k\":\"" + value + "\"}\n{\"k\":\"next\"}";
  Splitter splitter;
  for (size_t at = 0; at < text.size(); at += 16384) ASSERT_TRUE(splitter.Feed(text.substr(at, 16384)).ok());
  EXPECT_EQ(splitter.seen, (Strings{value, "next"}));
}

TEST(JsonObjectStream, RefusesAnObjectThatNeverEnds) {
  Splitter splitter;
  ASSERT_TRUE(splitter.Feed("{\"k\":\"").ok());
  const std::string chunk(65536, 'x');
  absl::Status status;
  int chunks = 0;
  while (status.ok() && ++chunks < 100) status = splitter.Feed(chunk);
  EXPECT_EQ(base::CodeOf(status), Code::kBackend);
  EXPECT_LE(chunks * chunk.size(), JsonStream::kMaxObject + chunk.size());
  EXPECT_FALSE(splitter.Feed("{}").ok()) << "it stays failed";
  EXPECT_FALSE(splitter.stream.Finish().ok());
}

TEST(JsonObjectStream, RefusesAnObjectThatIsTooLongInOnePiece) {
  Splitter splitter;
  EXPECT_FALSE(splitter.Feed("{\"k\":\"" + std::string(JsonStream::kMaxObject, 'x') + "\"}").ok());
  EXPECT_TRUE(splitter.seen.empty());
}

TEST(JsonObjectStream, RefusesWhatIsNoObject) {
  for (const char* bad : {"null", "[{}]", "\"{}\"", "1", "}", "<html>", "\xef\xbb\xbf{}", "{]", "{\"k\":}",
                          "{\"k\" \"v\"}", "{\"k\":\"v\",}", "{\"k\":1,\"k\":2}", "{\"k\":\"\x01\"}"}) {
    Splitter splitter;
    EXPECT_EQ(base::CodeOf(splitter.Feed(bad)), Code::kBackend) << bad;
  }
}

TEST(JsonObjectStream, NoticesAnEndInsideAnObject) {
  for (const char* cut : {"{", "{\"k\":\"a\"}\n{\"k", "{\"k\":\"a}", "{\"k\":{}"}) {
    Splitter splitter;
    ASSERT_TRUE(splitter.Feed(cut).ok());
    EXPECT_EQ(base::CodeOf(splitter.stream.Finish()), Code::kBackend) << cut;
  }
  Splitter empty;
  EXPECT_TRUE(empty.stream.Finish().ok());
}

TEST(JsonObjectStream, StopsWhereTheSinkSaysSo) {
  JsonStream stream;
  int seen = 0;
  const auto stop_at_second = [&seen](base::JsonValue) { return ++seen < 2; };
  EXPECT_TRUE(stream.Feed("{}{}{}{}", stop_at_second).ok());
  EXPECT_TRUE(stream.Feed("{}{}", stop_at_second).ok());
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(stream.stopped());
}

TEST(JsonStreamAnswer, SaysFirstWhatWasWrongWithTheStream) {
  JsonStreamBody body;
  EXPECT_FALSE(body.OnBody("oops", [](base::JsonValue) { return true; }));
  EXPECT_FALSE(body.OnBody("{}", [](base::JsonValue) { return true; }));
  const absl::Status status = body.Finish(base::Error(Code::kCallback, "ended by the receiver"), "call");
  EXPECT_EQ(base::CodeOf(status), Code::kBackend);
  EXPECT_EQ(std::string(status.message()), "call: expected an object");
}

TEST(JsonStreamAnswer, ReadsAnHttpErrorLikeAnyOther) {
  JsonStreamBody body;
  const absl::Status status = body.Finish(Answer(404, R"({"message":"gone"})"), "call");
  EXPECT_EQ(base::CodeOf(status), Code::kNotFound);
  EXPECT_EQ(std::string(status.message()), "call: gone");
}

}  // namespace
}  // namespace osbx::engine
