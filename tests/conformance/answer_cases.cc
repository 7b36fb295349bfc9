// HTTP: routes, errors, and how one connection carries several requests.
#include <set>

#include "contract_case.h"

namespace osbx::conformance {
namespace {

class Answers : public Case {};

CONTRACT(Answers, Health, "200 `{\"status\":\"ok\"}` as soon as the server listens.") {
  const Response response = Call(server(), "GET", "/healthz");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "{\"status\":\"ok\"}");
  EXPECT_EQ(response.Field("Content-Type"), "application/json");
}

CONTRACT(Answers, UnknownRoutes, "404 | unknown route", "Errors are JSON: `{\"error\": \"<what was wrong>\"}`.") {
  for (const char* target :
       {"/", "/execute/", "/execute/x", "/Execute", "/filesx", "/healthz/", "/health", "/.", "//healthz"}) {
    for (const char* method : {"GET", "POST", "DELETE"}) {
      EXPECT_TRUE(Refused(Call(server(), method, target), 404)) << method << " " << target;
    }
  }
}

std::set<std::string> Methods(const Response& response) {
  std::set<std::string> methods;
  std::string word;
  for (const char c : response.Field("Allow") + ",") {
    if (c == ',') {
      methods.insert(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return methods;
}

CONTRACT(Answers, WrongMethods, "405, with `Allow` | known route, another method") {
  const struct {
    const char* target;
    std::vector<const char*> methods;
    std::set<std::string> needed;  // in Allow
  } routes[] = {
      {"/execute", {"GET", "PUT", "DELETE", "PATCH", "OPTIONS"}, {"POST"}},
      {"/healthz", {"POST", "PUT", "DELETE", "PATCH"}, {"GET"}},
      {"/files/x", {"POST", "PATCH", "OPTIONS", "BREW"}, {"GET", "HEAD", "PUT", "DELETE"}},
      {"/files", {"POST", "PATCH"}, {"GET", "HEAD"}},
  };
  for (const auto& route : routes) {
    for (const char* method : route.methods) {
      const Response response = Call(server(), method, route.target);
      EXPECT_TRUE(Refused(response, 405)) << method << " " << route.target;
      const std::set<std::string> allowed = Methods(response);
      for (const std::string& needed : route.needed) {
        EXPECT_EQ(allowed.count(needed), 1u) << method << " " << route.target << ": " << response.Field("Allow");
      }
      EXPECT_EQ(allowed.count(method), 0u) << method << " " << route.target;
    }
  }
}

CONTRACT(Answers, UnreadBodies,
         "After an answer that left a body unread, the server reads that body away or says `Connection: close` and "
         "closes.") {
  for (const size_t size : {size_t{1}, size_t{1000}, size_t{100'000}, size_t{5'000'000}}) {
    // A body that reads as a request, in case it is taken for one.
    std::string body;
    while (body.size() < size) body += Head("DELETE", Url("kept"));
    WriteDisk(Disk("kept"), "kept");
    for (const char* target : {"/files/../x", "/nothing", "/files/"}) {
      for (const bool chunked : {false, true}) {
        const std::string request = chunked
                                        ? Head("PUT", target, {{"Transfer-Encoding", "chunked"}}) + Chunked(body, 9'999)
                                        : Message("PUT", target, body);
        Connection connection(server());
        connection.Send(request + Head("GET", "/healthz"));
        const Response refusal = connection.Receive();
        EXPECT_GE(refusal.status, 400) << target << refusal;
        EXPECT_TRUE(Refused(refusal, refusal.status));
        if (refusal.Closes()) {
          EXPECT_TRUE(connection.ClosedInSilence()) << target << size;
        } else {
          EXPECT_EQ(connection.Receive().body, "{\"status\":\"ok\"}") << target << size;
        }
      }
    }
    EXPECT_EQ(ReadDisk(Disk("kept")), "kept");
  }
}

CONTRACT(Answers, Pipelining, "Pipelined requests are answered in their order.",
         "A HEAD request does not disturb the next one on its connection.") {
  Connection connection(server());
  connection.Send(Message("PUT", Url("a"), "first") + Head("GET", Url("a")) + Head("HEAD", Url("a")) +
                  ExecuteMessage("printf second") + Head("GET", "/nothing") + Message("PUT", Url("a"), "third") +
                  Head("GET", Url("a")) + Head("GET", "/healthz"));
  EXPECT_EQ(connection.Receive().status, 204);
  EXPECT_EQ(connection.Receive().body, "first");
  const Response head = connection.Receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Field("Content-Length"), "5");
  EXPECT_EQ(ParseRan(connection.Receive()).out, "second");
  EXPECT_EQ(connection.Receive().status, 404);
  EXPECT_EQ(connection.Receive().status, 204);
  EXPECT_EQ(connection.Receive().body, "third");
  EXPECT_EQ(connection.Receive().body, "{\"status\":\"ok\"}");
}

CONTRACT(Answers, HeadOfLargeFile, "A HEAD request does not disturb the next one on its connection.") {
  WriteDisk(Disk("file"), std::string(3'000'000, 'x'));
  Connection connection(server());
  for (const std::string& target : {Url("file"), Url("missing"), Url("")}) {
    connection.Send(Head("HEAD", target));
    EXPECT_NE(connection.Receive(true).status, 0);
    connection.Send(Head("GET", "/healthz"));
    EXPECT_EQ(connection.Receive().body, "{\"status\":\"ok\"}") << target;
  }
}

CONTRACT(Answers, ByteByByte, "Pipelined requests are answered in their order.", "Chunked bodies are accepted.") {
  const std::string body = ExecuteBody("printf slowly");
  const std::string requests = Head("POST", "/execute", {{"Transfer-Encoding", "chunked"}}) + Chunked(body, 3) +
                               Message("PUT", Url("a"), "content") + Head("GET", Url("a"));
  Connection connection(server());
  for (const char c : requests) ASSERT_TRUE(connection.Send(std::string_view(&c, 1)));
  EXPECT_EQ(ParseRan(connection.Receive()).out, "slowly");
  EXPECT_EQ(connection.Receive().status, 204);
  EXPECT_EQ(connection.Receive().body, "content");
}

CONTRACT(Answers, Chunks, "Chunked bodies are accepted.") {
  // Extensions, leading zeros, capital digits and a trailer.
  Connection connection(server());
  connection.Send(Head("PUT", Url("a"), {{"Transfer-Encoding", "chunked"}}) +
                  "003;name=value\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n" + Head("GET", Url("a")));
  EXPECT_EQ(connection.Receive().status, 204);
  EXPECT_EQ(connection.Receive().body, "abc0123456789");
}

CONTRACT(Answers, Continue, "`Expect: 100-continue` is answered with `100 Continue` before the body is read.") {
  for (const bool chunked : {false, true}) {
    const std::string body = ExecuteBody("printf went on");
    const Fields framing =
        chunked ? Fields{{"Transfer-Encoding", "chunked"}} : Fields{{"Content-Length", std::to_string(body.size())}};
    for (const char* target : {"/execute", "put"}) {
      Fields fields = framing;
      fields.emplace_back("Expect", "100-continue");
      const bool put = std::string(target) == "put";
      Connection connection(server());
      connection.Send(put ? Head("PUT", Url("a"), fields) : Head("POST", target, fields));
      EXPECT_EQ(connection.Receive().status, 100) << target;
      connection.Send(chunked ? Chunked(body, 7) : body);
      EXPECT_EQ(connection.Receive().status, put ? 204 : 200) << target;
      connection.Send(Head("GET", "/healthz"));
      EXPECT_EQ(connection.Receive().status, 200);
    }
  }
  // One that is refused is not asked for its body.
  Connection refused(server());
  refused.Send(Head("PUT", "/files/../x", {{"Content-Length", "1000000"}, {"Expect", "100-continue"}}));
  EXPECT_TRUE(Refused(refused.Receive(), 400));
}

CONTRACT(Answers, Http10, "An HTTP/1.0 request is answered, and the connection closed.") {
  WriteDisk(Disk("a"), "content");
  const std::string body = ExecuteBody("printf old");
  const std::pair<std::string, std::string> requests[] = {
      {"GET " + Url("a") + " HTTP/1.0\r\n\r\n", "content"},
      {"GET /healthz HTTP/1.0\r\nHost: sandbox\r\n\r\n", "{\"status\":\"ok\"}"},
      {"POST /execute HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body, ""}};
  for (const auto& [request, expected] : requests) {
    Connection connection(server());
    connection.Send(request);
    const Response response = connection.Receive();
    EXPECT_EQ(response.status, 200) << response;
    if (expected.empty()) {
      EXPECT_EQ(ParseRan(response).out, "old");
    } else {
      EXPECT_EQ(response.body, expected);
    }
    EXPECT_TRUE(connection.ClosedInSilence());
  }
}

CONTRACT(Answers, CloseOnRequest, "An HTTP/1.0 request is answered, and the connection closed.") {
  Connection connection(server());
  connection.Send(Head("GET", "/healthz", {{"Connection", "close"}}));
  EXPECT_EQ(connection.Receive().status, 200);
  EXPECT_TRUE(connection.ClosedInSilence());
}

}  // namespace
}  // namespace osbx::conformance
