// Requests and answers over one connection.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "unit/http/server_test_support.h"

namespace osbx::http {
namespace {

using testing::Client;
using testing::Echo;
using testing::Event;
using testing::Response;
using testing::Text;

constexpr const char* kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

std::string Put(const std::string& fields, const std::string& body = "") {
  return "PUT /a HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}

class ServerExchangeTest : public testing::ServerTest {};

TEST_F(ServerExchangeTest, ListensWhereItSays) {
  const auto stop = Listen(Echo, {}, "");
  EXPECT_TRUE(server_->address() == "[::]:" + std::to_string(server_->port()) ||
              server_->address() == "0.0.0.0:" + std::to_string(server_->port()))
      << server_->address();
  EXPECT_EQ(Connect().Ask(kGet).body, "GET /a ");
  const auto again =
      Server::Listen(loop_, "", server_->port(), {}, Echo, [](int, const std::string&) { return Answer(); });
  EXPECT_EQ(base::CodeOf(again.status()), base::Code::kConflict) << again.status();
  const auto bad = Server::Listen(loop_, "localhost", 0, {}, Echo, [](int, const std::string&) { return Answer(); });
  EXPECT_EQ(base::CodeOf(bad.status()), base::Code::kInvalid);
}

TEST_F(ServerExchangeTest, GivesTheHandlerTheRequest) {
  Request seen;
  const auto stop = Listen([&seen](const std::shared_ptr<Exchange>& exchange) {
    seen = exchange->request();
    exchange->Respond(Text("x"));
  });
  Client client = Connect();
  EXPECT_EQ(client.Ask("BREW /a%20b?c HTTP/1.1\r\nHost: h\r\nA:  b c \r\nContent-Length: 0\r\n\r\n").status, 200);
  const Headers expected = {{"Host", "h"}, {"A", "b c"}, {"Content-Length", "0"}};
  EXPECT_EQ(seen.method, "BREW");
  EXPECT_EQ(seen.target, "/a%20b?c");
  EXPECT_EQ(seen.version, 11);
  EXPECT_EQ(seen.headers, expected);
  EXPECT_EQ(seen.content_length, std::optional<uint64_t>(0));
  EXPECT_EQ(client.Ask("GET http://h:1/b?c HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  EXPECT_EQ(seen.target, "/b?c");
  EXPECT_EQ(seen.content_length, std::nullopt);
  EXPECT_EQ(client.Ask("GET HTTPS://h?c HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  EXPECT_EQ(seen.target, "/?c");
  EXPECT_EQ(client.Ask("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  EXPECT_EQ(seen.target, "*");
}

TEST_F(ServerExchangeTest, WritesTheWholeHead) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond({404, {{"A", "b"}, {"Content-Length", "9"}, {"Connection", "x"}, {"C", "d\r\nE: f"}}, "no"});
  });
  EXPECT_EQ(Connect().Ask(kGet).head, "HTTP/1.1 404 Not Found\r\nA: b\r\nContent-Length: 2\r\n\r\n");
}

TEST_F(ServerExchangeTest, KeepsTheConnection) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  for (int i = 0; i < 3; ++i) {
    const Response response = client.Ask(Put("Content-Length: 2\r\n", "hi"));
    EXPECT_EQ(response.body, "PUT /a hi");
    EXPECT_FALSE(response.Has("Connection"));
  }
  EXPECT_TRUE(client.Ask("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n").Has("Connection: close\r\n"));
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerExchangeTest, KeepsAnHttp10ConnectionOnlyWhenAsked) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(client.Ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").Has("Connection: keep-alive\r\n"));
  }
  EXPECT_TRUE(client.Ask("GET /a HTTP/1.0\r\n\r\n").Has("Connection: close\r\n"));
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerExchangeTest, AnswersAThousandPipelinedRequestsInOrder) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  std::string all;
  for (int i = 0; i < 1000; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_TRUE(client.Send(all));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.Read().body, "GET /" + std::to_string(i) + " ");
  EXPECT_EQ(client.Ask(kGet).body, "GET /a ");
}

TEST_F(ServerExchangeTest, AnswersPipelinedRequestsOfAClientThatHasEndedSending) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  ASSERT_TRUE(client.Send(std::string(kGet) + Put("Content-Length: 1\r\n", "x") + "GET /cut"));
  client.EndSending();
  EXPECT_EQ(client.Read().body, "GET /a ");
  EXPECT_EQ(client.Read().body, "PUT /a x");
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerExchangeTest, MeasuresABodyForHeadAndSendsNone) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/pieces") return exchange->BeginAnswer(200, {}, uint64_t{5} << 30);
    exchange->Respond(Text("four"));
  });
  Client client = Connect();
  ASSERT_TRUE(client.Send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(client.Read(/*bodyless=*/true).Has("Content-Length: 4\r\n"));
  ASSERT_TRUE(client.Send("HEAD /pieces HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(client.Read(/*bodyless=*/true).Has("Content-Length: 5368709120\r\n"));
  EXPECT_EQ(client.Ask(kGet).body, "four");
}

TEST_F(ServerExchangeTest, NoContentHasNoLength) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) { exchange->Respond({204, {}, "ignored"}); });
  Client client = Connect();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Ask(kGet).head, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_F(ServerExchangeTest, SendsAnAnswerInPieces) {
  Event written;
  const auto stop = Listen([&written](const std::shared_ptr<Exchange>& exchange) {
    exchange->BeginAnswer(200, {{"A", "b"}}, 6);
    exchange->WriteBody("abc", [exchange, &written](bool first) {
      EXPECT_TRUE(first);
      exchange->WriteBody("def", [&written](bool second) {
        EXPECT_TRUE(second);
        written.Set();
      });
    });
  });
  Client client = Connect();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Ask(kGet).body, "abcdef");
  EXPECT_TRUE(written.Wait());
}

TEST_F(ServerExchangeTest, AnAnswerLongerThanAnnouncedIsCutOff) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) {
    exchange->BeginAnswer(200, {}, 2);
    exchange->WriteBody("abc", [](bool written) { EXPECT_FALSE(written); });
  });
  EXPECT_EQ(Connect().Ask(kGet).status, 0);
}

TEST_F(ServerExchangeTest, TakesAChunkedBodySplitAtEveryByte) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  const std::string request = Put("Transfer-Encoding: Chunked\r\n",
                                  "5;a=b\r\nhello\r\n01\r\n \r\nA;x=\"y\"\r\n0123456789\r\n00;z\r\nT: v\r\n\r\n");
  for (size_t split = 0; split <= request.size(); ++split) {
    ASSERT_TRUE(client.Send(request.substr(0, split)));
    Settle();
    ASSERT_TRUE(client.Send(request.substr(split)));
    ASSERT_EQ(client.Read().body, "PUT /a hello 0123456789") << split;
  }
}

TEST_F(ServerExchangeTest, TellsAClientThatWaitsToGoOn) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  const std::string head = Put("Expect: 100-Continue\r\nContent-Length: 2\r\n");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.Ask(head).head, "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(client.Ask("hi").body, "PUT /a hi");
  }
  // Who did not wait is not told; nor is who has no body, or speaks HTTP/1.0.
  EXPECT_EQ(client.Ask(head + "hi").body, "PUT /a hi");
  EXPECT_EQ(client.Ask("GET /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n").body, "GET /a ");
  ASSERT_TRUE(client.Send("PUT /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  Settle();
  EXPECT_EQ(client.Ask("hi").body, "PUT /a hi");
}

TEST_F(ServerExchangeTest, AnUnreadBodyNeverBecomesARequest) {
  const auto stop = Listen(
      [](const std::shared_ptr<Exchange>& exchange) { exchange->Respond(Text(exchange->request().method, 409)); });
  const std::string hidden = "DELETE /b HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  {  // small, and there already
    Client client = Connect();
    EXPECT_EQ(client.Ask(Put(length, hidden)).body, "PUT");
    EXPECT_EQ(client.Ask(kGet).body, "GET");
  }
  {  // small, and still to come
    Client client = Connect();
    EXPECT_FALSE(client.Ask(Put(length)).Has("close"));
    EXPECT_EQ(client.Ask(hidden + kGet).body, "GET");
  }
  {  // chunked, and there already
    Client client = Connect();
    EXPECT_EQ(client.Ask(Put("Transfer-Encoding: chunked\r\n", "2\r\nhi\r\n0\r\n\r\n")).body, "PUT");
    EXPECT_EQ(client.Ask(kGet).body, "GET");
  }
  {  // chunked, of unknown size
    Client client = Connect();
    EXPECT_TRUE(client.Ask(Put("Transfer-Encoding: chunked\r\n", "2\r\nhi")).Has("Connection: close\r\n"));
    EXPECT_TRUE(client.Ends());
  }
  {  // large
    Client client = Connect();
    EXPECT_TRUE(client.Ask(Put("Content-Length: 1000000\r\n", hidden)).Has("Connection: close\r\n"));
    client.Send(hidden);
    EXPECT_TRUE(client.Ends());
  }
  {  // not sent, for want of a 100
    Client client = Connect();
    EXPECT_TRUE(client.Ask(Put("Expect: 100-continue\r\nContent-Length: 2\r\n")).Has("Connection: close\r\n"));
    EXPECT_TRUE(client.Ends());
  }
}

TEST_F(ServerExchangeTest, AnExchangeThatIsDroppedClosesItsConnection) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>&) {});
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerExchangeTest, AHandlerThatThrowsCostsItsConnectionOnly) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/a") throw std::bad_alloc();
    if (exchange->request().target == "/body") {
      return exchange->ReadBody([exchange](const absl::StatusOr<std::string>&) { throw std::bad_alloc(); });
    }
    exchange->Respond(Text("lives"));
  });
  Client client = Connect();
  EXPECT_EQ(client.Ask(kGet).status, 500);
  EXPECT_TRUE(client.Ends());
  Client second = Connect();
  ASSERT_TRUE(second.Send("GET /body HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(second.Ends());
  EXPECT_EQ(Connect().Ask("GET /b HTTP/1.1\r\nHost: h\r\n\r\n").body, "lives");
}

}  // namespace
}  // namespace osbx::http
