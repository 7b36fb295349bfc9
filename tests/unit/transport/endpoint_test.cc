#include "transport/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using testing::HasSubstr;
using testing::Not;
using Kind = Endpoint::Kind;

Endpoint Parsed(std::string_view uri, bool tls = false, std::string_view cert_path = {}) {
  const auto endpoint = ParseEndpoint(uri, tls, cert_path);
  EXPECT_TRUE(endpoint.ok()) << uri << ": " << endpoint.status();
  return endpoint.ok() ? *endpoint : Endpoint();
}

TEST(Endpoint, ReadsUnixSockets) {
  const Endpoint endpoint = Parsed("unix:///var/run/docker.sock");
  EXPECT_EQ(endpoint.kind, Kind::kUnix);
  EXPECT_EQ(endpoint.socket_path, "/var/run/docker.sock");
  EXPECT_EQ(endpoint.ToString(), "unix:///var/run/docker.sock");
  EXPECT_EQ(Parsed("unix:///run/docker.sock/").socket_path, "/run/docker.sock");
  EXPECT_EQ(Parsed("unix:///a%20b c").socket_path, "/a%20b c");
  // TLS is a matter of tcp only, as in Docker's clients.
  EXPECT_EQ(Parsed("unix:///s", true, "/certs").kind, Kind::kUnix);
}

TEST(Endpoint, BoundsTheSocketsPath) {
  EXPECT_EQ(Parsed("unix:///" + std::string(106, 'x')).socket_path.size(), 107u);
  EXPECT_EQ(CodeOf(ParseEndpoint("unix:///" + std::string(107, 'x'), false, {}).status()), Code::kInvalid);
}

TEST(Endpoint, ReadsTcpWithItsDefaultPorts) {
  const Endpoint endpoint = Parsed("tcp://engine.example:1234");
  EXPECT_EQ(endpoint.kind, Kind::kTcp);
  EXPECT_EQ(endpoint.authority, "engine.example:1234");
  EXPECT_EQ(endpoint.base_path, "");
  EXPECT_EQ(endpoint.ToString(), "tcp://engine.example:1234");
  EXPECT_EQ(Parsed("tcp://10.0.0.1").authority, "10.0.0.1:2375");
  EXPECT_EQ(Parsed("tcp://10.0.0.1", true, "/c").authority, "10.0.0.1:2376");
  EXPECT_EQ(Parsed("https://10.0.0.1", false, "/c").authority, "10.0.0.1:2376");
  EXPECT_EQ(Parsed("http://10.0.0.1").authority, "10.0.0.1:2375");
  EXPECT_EQ(Parsed("tcp://[::1]:99").authority, "[::1]:99");
  EXPECT_EQ(Parsed("tcp://[fe80::1]").authority, "[fe80::1]:2375");
}

TEST(Endpoint, KeepsAPathWithoutTrailingSlashes) {
  EXPECT_EQ(Parsed("tcp://h:1/").base_path, "");
  EXPECT_EQ(Parsed("tcp://h:1/engine/a").base_path, "/engine/a");
  EXPECT_EQ(Parsed("tcp://h:1/engine//").base_path, "/engine");
  EXPECT_EQ(Parsed("tcp://h/engine").authority, "h:2375");
  EXPECT_EQ(Parsed("tcp://h:1/engine").ToString(), "tcp://h:1/engine");
}

TEST(Endpoint, UsesTlsWhereverAnyOfItWasAskedFor) {
  for (const bool tls : {false, true}) {
    const Endpoint endpoint = Parsed("tcp://h:1", tls, "/certs");
    EXPECT_EQ(endpoint.kind, Kind::kTls);
    EXPECT_EQ(endpoint.cert_path, "/certs");
    EXPECT_EQ(endpoint.ToString(), "https://h:1");
  }
  EXPECT_EQ(Parsed("https://h:1", false, "/certs").kind, Kind::kTls);
  EXPECT_EQ(Parsed("http://h:1", false, "/certs").kind, Kind::kTcp);
}

TEST(Endpoint, RefusesTlsWithoutCertificates) {
  EXPECT_EQ(CodeOf(ParseEndpoint("tcp://h:1", true, {}).status()), Code::kInvalid);
  EXPECT_EQ(CodeOf(ParseEndpoint("https://h:1", false, {}).status()), Code::kInvalid);
  EXPECT_EQ(CodeOf(ParseEndpoint("http://h:1", true, "/certs").status()), Code::kInvalid);
}

TEST(Endpoint, RefusesEverythingElse) {
  const char* const refused[] = {
      "",
      "/var/run/docker.sock",
      "unix://",
      "unix://relative",
      "unix:/one",
      "unix:///",
      "unix:///a\nb",
      "UNIX:///a",
      "ssh://h",
      "npipe:////./pipe/x",
      "fd://",
      "tcp://",
      "tcp://:2375",
      "tcp://h:",
      "tcp://h:0",
      "tcp://h:01",
      "tcp://h:65536",
      "tcp://h:1x",
      "tcp://h:-1",
      "tcp://h:1:2",
      "tcp://::1",
      "tcp://[::1",
      "tcp://[]:1",
      "tcp://[::1]x",
      "tcp://[h]:1",
      "tcp://a b",
      "tcp://h/a b",
      "tcp://h/?q",
      "tcp://h/#f",
      "tcp://h\r\n:1",
      "tcp://h?q",
      "tcp://[::1%eth0]:1",
      "ftp://h",
      "tcp://user@h:1",
      "tcp://h:1/a\x7f",
  };
  for (const char* uri : refused) {
    EXPECT_EQ(CodeOf(ParseEndpoint(uri, false, {}).status()), Code::kInvalid) << uri;
  }
}

TEST(Endpoint, NeverRepeatsCredentials) {
  for (const char* uri : {"tcp://user:hunter2@host:1", "ssh://user:hunter2@host", "odd://user:hunter2@host"}) {
    const absl::Status status = ParseEndpoint(uri, false, {}).status();
    EXPECT_EQ(CodeOf(status), Code::kInvalid);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace osbx::transport
