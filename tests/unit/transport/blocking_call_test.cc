#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
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
using ::testing::HasSubstr;
using ::testing::Not;

void AnswerAlways(FakeConversation& peer) {
  while (peer.ReadRequest()) peer.Send(Answer(200, "OK", {"Api-Version: 1.41"}));
}

TEST(BlockingCall, ReturnsStatusHeadersAndBody) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    while (peer.ReadRequest()) peer.Send(Answer(404, "{\"message\":\"no\"}", {"Api-Version: 1.41", "X:"}));
  });
  Client client(daemon->endpoint());
  const auto response = client.Get("/containers/x/json");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "{\"message\":\"no\"}");
  EXPECT_EQ(response->Header("api-version"), "1.41");
  EXPECT_EQ(response->headers.size(), 3u);
}

TEST(BlockingCall, SendsTheTargetByteForByte) {
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  Client client(daemon->endpoint());
  const std::vector<std::string> targets = {
      "/v1.41/containers/a%2Fb/../json?x=%7B%22a%22%3A1%7D&y=a+b",
      "//twice",
      "/a/./b/%2e%2e/c",
      "/?",
      "/%",
      "/~{}|^`\"<>\\",
  };
  for (const std::string& target : targets) ASSERT_TRUE(client.Get(target).ok()) << target;
  const auto requests = daemon->requests();
  ASSERT_EQ(requests.size(), targets.size());
  for (size_t i = 0; i < targets.size(); ++i) EXPECT_EQ(requests[i].target(), targets[i]);
}

TEST(BlockingCall, PutsTheBasePathInFront) {
  const auto daemon = FakeDaemon::OnTcp(AnswerAlways);
  Endpoint endpoint = daemon->endpoint();
  endpoint.base_path = "/engine/one";
  Client client(endpoint);
  ASSERT_TRUE(client.Get("/_ping").ok());
  EXPECT_EQ(daemon->requests().at(0).target(), "/engine/one/_ping");
  EXPECT_THAT(daemon->requests().at(0).head, HasSubstr("\r\nHost: " + endpoint.authority + "\r\n"));
}

TEST(BlockingCall, SendsABodyWithItsTypeAndWithoutExpect) {
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  Client client(daemon->endpoint());
  Request request = NewRequest("PUT", "/archive");
  request.content_type = "application/x-tar";
  request.body = std::string(3 << 20, '\0');
  request.headers = {{"X-Registry-Auth", "e30="}, {"X-Empty", ""}};
  ASSERT_TRUE(client->Call(request, Bounded()).ok());
  const auto sent = daemon->requests().at(0);
  EXPECT_EQ(sent.method(), "PUT");
  EXPECT_EQ(sent.body, request.body);
  EXPECT_THAT(sent.head, HasSubstr("\r\nHost: docker\r\n"));
  EXPECT_THAT(sent.head, HasSubstr("\r\nContent-Type: application/x-tar\r\n"));
  EXPECT_THAT(sent.head, HasSubstr("\r\nX-Registry-Auth: e30=\r\n"));
  EXPECT_THAT(sent.head, HasSubstr("\r\nX-Empty:"));
  EXPECT_THAT(sent.head, Not(HasSubstr("Expect")));
}

TEST(BlockingCall, SendsAnEmptyPostWithLengthZeroAndNoType) {
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  Client client(daemon->endpoint());
  ASSERT_TRUE(client->Call(NewRequest("POST", "/containers/a/start"), Bounded()).ok());
  ASSERT_TRUE(client->Call(NewRequest("DELETE", "/containers/a"), Bounded()).ok());
  const auto requests = daemon->requests();
  EXPECT_THAT(requests.at(0).head, HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(requests.at(0).head, Not(HasSubstr("Content-Type")));
  EXPECT_THAT(requests.at(1).head, Not(HasSubstr("Content-Length")));
}

TEST(BlockingCall, AnswersHeadWithoutABody) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    while (peer.ReadRequest()) peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nApi-Version: 1.44\r\n\r\n");
  });
  Client client(daemon->endpoint());
  for (int i = 0; i < 2; ++i) {
    const auto response = client->Call(NewRequest("HEAD", "/_ping", true), Bounded());
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->Header("Api-Version"), "1.44");
    EXPECT_EQ(response->body, "");
  }
  EXPECT_EQ(daemon->requests().at(0).method(), "HEAD");
}

TEST(BlockingCall, JoinsChunksAndSkipsInterimAnswers) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    while (peer.ReadRequest()) {
      peer.SendByteByByte(
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n");
    }
  });
  Client client(daemon->endpoint());
  const auto response = client.Get("/");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "abcde");
  ASSERT_EQ(response->headers.size(), 1u);
}

TEST(BlockingCall, DoesNotFollowRedirectsOrDecodeContent) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    while (peer.ReadRequest()) {
      peer.Send(Answer(301, "not gzip", {"Location: /elsewhere", "Content-Encoding: gzip"}));
    }
  });
  Client client(daemon->endpoint());
  const auto response = client.Get("/");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 301);
  EXPECT_EQ(response->body, "not gzip");
  EXPECT_EQ(daemon->requests().size(), 1u);
}

TEST(BlockingCall, KeepsAConnectionForIdempotentCallsOnly) {
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  Client client(daemon->endpoint());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.Get("/_ping").ok());
  EXPECT_EQ(daemon->connections(), 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->Call(NewRequest("POST", "/x"), Bounded()).ok());
  EXPECT_EQ(daemon->connections(), 4);
  // The kept one is still there.
  ASSERT_TRUE(client.Get("/_ping").ok());
  EXPECT_EQ(daemon->connections(), 4);
}

TEST(BlockingCall, RepeatsAnIdempotentCallOnceWhenItsKeptConnectionDies) {
  // The first connection answers once, takes the second request and dies on it.
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(Answer(200, "first"));
    if (!peer.ReadRequest()) return;
    if (peer.number() > 0) peer.Send(Answer(200, "again"));
  });
  Client client(daemon->endpoint());
  EXPECT_EQ(client.Get("/")->body, "first");
  const auto second = client.Get("/");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->body, "first");
  EXPECT_EQ(daemon->connections(), 2);
  EXPECT_EQ(daemon->requests().size(), 3u);
}

TEST(BlockingCall, GivesUpWhenTheSecondConnectionDiesToo) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    if (peer.number() == 0) {
      peer.Send(Answer(200, "first"));
      (void)peer.ReadRequest();
    }
  });
  Client client(daemon->endpoint());
  ASSERT_TRUE(client.Get("/").ok());
  EXPECT_EQ(CodeOf(client.Get("/").status()), Code::kBackend);
  EXPECT_EQ(daemon->connections(), 2);
}

TEST(BlockingCall, FindsAKeptConnectionThatWasClosedMeanwhile) {
  Latch close_now;
  Latch closed;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(Answer(200, "OK"));
    if (peer.number() > 0) return;
    close_now.Wait();
    peer.Reset();
    closed.Set();
  });
  Client client(daemon->endpoint());
  ASSERT_TRUE(client.Get("/").ok());
  close_now.Set();
  ASSERT_TRUE(closed.Wait());
  const auto response = client.Get("/");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(daemon->connections(), 2);
}

TEST(BlockingCall, NeverRepeatsACallThatChangesSomething) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) { (void)peer.ReadRequest(); });
  Client client(daemon->endpoint());
  const auto response = client->Call(NewRequest("POST", "/containers/create"), Bounded());
  EXPECT_EQ(CodeOf(response.status()), Code::kBackend);
  EXPECT_EQ(daemon->requests().size(), 1u);
  EXPECT_EQ(daemon->connections(), 1);
}

TEST(BlockingCall, ServesFiftyThreadsAtOnce) {
  // No answer before all fifty requests are there, so that the calls really are under way together.
  std::atomic<int> waiting{0};
  Latch all_there;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    while (const auto request = peer.ReadRequest()) {
      if (++waiting == 50) all_there.Set();
      all_there.Wait();
      peer.Send(Answer(200, request->target()));
    }
  });
  Client client(daemon->endpoint());
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&client, &good, i] {
      for (int round = 0; round < 4; ++round) {
        const std::string target = "/" + std::to_string(i) + "/" + std::to_string(round);
        const auto response = client.Get(target, i % 2 == 0);
        if (response.ok() && response->body == target) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

}  // namespace
}  // namespace osbx::transport
