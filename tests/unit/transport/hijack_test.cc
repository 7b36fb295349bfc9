#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_daemon.h"
#include "transport/connection.h"
#include "unit/transport/transport_test_support.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using osbx::testing::Answer;
using osbx::testing::FakeConversation;
using osbx::testing::FakeDaemon;
using osbx::testing::Latch;
using osbx::testing::UpgradeAnswer;
using ::testing::HasSubstr;

constexpr char kOldAnswer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n";

// A daemon that answers each upgraded request with `answer`, and the stream that comes of it.
absl::StatusOr<HijackResult> HijackOf(const std::string& answer, bool byte_by_byte = false) {
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    byte_by_byte ? peer.SendByteByByte(answer) : peer.Send(answer);
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  if (result.ok() && result->stream) {
    StreamDriver driver(client.loop(), std::move(result->stream));
    result->response.body = "streamed: " + driver.ReadUntilEnd();
  }
  return result;
}

TEST(Hijack, AsksForTheUpgradeAndSendsTheBody) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(UpgradeAnswer());
  });
  Client client(daemon->endpoint());
  Request request = NewRequest("POST", "/v1.41/exec/a%2Fb/start");
  request.content_type = "application/json";
  request.body = "{\"Tty\":false}";
  request.headers = {{"X-Test", "yes"}};
  const auto result = client->Hijack(request, Bounded());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->stream, nullptr);
  EXPECT_EQ(result->response.status, 101);
  EXPECT_EQ(result->response.Header("Content-Type"), "application/vnd.docker.raw-stream");
  const auto sent = daemon->requests().at(0);
  EXPECT_EQ(sent.head,
            "POST /v1.41/exec/a%2Fb/start HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            "X-Test: yes\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n");
  EXPECT_EQ(sent.body, request.body);
}

TEST(Hijack, TakesEveryKindOfStreamAnswer) {
  for (const std::string& answer : {UpgradeAnswer("raw-stream"), UpgradeAnswer("multiplexed-stream"),
                                    std::string(kOldAnswer), std::string("HTTP/1.1 101 X\r\nUpgrade: tcp\r\n\r\n")}) {
    for (const bool byte_by_byte : {false, true}) {
      const auto result = HijackOf(answer + "payload", byte_by_byte);
      ASSERT_TRUE(result.ok()) << answer << result.status();
      EXPECT_EQ(result->response.body, "streamed: payload") << answer;
    }
  }
}

TEST(Hijack, ReturnsAnErrorsBodyWithoutAStream) {
  const std::vector<std::string> answers = {
      Answer(404, "{\"message\":\"gone\"}"),
      "HTTP/1.1 409 X\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"message\r\n9\r\n\":\"gone\"}\r\n0\r\n\r\n",
      "HTTP/1.1 500 X\r\n\r\n{\"message\":\"gone\"}",
      Answer(200, "{\"message\":\"gone\"}"),
      // Cut short: what came is better than nothing.
      "HTTP/1.1 500 X\r\nContent-Length: 99\r\n\r\n{\"message\":\"gone\"}",
  };
  for (const std::string& answer : answers) {
    for (const bool byte_by_byte : {false, true}) {
      const auto result = HijackOf(answer, byte_by_byte);
      ASSERT_TRUE(result.ok()) << answer << result.status();
      EXPECT_EQ(result->stream, nullptr);
      EXPECT_EQ(result->response.body, "{\"message\":\"gone\"}") << answer;
      EXPECT_EQ(result->response.status, std::stoi(answer.substr(9, 3)));
    }
  }
}

TEST(Hijack, DoesNotWaitForTheEndOfAKeptConnectionAfterAnError) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(Answer(404, "gone"));
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  const auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->response.body, "gone");
}

TEST(Hijack, RefusesWhatIsNoAnswer) {
  const std::vector<std::string> broken = {
      "",
      "HTTP/1.1 101 UPG",
      "garbage",
      "HTTP/1.1 101 X\r\nContent-Type: text/plain\r\n\r\n",
      "HTTP/1.1 101 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 101 X\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n",
  };
  for (const std::string& answer : broken) {
    const auto result = HijackOf(answer);
    EXPECT_EQ(CodeOf(result.status()), Code::kBackend) << answer.substr(0, 50);
    EXPECT_THAT(std::string(result.status().message()), ::testing::Not(HasSubstr("xxxx")));
  }
  EXPECT_EQ(CodeOf(HijackOf(Answer(500, std::string(2 << 20, 'x'))).status()), Code::kTooLarge);
}

TEST(Hijack, HandsOverTheAnswerThatCameBeforeTheRequestWasSent) {
  // As an engine does that refuses a request by its head alone.
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    peer.ReadExactly(1);
    peer.Send(Answer(413, "too much"));
  });
  Client client(daemon->endpoint());
  Request request = NewRequest("POST", "/x");
  request.content_type = "application/x-tar";
  request.body.assign(8 << 20, 'x');
  const auto result = client->Hijack(request, Bounded());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->response.status, 413);
  EXPECT_EQ(result->response.body, "too much");
}

TEST(Hijack, KeepsEveryByteBehindTheHead) {
  std::string payload;
  for (int i = 0; i < 100'000; ++i) payload.push_back(static_cast<char>(i));
  const auto result = HijackOf(UpgradeAnswer() + payload);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->response.body, "streamed: " + payload);
}

class HijackedEcho : public ::testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<FakeDaemon> NewDaemon(FakeDaemon::Script script) {
    return GetParam() ? FakeDaemon::OnTcp(std::move(script)) : FakeDaemon::OnUnixSocket(std::move(script));
  }
};

TEST_P(HijackedEcho, AnswersAfterTheHalfClose) {
  const auto daemon = NewDaemon([](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    peer.Send(std::to_string(peer.ReadUntilEnd().size()));
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  ASSERT_TRUE(driver.Write(std::string(10'485'760, 'x')).ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());  // idempotent
  EXPECT_EQ(CodeOf(driver.Write("more")), Code::kBackend);
  EXPECT_EQ(driver.ReadUntilEnd(), "10485760");
  EXPECT_TRUE(driver.end_status().ok());
}

TEST_P(HijackedEcho, WritesAfterThePeersHalfClose) {
  Latch done;
  std::string received;
  const auto daemon = NewDaemon([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer() + "early");
    peer.EndSending();
    received = peer.ReadUntilEnd();
    done.Set();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  StreamDriver driver(client.loop(), std::move(result->stream));
  EXPECT_EQ(driver.ReadUntilEnd(), "early");
  ASSERT_TRUE(driver.Write("late").ok());
  ASSERT_TRUE(driver.ShutdownWrite().ok());
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(received, "late");
}

TEST_P(HijackedEcho, MovesBytesBothWaysAtOnce) {
  const auto daemon = NewDaemon([](FakeConversation& peer) {
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

TEST_P(HijackedEcho, FailsAWriteToAPeerThatHasGone) {
  const auto daemon = NewDaemon([](FakeConversation& peer) {
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
}

TEST_P(HijackedEcho, ClosesTheConnectionWithTheStream) {
  Latch ended;
  const auto daemon = NewDaemon([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(UpgradeAnswer());
    peer.WaitForEnd();
    ended.Set();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  // The stream is independent of what made it.
  client.DropConnection();
  StreamDriver driver(client.loop(), std::move(result->stream));
  EXPECT_FALSE(ended.IsSet());
  driver.Close();
  EXPECT_TRUE(ended.Wait());
}

INSTANTIATE_TEST_SUITE_P(Sockets, HijackedEcho, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Tcp" : "Unix"; });

TEST(Hijack, RefusesUseAfterClose) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(UpgradeAnswer() + "unread");
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  auto result = client.Hijack();
  ASSERT_TRUE(result.ok()) << result.status();
  bool ran = false;
  client.OnLoop([&] {
    result->stream->Attach(client.loop());
    result->stream->WaitReadable([&] { ran = true; });
    result->stream->Close();
    result->stream->Close();
    uint8_t byte = 0;
    EXPECT_EQ(result->stream->Read(&byte, 1).state, base::IoResult::State::kError);
    EXPECT_EQ(result->stream->Write(&byte, 1).state, base::IoResult::State::kError);
    EXPECT_EQ(result->stream->ShutdownWrite().state, base::IoResult::State::kError);
  });
  client.OnLoop([&] { result->stream.reset(); });
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace osbx::transport
