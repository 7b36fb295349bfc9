#include "transport/body_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;

http::ResponseHead Head(const std::string& header, int status = 500) {
  const std::string text = "HTTP/1.1 " + std::to_string(status) + " X\r\n" + header + "\r\n";
  const auto head = http::ParseResponseHead(text);
  EXPECT_TRUE(head.ok() && head->has_value());
  return **head;
}

const std::string kChunked = "Transfer-Encoding: chunked\r\n";

TEST(BodyDecoder, CountsToTheContentLength) {
  BodyDecoder decoder(Head("Content-Length: 5\r\n"), 100);
  EXPECT_FALSE(decoder.done());
  ASSERT_TRUE(decoder.Feed("ab").ok());
  EXPECT_FALSE(decoder.done());
  ASSERT_TRUE(decoder.Feed("cdeXYZ").ok());
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(decoder.TakeBody(), "abcde");
  EXPECT_TRUE(BodyDecoder(Head("Content-Length: 0\r\n"), 100).done());
  EXPECT_TRUE(BodyDecoder(Head("", 204), 100).done());
}

TEST(BodyDecoder, JoinsChunksAtEverySplit) {
  const std::string text = "4\r\nWiki\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  for (size_t split = 0; split <= text.size(); ++split) {
    BodyDecoder decoder(Head(kChunked), 100);
    ASSERT_TRUE(decoder.Feed(text.substr(0, split)).ok()) << split;
    EXPECT_EQ(decoder.done(), split == text.size());
    ASSERT_TRUE(decoder.Feed(text.substr(split)).ok()) << split;
    EXPECT_TRUE(decoder.done());
    EXPECT_EQ(decoder.TakeBody(), "Wiki0123456789");
  }
}

TEST(BodyDecoder, RefusesMalformedChunks) {
  const std::vector<std::string> malformed = {
      "x\r\n",
      "\r\n",
      "1\nA",
      "1\r\nAB",
      "1\r\nA\n",
      "1 2\r\n",
      "-1\r\n",
      "ffffffffffffffff\r\n",
      std::string(300, '1'),
      "1;" + std::string(300, 'e') + "\r\n",
  };
  for (const std::string& text : malformed) {
    BodyDecoder decoder(Head(kChunked), 100);
    EXPECT_EQ(CodeOf(decoder.Feed(text + "\r\n\r\n")), Code::kBackend) << text;
  }
}

TEST(BodyDecoder, BoundsTheBodyAndTheTrailers) {
  BodyDecoder counted(Head("Content-Length: 6\r\n"), 5);
  EXPECT_EQ(CodeOf(counted.Feed("abcdef")), Code::kTooLarge);
  BodyDecoder until_end(Head(""), 5);
  ASSERT_TRUE(until_end.Feed("abcde").ok());
  EXPECT_EQ(CodeOf(until_end.Feed("f")), Code::kTooLarge);
  BodyDecoder trailers(Head(kChunked), 5);
  ASSERT_TRUE(trailers.Feed("0\r\n").ok());
  absl::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) status = trailers.Feed("A: b\r\n");
  EXPECT_EQ(CodeOf(status), Code::kBackend);
}

TEST(BodyDecoder, ReadsToTheEndWhereNothingIsSaid) {
  BodyDecoder decoder(Head(""), 100);
  ASSERT_TRUE(decoder.Feed("all of it").ok());
  EXPECT_FALSE(decoder.done());
  EXPECT_EQ(decoder.TakeBody(), "all of it");
}

}  // namespace
}  // namespace osbx::transport
