#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include "support/fake_daemon.h"
#include "transport/connection.h"
#include "transport/hijacked_stream.h"
#include "unit/transport/transport_test_support.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using osbx::testing::Answer;
using osbx::testing::FakeConversation;
using osbx::testing::FakeDaemon;
using osbx::testing::Latch;
using osbx::testing::TestCertificates;
using osbx::testing::UpgradeAnswer;
using ::testing::HasSubstr;

class Tls : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    certificates_ = TestCertificates::Create();
    certificates_->LimitVersion(GetParam());
  }
  std::shared_ptr<TestCertificates> certificates_;
};

void AnswerAlways(FakeConversation& peer) {
  while (peer.ReadRequest()) peer.Send(Answer(200, "secret"));
}

TEST_P(Tls, CallsWithAClientCertificate) {
  const auto daemon = FakeDaemon::OnTls(certificates_, AnswerAlways);
  Client client(daemon->endpoint());
  for (int i = 0; i < 3; ++i) {
    const auto response = client.Get("/_ping");
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->body, "secret");
  }
  EXPECT_EQ(daemon->connections(), 1);
  ASSERT_TRUE(client.Get("/_ping", /*idempotent=*/false).ok());
  EXPECT_EQ(daemon->connections(), 2);
}

TEST_P(Tls, RefusesAServerOfAnotherAuthority) {
  const auto daemon = FakeDaemon::OnTls(certificates_, AnswerAlways);
  const auto others = TestCertificates::Create();
  Endpoint endpoint = daemon->endpoint();
  endpoint.cert_path = others->client_folder();
  Client client(endpoint);
  for (const absl::Status& status : {client.Get("/_ping").status(), client.Hijack().status()}) {
    EXPECT_EQ(CodeOf(status), Code::kUnreachable);
    EXPECT_THAT(std::string(status.message()), HasSubstr(endpoint.ToString()));
    EXPECT_THAT(std::string(status.message()), HasSubstr("certificate"));
  }
  EXPECT_TRUE(daemon->requests().empty());
}

TEST_P(Tls, RefusesAServerOfAnotherName) {
  const auto elsewhere = TestCertificates::Create("192.0.2.1");
  const auto daemon = FakeDaemon::OnTls(elsewhere, AnswerAlways);
  Client client(daemon->endpoint());
  EXPECT_EQ(CodeOf(client.Get("/_ping").status()), Code::kUnreachable);
  EXPECT_TRUE(daemon->requests().empty());
}

TEST_P(Tls, NamesTheReasonWhenTheServerRefusesTheClient) {
  const auto daemon = FakeDaemon::OnTls(certificates_, AnswerAlways);
  // The right authority, the client certificate of another.
  const auto others = TestCertificates::Create();
  for (const char* name : {"/cert.pem", "/key.pem"}) {
    ASSERT_EQ(rename((others->client_folder() + name).c_str(), (certificates_->client_folder() + name).c_str()), 0);
  }
  Client client(daemon->endpoint());
  for (const absl::Status& status : {client.Get("/_ping").status(), client.Hijack().status()}) {
    EXPECT_THAT(CodeOf(status), ::testing::AnyOf(Code::kUnreachable, Code::kBackend)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(daemon->endpoint().ToString()));
  }
  EXPECT_TRUE(daemon->requests().empty());
}

TEST_P(Tls, NamesAMissingCertificate) {
  const auto daemon = FakeDaemon::OnTls(certificates_, AnswerAlways);
  Endpoint endpoint = daemon->endpoint();
  endpoint.cert_path = "/nowhere";
  Client client(endpoint);
  const absl::Status status = client.Get("/_ping").status();
  EXPECT_EQ(CodeOf(status), Code::kUnreachable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/ca.pem"));
}

TEST_P(Tls, AnswersAfterTheHalfClose) {
  std::string ended_by;
  const auto daemon = FakeDaemon::OnTls(certificates_, [&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    const size_t size = peer.ReadUntilEnd().size();
    // A clean end: OpenSSL has seen the close_notify.
    const bool notified = (SSL_get_shutdown(peer.tls()->ssl()) & SSL_RECEIVED_SHUTDOWN) != 0;
    peer.Send(std::to_string(size) + (notified ? " notified" : " broken off"));
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  ASSERT_TRUE(driver.Write(std::string(10'485'760, 'x')).ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  EXPECT_EQ(driver.ReadUntilEnd(), "10485760 notified");
  EXPECT_TRUE(driver.end_status().ok());
}

TEST_P(Tls, WritesAfterThePeersHalfClose) {
  Latch done;
  std::string received;
  const auto daemon = FakeDaemon::OnTls(certificates_, [&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer() + "early");
    peer.EndSending();
    received = peer.ReadUntilEnd();
    done.Set();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  client.DropConnection();
  StreamDriver driver(client.loop(), std::move(result->stream));
  EXPECT_EQ(driver.ReadUntilEnd(), "early");
  ASSERT_TRUE(driver.Write("late").ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(received, "late");
}

TEST_P(Tls, MovesBytesBothWaysAtOnce) {
  const auto daemon = FakeDaemon::OnTls(certificates_, [](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    for (std::string bytes = peer.ReadSome(); !bytes.empty(); bytes = peer.ReadSome()) peer.Send(bytes);
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  std::string sent;
  for (int i = 0; i < 1 << 20; ++i) sent.push_back(static_cast<char>(i * 7));
  ASSERT_TRUE(driver.Write(sent).ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  EXPECT_EQ(driver.ReadUntilEnd(), sent);
}

TEST_P(Tls, RefusesTheHalfCloseInTheMiddleOfARecord) {
  Latch go_on;
  const auto daemon = FakeDaemon::OnTls(certificates_, [&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    go_on.Wait();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  client.OnLoop([&] {
    result->stream->Attach(client.loop());
    const std::string block(16384, 'x');
    const auto* data = reinterpret_cast<const uint8_t*>(block.data());
    base::IoResult written;
    do {
      written = result->stream->Write(data, block.size());
    } while (written.state == base::IoResult::State::kDone);
    ASSERT_EQ(written.state, base::IoResult::State::kWouldBlock);
    EXPECT_EQ(result->stream->ShutdownWrite().state, base::IoResult::State::kError);
    result->stream.reset();
  });
  go_on.Set();
}

TEST_P(Tls, FinishesTheHalfCloseWhenTheSocketHasRoom) {
  // The socket is filled behind the session's back, so that the close_notify does not fit; what the peer reads first
  // is then no record, but that it reads is all that is needed here.
  Latch read_now;
  Latch done;
  const auto daemon = FakeDaemon::OnTls(certificates_, [&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    read_now.Wait();
    char buffer[65536];
    while (recv(peer.fd(), buffer, sizeof(buffer), 0) > 0) {
    }
    done.Set();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  base::DuplexStream& stream = *result->stream;
  const int fd = static_cast<HijackedStream&>(stream).fd();
  Latch ended;
  std::function<void()> end = [&] {
    const base::IoResult shut = stream.ShutdownWrite();
    ASSERT_NE(shut.state, base::IoResult::State::kError) << shut.status;
    shut.state == base::IoResult::State::kWouldBlock ? stream.WaitWritable(end) : ended.Set();
  };
  client.OnLoop([&] {
    stream.Attach(client.loop());
    // Single bytes at the end, until not one more fits.
    for (const size_t size : {size_t{16384}, size_t{1}}) {
      const std::string block(size, 'x');
      while (send(fd, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
      }
    }
    EXPECT_EQ(stream.ShutdownWrite().state, base::IoResult::State::kWouldBlock);
    stream.WaitWritable(end);
  });
  EXPECT_FALSE(ended.IsSet());
  read_now.Set();
  EXPECT_TRUE(ended.Wait());
  client.OnLoop([&] { result->stream.reset(); });
  EXPECT_TRUE(done.Wait());
}

TEST_P(Tls, SaysThatTheStreamBrokeOff) {
  const auto daemon = FakeDaemon::OnTls(certificates_, [](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    peer.ReadExactly(1);
    peer.Reset();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  EXPECT_EQ(CodeOf(driver.Write(std::string(64 << 20, 'x'))), Code::kBackend);
  (void)driver.ReadUntilEnd();
  EXPECT_FALSE(driver.end_status().ok());
}

TEST_P(Tls, TakesAnEndWithoutCloseNotifyForABreak) {
  const auto daemon = FakeDaemon::OnTls(certificates_, [](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer() + "half of it");
    (void)shutdown(peer.fd(), SHUT_RDWR);
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  EXPECT_EQ(driver.ReadUntilEnd(), "half of it");
  EXPECT_EQ(CodeOf(driver.end_status()), Code::kBackend);
}

TEST_P(Tls, EndsAtTheDeadlineDuringTheHandshake) {
  const auto silent = FakeDaemon::OnTcp([](FakeConversation& peer) { peer.WaitForEnd(); });
  Endpoint endpoint = silent->endpoint();
  endpoint.kind = Endpoint::Kind::kTls;
  endpoint.cert_path = certificates_->client_folder();
  Client client(endpoint);
  const auto context = [] { return base::Context().WithTimeout(std::chrono::milliseconds(50)); };
  EXPECT_EQ(CodeOf(client->Call(NewRequest("GET", "/"), context()).status()), Code::kTimeout);
  EXPECT_EQ(CodeOf(client->Hijack(NewRequest("GET", "/"), context()).status()), Code::kTimeout);
}

TEST_P(Tls, RefusesAPlainServer) {
  const auto plain = FakeDaemon::OnTcp([](FakeConversation& peer) {
    peer.ReadSome();
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  Endpoint endpoint = plain->endpoint();
  endpoint.kind = Endpoint::Kind::kTls;
  endpoint.cert_path = certificates_->client_folder();
  Client client(endpoint);
  EXPECT_EQ(CodeOf(client.Get("/").status()), Code::kUnreachable);
}

INSTANTIATE_TEST_SUITE_P(Versions, Tls, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& parameter) { return parameter.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

}  // namespace
}  // namespace osbx::transport
