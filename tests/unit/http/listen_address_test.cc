#include "http/listen_address.h"

#include <gtest/gtest.h>

#include <string>

namespace osbx::http {
namespace {

TEST(ListenAddress, TakesAddressesWithAPort) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& c : {Case{"127.0.0.1:3000", "127.0.0.1", 3000}, Case{"[::1]:65535", "::1", 65535}, Case{":0", "", 0},
                        Case{"[::]:80", "::", 80}, Case{"0.0.0.0:80", "0.0.0.0", 80}}) {
    const auto address = ParseListenAddress(c.text);
    ASSERT_TRUE(address.ok()) << c.text;
    EXPECT_EQ(address->host, c.host);
    EXPECT_EQ(address->port, c.port);
  }
}

TEST(ListenAddress, RefusesTheRest) {
  for (const char* text : {"", ":", "3000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:+1", "127.0.0.1:08", "localhost:80", "::1:80", "[]:80", "[127.0.0.1]:80",
                           "[::1:80", "::1]:80", "127.1:80", "127.0.0.1 :80", "127.0.0.1:80 "}) {
    EXPECT_EQ(base::CodeOf(ParseListenAddress(text).status()), base::Code::kInvalid) << text;
  }
  EXPECT_FALSE(ParseListenAddress(std::string("127.0.0.1\0:80", 13)).ok());
}

}  // namespace
}  // namespace osbx::http
