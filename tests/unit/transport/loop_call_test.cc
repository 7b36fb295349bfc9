#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/fake_daemon.h"
#include "transport/connection.h"
#include "unit/transport/transport_test_support.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using base::TimePoint;
using osbx::testing::Answer;
using osbx::testing::FakeConversation;
using osbx::testing::FakeDaemon;
using osbx::testing::Latch;
using osbx::testing::TestCertificates;

constexpr TimePoint kNever = TimePoint::max();

// One call, started on the loop, and what it reported. The fields belong to the loop's thread until `done` is set.
struct Watched {
  int head = 0;
  std::string body;
  int ends = 0;
  absl::StatusOr<Response> result = absl::UnknownError("no end yet");
  Latch got_head;
  Latch got_body;
  Latch done;
  std::unique_ptr<PendingCall> pending;

  CallHandlers Handlers(bool with_body = true) {
    CallHandlers handlers;
    handlers.on_head = [this](int status) {
      head = status;
      got_head.Set();
    };
    if (with_body) {
      handlers.on_body = [this](std::string_view bytes) {
        body.append(bytes);
        got_body.Set();
        return true;
      };
    }
    handlers.on_done = [this](absl::StatusOr<Response> answer) {
      ++ends;
      result = std::move(answer);
      done.Set();
    };
    return handlers;
  }
};

TEST(LoopCall, CollectsABody) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(Answer(200, "{\"StatusCode\":7}", {"A: b"}));
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] {
    Request request = NewRequest("POST", "/containers/a/wait?condition=next-exit");
    request.content_type = "application/json";
    request.body = "{}";
    // The request need not outlive its start.
    call.pending = client->Start(request, kNever, call.Handlers(false));
    request.body.assign(2, 'x');
  });
  ASSERT_TRUE(call.done.Wait());
  ASSERT_TRUE(call.result.ok()) << call.result.status();
  EXPECT_EQ(call.result->body, "{\"StatusCode\":7}");
  EXPECT_EQ(call.result->Header("a"), "b");
  EXPECT_EQ(call.head, 200);
  EXPECT_EQ(daemon->requests().at(0).body, "{}");
  client.OnLoop([&] { call.pending.reset(); });
  EXPECT_EQ(call.ends, 1);
}

TEST(LoopCall, ReportsTheHeadBeforeABodyThatTakesForEver) {
  Latch next;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    next.Wait();
    peer.Send("5\r\nevent\r\n");
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] { call.pending = client->Start(NewRequest("GET", "/events"), kNever, call.Handlers()); });
  ASSERT_TRUE(call.got_head.Wait());
  EXPECT_FALSE(call.got_body.IsSet());
  next.Set();
  ASSERT_TRUE(call.got_body.Wait());
  client.OnLoop([&] { call.pending.reset(); });
  EXPECT_EQ(call.head, 200);
  EXPECT_EQ(call.body, "event");
  EXPECT_EQ(call.ends, 0);
}

TEST(LoopCall, CollectsAnErrorsBodyEvenWhereBodiesArePassedOn) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(Answer(404, "no such container"));
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] { call.pending = client->Start(NewRequest("GET", "/x"), kNever, call.Handlers()); });
  ASSERT_TRUE(call.done.Wait());
  ASSERT_TRUE(call.result.ok());
  EXPECT_EQ(call.result->status, 404);
  EXPECT_EQ(call.result->body, "no such container");
  EXPECT_EQ(call.body, "");
  client.OnLoop([&] { call.pending.reset(); });
}

TEST(LoopCall, EndsAtItsDeadline) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) { peer.WaitForEnd(); });
  Client client(daemon->endpoint());
  Watched soon;
  Watched past;
  client.OnLoop([&] {
    soon.pending =
        client->Start(NewRequest("GET", "/"), base::Clock::now() + std::chrono::milliseconds(20), soon.Handlers());
    past.pending = client->Start(NewRequest("GET", "/"), base::Clock::now(), past.Handlers());
    EXPECT_EQ(past.ends, 0);
  });
  ASSERT_TRUE(soon.done.Wait());
  ASSERT_TRUE(past.done.Wait());
  EXPECT_EQ(CodeOf(soon.result.status()), Code::kTimeout);
  EXPECT_EQ(CodeOf(past.result.status()), Code::kTimeout);
  client.OnLoop([&] { soon.pending.reset(), past.pending.reset(); });
}

TEST(LoopCall, EndsTheConnectionWhenItIsDestroyed) {
  Latch asked;
  Latch ended;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    (void)peer.ReadRequest();
    asked.Set();
    peer.WaitForEnd();
    ended.Set();
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] { call.pending = client->Start(NewRequest("GET", "/"), kNever, call.Handlers()); });
  ASSERT_TRUE(asked.Wait());
  EXPECT_FALSE(ended.IsSet());
  client.OnLoop([&] { call.pending.reset(); });
  EXPECT_TRUE(ended.Wait());
  EXPECT_EQ(call.ends, 0);
}

TEST(LoopCall, EndsWithCallbackWhenTheReceiverRefuses) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(Answer(200, "bytes"));
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] {
    CallHandlers handlers = call.Handlers();
    handlers.on_body = [](std::string_view) { return false; };
    call.pending = client->Start(NewRequest("GET", "/"), kNever, std::move(handlers));
  });
  ASSERT_TRUE(call.done.Wait());
  EXPECT_EQ(CodeOf(call.result.status()), Code::kCallback);
  client.OnLoop([&] { call.pending.reset(); });
}

TEST(LoopCall, MayBeDestroyedInEachOfItsHandlers) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(Answer(200, std::string(100'000, 'x')));
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  for (const std::string where : {"head", "body", "done"}) {
    Watched call;
    Latch reached;
    client.OnLoop([&] {
      const auto destroy = [&] {
        call.pending.reset();
        reached.Set();
      };
      CallHandlers handlers = call.Handlers();
      if (where == "head") handlers.on_head = [=](int) { destroy(); };
      if (where == "body") {
        handlers.on_body = [=](std::string_view) {
          destroy();
          return true;
        };
      }
      if (where == "done") handlers.on_done = [=](const absl::StatusOr<Response>&) { destroy(); };
      call.pending = client->Start(NewRequest("GET", "/"), kNever, std::move(handlers));
    });
    ASSERT_TRUE(reached.Wait()) << where;
    client.OnLoop([] {});
    EXPECT_EQ(call.ends, 0) << where;
    EXPECT_EQ(call.body.empty(), where != "done") << where;
  }
}

TEST(LoopCall, MayStartOthersInItsHandlers) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (const auto request = peer.ReadRequest()) peer.Send(Answer(200, request->target()));
  });
  Client client(daemon->endpoint());
  Watched first;
  Watched from_body;
  Watched from_done;
  client.OnLoop([&] {
    CallHandlers handlers = first.Handlers();
    handlers.on_body = [&](std::string_view) {
      from_body.pending = client->Start(NewRequest("GET", "/from-body"), kNever, from_body.Handlers());
      return true;
    };
    handlers.on_done = [&](const absl::StatusOr<Response>&) {
      from_done.pending = client->Start(NewRequest("GET", "/from-done"), kNever, from_done.Handlers());
    };
    first.pending = client->Start(NewRequest("GET", "/"), kNever, std::move(handlers));
  });
  ASSERT_TRUE(from_body.done.Wait());
  ASSERT_TRUE(from_done.done.Wait());
  EXPECT_EQ(from_body.body, "/from-body");
  EXPECT_EQ(from_done.body, "/from-done");
  client.OnLoop([&] { first.pending.reset(), from_body.pending.reset(), from_done.pending.reset(); });
}

TEST(LoopCall, ReportsEveryFailureThroughItsEnd) {
  Endpoint nowhere;
  nowhere.socket_path = "/nowhere/docker.sock";
  Client client(nowhere);
  Watched unreachable;
  Watched invalid;
  client.OnLoop([&] {
    unreachable.pending = client->Start(NewRequest("GET", "/"), kNever, unreachable.Handlers());
    invalid.pending = client->Start(NewRequest("GET", "no origin form"), kNever, invalid.Handlers());
    EXPECT_EQ(unreachable.ends + invalid.ends, 0);
  });
  ASSERT_TRUE(unreachable.done.Wait());
  ASSERT_TRUE(invalid.done.Wait());
  EXPECT_EQ(CodeOf(unreachable.result.status()), Code::kUnreachable);
  EXPECT_EQ(CodeOf(invalid.result.status()), Code::kInvalid);
  client.OnLoop([&] { unreachable.pending.reset(), invalid.pending.reset(); });
}

TEST(LoopCall, ReportsABrokenAnswer) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] { call.pending = client->Start(NewRequest("GET", "/"), kNever, call.Handlers()); });
  ASSERT_TRUE(call.done.Wait());
  EXPECT_EQ(CodeOf(call.result.status()), Code::kBackend);
  EXPECT_EQ(call.body, "half");
  client.OnLoop([&] { call.pending.reset(); });
}

TEST(LoopCall, OutlivesItsConnection) {
  Latch answer;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    answer.Wait();
    peer.Send(Answer(200, "late"));
  });
  Client client(daemon->endpoint());
  Watched call;
  client.OnLoop([&] { call.pending = client->Start(NewRequest("GET", "/"), kNever, call.Handlers()); });
  client.DropConnection();
  answer.Set();
  ASSERT_TRUE(call.done.Wait());
  EXPECT_EQ(call.body, "late");
  client.OnLoop([&] { call.pending.reset(); });
}

TEST(LoopCall, DrivesManyAtOnceOverTls) {
  const auto daemon = FakeDaemon::OnTls(TestCertificates::Create(), [](FakeConversation& peer) {
    if (const auto request = peer.ReadRequest()) peer.Send(Answer(200, std::string(50'000, 'x') + request->target()));
  });
  Client client(daemon->endpoint());
  std::vector<std::unique_ptr<Watched>> calls;
  client.OnLoop([&] {
    for (int i = 0; i < 20; ++i) {
      calls.push_back(std::make_unique<Watched>());
      calls.back()->pending =
          client->Start(NewRequest("GET", "/" + std::to_string(i)), kNever, calls.back()->Handlers());
    }
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(calls[i]->done.Wait());
    EXPECT_TRUE(calls[i]->result.ok()) << calls[i]->result.status();
    EXPECT_EQ(calls[i]->body, std::string(50'000, 'x') + "/" + std::to_string(i));
  }
  client.OnLoop([&] { calls.clear(); });
}

}  // namespace
}  // namespace osbx::transport
