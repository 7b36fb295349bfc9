#include "transport/http_message.h"

#include <gtest/gtest.h>

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;

TEST(HttpMessage, FindsHeadersWithoutCase) {
  Response response;
  response.headers = {{"Api-Version", "1.41"}, {"api-version", "second"}};
  EXPECT_EQ(response.Header("API-VERSION"), "1.41");
  EXPECT_EQ(response.Header("Server"), "");
}

TEST(HttpMessage, RefusesWhatWouldChangeTheRequestsShape) {
  const auto refused = [](auto change) {
    Request request;
    request.target = "/_ping";
    EXPECT_TRUE(CheckRequest(request).ok());
    change(request);
    EXPECT_EQ(CodeOf(CheckRequest(request)), Code::kInvalid);
  };
  refused([](Request& r) { r.method = "GET /x"; });
  refused([](Request& r) { r.method = ""; });
  refused([](Request& r) { r.target = ""; });
  refused([](Request& r) { r.target = "_ping"; });
  refused([](Request& r) { r.target = "/a b"; });
  refused([](Request& r) { r.target = "/a\r\nX: y"; });
  refused([](Request& r) { r.target = "/a#b"; });
  refused([](Request& r) { r.target = "/\xc3\xa4"; });
  refused([](Request& r) { r.target = std::string("/a\0b", 4); });
  refused([](Request& r) { r.headers = {{"A\n", "b"}}; });
  refused([](Request& r) { r.headers = {{"", "b"}}; });
  refused([](Request& r) { r.headers = {{"A", "b\r\nC: d"}}; });
  refused([](Request& r) { r.headers = {{"A", std::string("\0", 1)}}; });
  refused([](Request& r) { r.content_type = "a\nb"; });
}

TEST(HttpMessage, SendsABodyWhereTheMethodHasOne) {
  Request request;
  EXPECT_FALSE(SendsBody(request));
  request.method = "DELETE";
  EXPECT_FALSE(SendsBody(request));
  request.content_type = "application/json";
  EXPECT_TRUE(SendsBody(request));
  request = Request();
  request.method = "POST";
  EXPECT_TRUE(SendsBody(request));
}

}  // namespace
}  // namespace osbx::transport
