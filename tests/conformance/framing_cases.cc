// HTTP: requests that could be read in two ways, and those that are merely unusual.
#include <filesystem>

#include "contract_case.h"

namespace osbx::conformance {
namespace {

class Framing : public Case {
 protected:
  // `bytes` are answered with 400 and nothing else: what stands behind them is never read as a request.
  void ExpectLastAnswer(const std::string& bytes, int status = 400) {
    const std::string behind = Message("PUT", Url("smuggled"), "x") + Head("GET", "/healthz");
    Connection connection(server());
    connection.Send(bytes + behind);
    const Response response = connection.Receive();
    EXPECT_TRUE(Refused(response, status)) << Quoted(bytes);
    EXPECT_TRUE(response.Closes()) << Quoted(bytes);
    EXPECT_TRUE(connection.ClosedInSilence()) << Quoted(bytes);
    EXPECT_EQ(Names(Call(server(), "GET", Url(""))), "") << Quoted(bytes);
  }
  // A PUT with these fields as they are, and a body.
  std::string Raw(const std::string& fields, const std::string& body, const std::string& version = "1.1") const {
    return "PUT " + Url("file") + " HTTP/" + version + "\r\nHost: sandbox\r\n" + fields + "\r\n" + body;
  }
};

CONTRACT(Framing, BothLengths, "`Content-Length` beside `Transfer-Encoding`.") {
  for (const char* fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 0\r\n", "Content-Length: 4\r\nTransfer-Encoding: gzip\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n", "Content-Length: 4\r\nTransfer-Encoding:\r\n",
        "Content-Length:\r\nTransfer-Encoding: chunked\r\n"}) {
    ExpectLastAnswer(Raw(fields, "0\r\n\r\n"));
  }
}

CONTRACT(Framing, RepeatedLength, "`Content-Length` twice, with values that differ or the same.") {
  for (const char* fields :
       {"Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3\r\nX: y\r\ncontent-length: 3\r\n", "Content-Length: 3, 3\r\n", "Content-Length: 3,4\r\n",
        "Content-Length: 3,\r\n", "Content-Length: 0\r\nContent-Length: 3\r\n"}) {
    ExpectLastAnswer(Raw(fields, "abc"));
  }
}

CONTRACT(Framing, BadLength, "A `Content-Length` that is not one plain number.") {
  for (const char* value : {"", "+3", "-3", "-0", "0x3", "3.0", "3 3", "3;", "\"3\"", "three", "18446744073709551616",
                            "18446744073709551619", "99999999999999999999999999", "3e0", "3_0"}) {
    ExpectLastAnswer(Raw(std::string("Content-Length: ") + value + "\r\n", "abc"));
  }
}

CONTRACT(Framing, OtherEncodings, "A `Transfer-Encoding` other than one `chunked`.") {
  for (const char* value : {"", "gzip", "identity", "xchunked", "chunked, chunked", "chunked, gzip", "gzip, chunked",
                            "chunked;q=1", "\"chunked\"", "chunked,", ", chunked", "chunked\x0b", "chunked x"}) {
    ExpectLastAnswer(Raw(std::string("Transfer-Encoding: ") + value + "\r\n", "0\r\n\r\n"));
  }
  ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"));
  ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"));
  ExpectLastAnswer(Raw("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"));
  // The one that is right, in another case.
  Connection connection(server());
  connection.Send(Raw("Transfer-Encoding: CHUNKED\r\n", "3\r\nabc\r\n0\r\n\r\n"));
  EXPECT_EQ(connection.Receive().status, 204);
}

CONTRACT(Framing, EncodingInHttp10, "A `Transfer-Encoding` in HTTP/1.0.") {
  ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", "1.0"));
  ExpectLastAnswer(Raw("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", "1.0"));
}

CONTRACT(Framing, TwoHosts, "Two `Host` fields.") {
  ExpectLastAnswer(Raw("Host: sandbox\r\nContent-Length: 3\r\n", "abc"));
  ExpectLastAnswer(Raw("host: other\r\nContent-Length: 3\r\n", "abc"));
}

CONTRACT(Framing, ChunkSizes, "A bad chunk size.") {
  for (const char* body :
       {"x\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n", "3 3\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n",
        "10000000000000003\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3g\r\nabc\r\n0\r\n\r\n"}) {
    ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\n", body));
  }
}

CONTRACT(Framing, BareLineFeeds, "A line that ends with a bare LF.") {
  ExpectLastAnswer("PUT " + Url("file") + " HTTP/1.1\nHost: sandbox\r\nContent-Length: 3\r\n\r\nabc");
  ExpectLastAnswer(Raw("X: y\nContent-Length: 3\r\n", "abc"));
  ExpectLastAnswer(Raw("Content-Length: 3\n", "abc"));
  ExpectLastAnswer("PUT " + Url("file") + " HTTP/1.1\r\nHost: sandbox\r\nContent-Length: 3\r\n\nabc");
  ExpectLastAnswer("PUT " + Url("file") + " HTTP/1.1\nHost: sandbox\nContent-Length: 3\n\nabc");
  ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\n", "3\nabc\r\n0\r\n\r\n"));
  ExpectLastAnswer(Raw("Transfer-Encoding: chunked\r\n", "3\r\nabc\n0\r\n\r\n"));
}

CONTRACT(Framing, SpaceBeforeColon, "A space before the colon.") {
  for (const char* fields : {"Content-Length : 3\r\n", "Content-Length\t: 3\r\n", "X : y\r\nContent-Length: 3\r\n",
                             "Transfer-Encoding : chunked\r\n"}) {
    ExpectLastAnswer(Raw(fields, "3\r\nabc\r\n0\r\n\r\n"));
  }
}

CONTRACT(Framing, FoldedFields, "A field that is folded over two lines.") {
  for (const char* fields : {"X: a\r\n b\r\nContent-Length: 3\r\n", "X: a\r\n\tb\r\nContent-Length: 3\r\n",
                             "Content-Length:\r\n 3\r\n", "Transfer-Encoding:\r\n chunked\r\n"}) {
    ExpectLastAnswer(Raw(fields, "abc"));
  }
  ExpectLastAnswer("PUT " + Url("file") + " HTTP/1.1\r\n Host: sandbox\r\nContent-Length: 3\r\n\r\nabc");
}

CONTRACT(Framing, NothingRuns, "`Content-Length` beside `Transfer-Encoding`.",
         "When the answer is 400 or 413, nothing has run.") {
  const std::string body = ExecuteBody("echo >'" + Disk("ran") + "'");
  ExpectLastAnswer(
      Head("POST", "/execute", {{"Content-Length", std::to_string(body.size())}, {"Transfer-Encoding", "chunked"}}) +
      Chunked(body, 1000));
  EXPECT_FALSE(std::filesystem::exists(Disk("ran")));
}

CONTRACT(Framing, LongHeads, "431 | a head of more than 16 KiB") {
  const auto padded = [](size_t size) {  // a head of that size
    const std::string head = Head("GET", "/healthz", {{"X-Pad", ""}});
    return Head("GET", "/healthz", {{"X-Pad", std::string(size - head.size(), 'p')}});
  };
  Connection fits(server());
  fits.Send(padded(16'000));
  EXPECT_EQ(fits.Receive().status, 200);
  ExpectLastAnswer(padded(17'000), 431);
  ExpectLastAnswer("GET /files/" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: sandbox\r\n\r\n", 431);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "a:b\r\n";
  many += std::string(3000, 'x') + ": y\r\n";
  ExpectLastAnswer("GET /healthz HTTP/1.1\r\nHost: sandbox\r\n" + many + "\r\n", 431);
  // It is refused before it has an end.
  Connection endless(server());
  endless.Send("GET /healthz HTTP/1.1\r\nX: " + std::string(40'000, 'x'));
  EXPECT_TRUE(Refused(endless.Receive(), 431));
}

}  // namespace
}  // namespace osbx::conformance
