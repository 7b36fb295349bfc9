// What HTTP itself refuses: exactly one answer, then the end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/http/server_test_support.h"

namespace osbx::http {
namespace {

using testing::Client;
using testing::Echo;
using testing::Response;

struct Refused {
  const char* name;
  int status;
  std::string bytes;
};

std::string Get(const std::string& fields, const std::string& version = "HTTP/1.1") {
  return "GET /a " + version + "\r\n" + fields + "\r\n";
}
std::string Put(const std::string& fields, const std::string& body) {
  return "PUT /a HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}
std::string Chunked(const std::string& body) { return Put("Transfer-Encoding: chunked\r\n", body); }

std::vector<Refused> AmbiguousFraming() {
  return {
      {"both", 400, Put("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"both, turned", 400, Put("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")},
      {"differing lengths", 400, Put("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd")},
      {"repeated length", 400, Put("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")},
      {"listed length", 400, Put("Content-Length: 3, 3\r\n", "abc")},
      {"signed length", 400, Put("Content-Length: +3\r\n", "abc")},
      {"negative length", 400, Put("Content-Length: -3\r\n", "abc")},
      {"hexadecimal length", 400, Put("Content-Length: 0x3\r\n", "abc")},
      {"empty length", 400, Put("Content-Length:\r\n", "abc")},
      {"length of many digits", 400, Put("Content-Length: 0000000000000000003\r\n", "abc")},
      {"other encoding", 400, Put("Transfer-Encoding: gzip\r\n", "")},
      {"encoding beside a length", 400, Put("Content-Length: 3\r\nTransfer-Encoding: gzip\r\n", "abc")},
      {"xchunked beside a length", 400, Put("Content-Length: 3\r\nTransfer-Encoding: xchunked\r\n", "abc")},
      {"encodings", 400, Put("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
      {"chunked twice", 400, Put("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n")},
      {"two encodings", 400, Put("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"encoding in HTTP/1.0", 400, "PUT /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"two hosts", 400, Get("Host: a\r\nHost: b\r\n")},
      {"no host", 400, Get("")},
      {"bare line feed", 400, "GET /a HTTP/1.1\nHost: h\r\n\r\n"},
      {"bare line feed behind a field", 400, "GET /a HTTP/1.1\r\nHost: h\n\r\n"},
      {"bare carriage return", 400, Get("Host: h\r\nA: b\rc\r\n")},
      {"space before the colon", 400, Get("Host: h\r\nContent-Length : 3\r\n")},
      {"no colon", 400, Get("Host: h\r\nabc\r\n")},
      {"no name", 400, Get("Host: h\r\n: b\r\n")},
      {"folded", 400, Get("Host: h\r\nA: b\r\n c\r\n")},
      {"folded first", 400, Get(" Host: h\r\n")},
      {"NUL in a value", 400, Get(std::string("Host: h\r\nA: b\0c\r\n", 17))},
      {"control character in a value", 400, Get("Host: h\r\nA: b\x01\r\n")},
      {"control character in a target", 400, "GET /a\x7f HTTP/1.1\r\nHost: h\r\n\r\n"},
  };
}

std::vector<Refused> BadChunks() {
  return {
      {"0x", 400, Chunked("0x3\r\nabc\r\n0\r\n\r\n")},
      {"plus", 400, Chunked("+3\r\nabc\r\n0\r\n\r\n")},
      {"minus", 400, Chunked("-3\r\nabc\r\n0\r\n\r\n")},
      {"space in front", 400, Chunked(" 3\r\nabc\r\n0\r\n\r\n")},
      {"space behind", 400, Chunked("3 \r\nabc\r\n0\r\n\r\n")},
      {"many digits", 400, Chunked("00000000000000003\r\nabc\r\n0\r\n\r\n")},
      {"overflow", 400, Chunked("10000000000000003\r\nabc\r\n0\r\n\r\n")},
      {"no digit", 400, Chunked("\r\nabc\r\n0\r\n\r\n")},
      {"no hexadecimal digit", 400, Chunked("g\r\nabc\r\n0\r\n\r\n")},
      {"bare line feed", 400, Chunked("3\nabc\r\n0\r\n\r\n")},
      {"bare line feed in an extension", 400, Chunked("3;a=\nb\r\nabc\r\n0\r\n\r\n")},
      {"bare line feed behind the data", 400, Chunked("3\r\nabc\n0\r\n\r\n")},
      {"too much data", 400, Chunked("3\r\nabcd\r\n0\r\n\r\n")},
      {"too little data", 400, Chunked("3\r\nab\r\n0\r\n\r\n")},
      {"long extension", 400, Chunked("3;a=" + std::string(300, 'x') + "\r\nabc\r\n0\r\n\r\n")},
      {"folded trailer", 400, Chunked("0\r\nA: b\r\n c\r\n\r\n")},
      {"trailer without colon", 400, Chunked("0\r\nabc\r\n\r\n")},
      {"length in the trailer", 400, Chunked("0\r\nContent-Length: 3\r\n\r\n")},
      {"long trailer", 431, Chunked("0\r\nA: " + std::string(9000, 'x') + "\r\n\r\n")},
  };
}

std::vector<Refused> BadRequests() {
  std::string many;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  return {
      {"long target", 431, "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"long field", 431, Get("Host: h\r\nA: " + std::string(20000, 'a') + "\r\n")},
      {"many fields", 431, Get("Host: h\r\n" + many)},
      {"HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"HTTP/1.2", 505, Get("Host: h\r\n", "HTTP/1.2")},
      {"HTTP/0.9 in full", 505, Get("Host: h\r\n", "HTTP/0.9")},
      {"no version", 400, "GET /a\r\nHost: h\r\n\r\n"},
      {"other protocol", 400, Get("Host: h\r\n", "HTTQ/1.1")},
      {"lower case protocol", 400, Get("Host: h\r\n", "http/1.1")},
      {"method that is none", 400, "G(T /a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"relative target", 400, "GET a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"asterisk for GET", 400, "GET * HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"authority", 400, "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"absolute target without a host", 400, "GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"expectation", 417, Get("Host: h\r\nExpect: tea\r\n")},
      {"TLS", 400, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)},
  };
}

class ServerRefusal : public testing::ServerTest {
 protected:
  // A request follows that must not be answered.
  void ExpectRefusals(const std::vector<Refused>& table, int handled) {
    const auto stop = Listen(Echo);
    for (const Refused& refused : table) {
      SCOPED_TRACE(refused.name);
      const int requests = requests_;
      const int refusals = refusals_;
      Client client = Connect();
      ASSERT_TRUE(client.Send(refused.bytes + Get("Host: h\r\n")));
      const Response response = client.Read();
      EXPECT_EQ(response.status, refused.status) << response.head << response.body;
      EXPECT_TRUE(response.Has("Connection: close\r\n")) << response.head;
      EXPECT_FALSE(response.body.empty());
      EXPECT_TRUE(client.Ends());
      EXPECT_EQ(refusals_, refusals + 1);
      EXPECT_EQ(requests_, requests + handled);
    }
  }
};

TEST_F(ServerRefusal, AmbiguousFraming) { ExpectRefusals(AmbiguousFraming(), 0); }
// The handler learns of it from the body, and what it answers then is not sent.
TEST_F(ServerRefusal, BadChunks) { ExpectRefusals(BadChunks(), 1); }
TEST_F(ServerRefusal, BadRequests) { ExpectRefusals(BadRequests(), 0); }

TEST_F(ServerRefusal, SplitAtEveryByteIsRefusedAlike) {
  const auto stop = Listen(Echo);
  const std::string bytes = Put("Content-Length: 3, 3\r\n", "abc");
  for (size_t split = 1; split < bytes.size() - 3; ++split) {
    Client client = Connect();
    ASSERT_TRUE(client.Send(bytes.substr(0, split)));
    Settle();
    ASSERT_TRUE(client.Send(bytes.substr(split)));
    EXPECT_EQ(client.Read().status, 400) << split;
    EXPECT_TRUE(client.Ends()) << split;
  }
}

TEST_F(ServerRefusal, OfAHeadRequestHasNoBody) {
  const auto stop = Listen(Echo);
  Client client = Connect();
  ASSERT_TRUE(client.Send("HEAD /a HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(client.Read(/*bodyless=*/true).status, 400);
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerRefusal, TheAnswerSurvivesAClientThatGoesOnSending) {
  const auto stop = Listen(Echo);
  for (int i = 0; i < 20; ++i) {
    Client client = Connect();
    client.Send("GET /a HTTP/1.1\r\n\r\n" + std::string(200 * 1024, 'x'));
    const Response response = client.Read();
    EXPECT_EQ(response.status, 400);
    EXPECT_TRUE(client.Ends());
  }
}

TEST_F(ServerRefusal, AHandlerMayAnswerAMalformedBodyInVain) {
  base::testing::Event told;
  const auto stop = Listen([&told](const std::shared_ptr<Exchange>& exchange) {
    testing::ReadAll(exchange, [exchange, &told](const absl::StatusOr<std::string>& body) {
      EXPECT_EQ(base::CodeOf(body.status()), base::Code::kInvalid);
      exchange->Respond(testing::Text("second", 422));
      told.Set();
    });
  });
  Client client = Connect();
  EXPECT_EQ(client.Ask(Chunked("x")).status, 400);
  EXPECT_TRUE(client.Ends());
  EXPECT_TRUE(told.Wait());
}

}  // namespace
}  // namespace osbx::http
