#include "http/head_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace osbx::http {
namespace {

using base::Code;
using base::CodeOf;
using testing::HasSubstr;

constexpr std::string_view kUpgrade =
    "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n"
    "Upgrade: tcp\r\n\r\n";

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Expects a refusal whose message contains `reason`.
void ExpectRefused(std::string_view bytes, const std::string& reason) {
  const auto head = ParseResponseHead(bytes);
  ASSERT_FALSE(head.ok()) << bytes;
  EXPECT_EQ(CodeOf(head.status()), Code::kBackend);
  EXPECT_THAT(Message(head.status()), HasSubstr(reason)) << bytes;
}

TEST(HeadParser, ReadsStatusAndHeadersInOrder) {
  const auto head = ParseResponseHead("HTTP/1.1 200 OK\r\nA: 1\r\nb:  two words \r\nA: 3\r\nEmpty:\r\n\r\nbody");
  ASSERT_TRUE(head.ok()) << head.status();
  ASSERT_TRUE(head->has_value());
  const Headers expected = {{"A", "1"}, {"b", "two words"}, {"A", "3"}, {"Empty", ""}};
  EXPECT_EQ((*head)->status, 200);
  EXPECT_EQ((*head)->headers, expected);
  EXPECT_EQ((*head)->Header("B"), "two words");
  EXPECT_EQ((*head)->Header("a"), "1");
  EXPECT_EQ((*head)->Header("missing"), "");
}

TEST(HeadParser, IsIncompleteAtEverySplitAndNeverLonger) {
  for (size_t size = 0; size < kUpgrade.size(); ++size) {
    const auto head = ParseResponseHead(kUpgrade.substr(0, size));
    ASSERT_TRUE(head.ok()) << size << ": " << head.status();
    EXPECT_FALSE(head->has_value()) << size;
  }
  const auto head = ParseResponseHead(std::string(kUpgrade) + "HTTP/1.1 200 OK\r\n\r\n");
  ASSERT_TRUE(head.ok());
  ASSERT_TRUE(head->has_value());
  EXPECT_EQ((*head)->status, 101);
  EXPECT_EQ((*head)->size, kUpgrade.size());
}

TEST(HeadParser, SkipsInterimHeadsAndCountsThem) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  const auto none = ParseResponseHead(interim);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const auto head = ParseResponseHead(interim + "HTTP/1.1 404 Not Found\r\nX: y\r\n\r\n{}");
  ASSERT_TRUE(head.ok()) << head.status();
  ASSERT_TRUE(head->has_value());
  EXPECT_EQ((*head)->status, 404);
  EXPECT_EQ((*head)->headers.size(), 1u);
  EXPECT_EQ((*head)->size, interim.size() + 32);
}

TEST(HeadParser, TakesHttp10AndAnEmptyReason) {
  for (const char* line : {"HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 \r\n\r\n"}) {
    const auto head = ParseResponseHead(line);
    ASSERT_TRUE(head.ok()) << line << head.status();
    ASSERT_TRUE(head->has_value()) << line;
    EXPECT_EQ((*head)->status, 200);
  }
}

TEST(HeadParser, RefusesWhatIsNotHttp1AtItsFirstBytes) {
  ExpectRefused("SSH-2.0", "does not begin with HTTP/1.");
  ExpectRefused("X", "does not begin with HTTP/1.");
  ExpectRefused("HTTP/2", "does not begin with HTTP/1.");
  ExpectRefused("\r\nHTTP/1.1 200 OK\r\n\r\n", "does not begin with HTTP/1.");
}

TEST(HeadParser, RefusesAStatusThatIsNone) {
  ExpectRefused("HTTP/1.1 20 OK\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 2000 OK\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 abc OK\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 099 OK\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 600 OK\r\n\r\n", "out of range");
}

TEST(HeadParser, RefusesBareLineFeeds) {
  ExpectRefused("HTTP/1.1 200 OK\nA: b\r\n", "does not end in CRLF");
  ExpectRefused("HTTP/1.1 200 OK\r\nA: b\n", "does not end in CRLF");
}

TEST(HeadParser, RefusesFoldedHeaders) {
  ExpectRefused("HTTP/1.1 200 OK\r\nA: b\r\n c", "folded");
  ExpectRefused("HTTP/1.1 200 OK\r\n\tA: b\r\n\r\n", "folded");
}

TEST(HeadParser, RefusesMalformedHeaders) {
  ExpectRefused("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "malformed");
  ExpectRefused("HTTP/1.1 200 OK\r\n: b\r\n\r\n", "malformed");
  ExpectRefused(std::string_view("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", 29), "malformed");
  ExpectRefused("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "malformed");
}

TEST(HeadParser, RefusesAnUnclearEndOfTheBody) {
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "");
  ExpectRefused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "not a number");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "Content-Length");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "Content-Length");
  ExpectRefused("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "Content-Length");
  ExpectRefused("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "transfer encoding");
  ExpectRefused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "");
}

TEST(HeadParser, BoundsTheSize) {
  const std::string head = "HTTP/1.1 200 OK\r\nA: " + std::string(1000, 'x') + "\r\n\r\n";
  EXPECT_TRUE(ParseResponseHead(head, head.size()).ok());
  const auto refused = ParseResponseHead(head, head.size() - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(Message(refused.status()), HasSubstr("too long"));
  const std::string endless = "HTTP/1.1 200 OK\r\nA: " + std::string(64 * 1024, 'x');
  EXPECT_EQ(CodeOf(ParseResponseHead(endless).status()), Code::kBackend);
}

TEST(HeadParser, BoundsTheNumberOfInterimHeads) {
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_TRUE(ParseResponseHead(bytes + "HTTP/1.1 200 OK\r\n\r\n").ok());
  ExpectRefused(bytes + "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "too many interim heads");
}

TEST(HeadParser, BoundsTheNumberOfHeaders) {
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 100; ++i) head += "A: b\r\n";
  EXPECT_TRUE(ParseResponseHead(head + "\r\n").ok());
  ExpectRefused(head + "A: b\r\n\r\n", "too many headers");
}

TEST(HeadParser, ComparesNamesByAsciiOnly) {
  EXPECT_TRUE(EqualsIgnoringCase("Content-TYPE", "content-type"));
  EXPECT_FALSE(EqualsIgnoringCase("content-typ", "content-type"));
  EXPECT_FALSE(EqualsIgnoringCase("[", "{"));
}

}  // namespace
}  // namespace osbx::http
