#include "http/head_check.h"

#include <gtest/gtest.h>

#include <string>

namespace osbx::http {
namespace {

using base::HttpStatusOf;

TEST(HeadScanner, FindsTheEndAtItsLastByteOnly) {
  const std::string head = "GET / HTTP/1.1\r\nA: b\tc\r\n\r\n";
  HeadScanner scanner;
  for (size_t size = 0; size < head.size(); ++size) {
    const auto end = scanner.FindEnd(head.substr(0, size));
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end, 0u) << size;
  }
  const auto end = scanner.FindEnd(head + "more\n");
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(*end, head.size());
}

TEST(HeadScanner, RefusesAtTheFirstBadByte) {
  for (const std::string& start :
       {std::string("\n"), std::string("a\n"), std::string("a\rb"), std::string("a\r\r"), std::string("a\r\n "),
        std::string("a\r\n\t"), std::string("a\0", 2), std::string("a\x1f"), std::string("a\x7f")}) {
    HeadScanner scanner;
    const auto before = scanner.FindEnd(start.substr(0, start.size() - 1));
    ASSERT_TRUE(before.ok()) << start;
    EXPECT_EQ(HttpStatusOf(scanner.FindEnd(start).status()), 400) << start;
  }
  EXPECT_TRUE(HeadScanner().FindEnd("a\x80\xff: b\r\n").ok());
}

TEST(CheckFraming, SaysWhereTheBodyEnds) {
  const auto none = CheckFraming({{"A", "b"}}, 11);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->content_length.has_value() || none->chunked);
  const auto length = CheckFraming({{"content-LENGTH", "007"}}, 10);
  ASSERT_TRUE(length.ok());
  EXPECT_EQ(length->content_length, std::optional<uint64_t>(7));
  const auto longest = CheckFraming({{"Content-Length", "999999999999999999"}}, 10);
  ASSERT_TRUE(longest.ok());
  EXPECT_EQ(longest->content_length, std::optional<uint64_t>(999'999'999'999'999'999));
  const auto chunked = CheckFraming({{"transfer-encoding", "CHUNKED"}}, 11);
  ASSERT_TRUE(chunked.ok());
  EXPECT_TRUE(chunked->chunked);
}

TEST(CheckFraming, RefusesWhatIsAmbiguous) {
  const Headers bad[] = {
      {{"Content-Length", "3"}, {"Content-Length", "3"}},
      {{"Content-Length", "3, 3"}},
      {{"Content-Length", ""}},
      {{"Content-Length", "1000000000000000000"}},
      {{"Content-Length", "3 "}},
      {{"Content-Length", "3"}, {"Transfer-Encoding", "chunked"}},
      {{"Content-Length", "3"}, {"Transfer-Encoding", "xchunked"}},
      {{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}},
      {{"Transfer-Encoding", ""}},
      {{"Transfer-Encoding", "chunked;q=1"}},
  };
  for (const Headers& headers : bad) {
    EXPECT_EQ(HttpStatusOf(CheckFraming(headers, 11).status()), 400) << headers[0].first << headers[0].second;
  }
  EXPECT_EQ(HttpStatusOf(CheckFraming({{"Transfer-Encoding", "chunked"}}, 10).status()), 400);
}

TEST(CheckHost, OneAtMostAndOneAtLeast) {
  EXPECT_TRUE(CheckHost({{"HOST", ""}}, 11).ok());
  EXPECT_TRUE(CheckHost({}, 10).ok());
  EXPECT_EQ(HttpStatusOf(CheckHost({}, 11)), 400);
  EXPECT_EQ(HttpStatusOf(CheckHost({{"Host", "a"}, {"host", "a"}}, 10)), 400);
}

TEST(CheckVersion, KnowsTwo) {
  EXPECT_TRUE(CheckVersion("GET / HTTP/1.1").ok());
  EXPECT_TRUE(CheckVersion("GET / HTTP/1.0").ok());
  for (const char* line : {"GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9"}) {
    EXPECT_EQ(HttpStatusOf(CheckVersion(line)), 505) << line;
  }
  for (const char* line :
       {"", "GET /", "GET / http/1.1", "GET / HTTP/1.10", "GET / HTTP/2", "GET / HTTP/1.1 ", "HTTP/1"}) {
    EXPECT_EQ(HttpStatusOf(CheckVersion(line)), 400) << line;
  }
}

TEST(CheckChunkLine, ReadsASizeOfFifteenDigits) {
  const auto line = CheckChunkLine("00000000000001f\r\ndata");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->bytes, 17u);
  EXPECT_EQ(line->size, 31u);
  const auto extended = CheckChunkLine("aB;c=\"d\"\r\n");
  ASSERT_TRUE(extended.ok());
  EXPECT_EQ(extended->bytes, 10u);
  EXPECT_EQ(extended->size, 0xabu);
  for (const char* part : {"", "1", "1f", "1;", "1;a", "1\r"}) {
    const auto incomplete = CheckChunkLine(part);
    ASSERT_TRUE(incomplete.ok()) << part;
    EXPECT_EQ(incomplete->bytes, 0u) << part;
  }
}

TEST(CheckChunkLine, RefusesAnythingElse) {
  for (const std::string& line :
       {std::string("0x5\r\n"), std::string("+5\r\n"), std::string(" 5\r\n"), std::string("5 \r\n"),
        std::string("\r\n"), std::string(";a\r\n"), std::string("-1\r\n"), std::string("5\n"),
        std::string("5;a\nb\r\n"), std::string("5;a\rb\r\n"), std::string("5;\0\r\n", 5), std::string("5,5\r\n"),
        std::string("0000000000000005"), "5;" + std::string(kMaxChunkLine - 2, 'x')}) {
    EXPECT_EQ(HttpStatusOf(CheckChunkLine(line).status()), 400) << line;
  }
}

}  // namespace
}  // namespace osbx::http
