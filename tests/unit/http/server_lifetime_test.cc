// Clients that go, servers that end, and large bodies.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "unit/http/server_test_support.h"

namespace osbx::http {
namespace {

using testing::Client;
using testing::Echo;
using testing::Event;
using testing::Response;
using testing::Text;

constexpr const char* kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

class ServerLifetime : public testing::ServerTest {
 protected:
  // Keeps the exchange, and says when its client has gone.
  Handler Keep() {
    return [this](const std::shared_ptr<Exchange>& exchange) {
      kept_ = exchange;
      exchange->OnClientGone([this] { gone_.Set(); });
      kept.Set();
    };
  }
  void OnLoop(base::EventLoop::Task task) const { ASSERT_TRUE(loop_->RunAndWait(std::move(task)).ok()); }
  void TearDown() override {
    OnLoop([this] { kept_.reset(); });
  }

  std::shared_ptr<Exchange> kept_;
  Event kept;
  Event gone_;
};

TEST_F(ServerLifetime, AClientThatClosesIsNoticed) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  ASSERT_TRUE(kept.Wait());
  client.Close();
  EXPECT_TRUE(gone_.Wait());
}

TEST_F(ServerLifetime, AClientThatResetsIsNoticed) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  ASSERT_TRUE(kept.Wait());
  client.Kill();
  EXPECT_TRUE(gone_.Wait());
}

TEST_F(ServerLifetime, AClientThatEndsItsSideIsToldTheAnswerAllTheSame) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  client.EndSending();
  EXPECT_TRUE(gone_.Wait());
  OnLoop([this] { kept_->Respond(Text("late")); });
  EXPECT_EQ(client.Read().body, "late");
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerLifetime, AnAnsweredClientIsNotMissed) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  ASSERT_TRUE(kept.Wait());
  OnLoop([this] { kept_->Respond(Text("x")); });
  EXPECT_EQ(client.Read().body, "x");
  client.Close();
  Settle();
  server_.reset();
  bool missed = true;
  OnLoop([&] { kept_->OnClientGone([&missed] { missed = false; }); });
  EXPECT_TRUE(missed);
}

TEST_F(ServerLifetime, AClientThatGoesBehindFullBuffersIsNoticed) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  ASSERT_TRUE(kept.Wait());
  ASSERT_TRUE(client.Send(std::string(100'000, 'x')));  // more than is read ahead
  client.EndSending();
  EXPECT_TRUE(gone_.Wait());
}

TEST_F(ServerLifetime, ABodyThatBreaksOffIsAnError) {
  Event told;
  base::Code code = base::Code::kOk;
  const auto stop = Listen([&](const std::shared_ptr<Exchange>& exchange) {
    testing::ReadAll(exchange, [&, exchange](const absl::StatusOr<std::string>& body) {
      code = base::CodeOf(body.status());
      exchange->Respond(Text("in vain"));
      told.Set();
    });
  });
  Client client = Connect();
  ASSERT_TRUE(client.Send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc"));
  client.EndSending();
  ASSERT_TRUE(told.Wait());
  EXPECT_EQ(code, base::Code::kCanceled);
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerLifetime, AbortCutsTheAnswer) {
  const auto stop = Listen([](const std::shared_ptr<Exchange>& exchange) {
    exchange->BeginAnswer(200, {}, 100);
    exchange->WriteBody("abc", [exchange](bool) { exchange->Abort(); });
  });
  Client client = Connect();
  EXPECT_EQ(client.Ask(kGet).status, 0);
}

TEST_F(ServerLifetime, AnExchangeOutlivesItsServer) {
  const auto stop = Listen(Keep());
  Client client = Connect();
  ASSERT_TRUE(client.Send(kGet));
  ASSERT_TRUE(kept.Wait());
  server_.reset();
  EXPECT_TRUE(gone_.Wait());
  EXPECT_TRUE(client.Ends());
  int calls = 0;
  OnLoop([&] {
    kept_->ReadBody([&](const absl::StatusOr<std::string>& piece) {
      EXPECT_EQ(base::CodeOf(piece.status()), base::Code::kCanceled);
      ++calls;
    });
    kept_->BeginAnswer(200, {}, 3);
    kept_->WriteBody("abc", [&](bool written) {
      EXPECT_FALSE(written);
      ++calls;
    });
    kept_->Respond(Text("x"));
    kept_->OnClientGone([] {});
    kept_->Abort();
  });
  EXPECT_EQ(calls, 2);
}

TEST_F(ServerLifetime, AnExchangeMayBeDroppedByAnotherThread) {
  const auto stop = Listen(Keep());
  for (int i = 0; i < 20; ++i) {
    Client client = Connect();
    ASSERT_TRUE(client.Send(kGet));
    ASSERT_TRUE(testing::Eventually([&] { return requests_ == i + 1; }));
    std::shared_ptr<Exchange> taken;
    OnLoop([&] { taken = std::move(kept_); });
    std::thread([&taken] { taken.reset(); }).join();
    EXPECT_TRUE(client.Ends());
  }
}

TEST_F(ServerLifetime, NoHandlerRunsBehindTheDestructor) {
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> over{false};
    const auto stop = Listen([&over](const std::shared_ptr<Exchange>& exchange) {
      EXPECT_FALSE(over);
      Echo(exchange);
    });
    std::vector<Client> clients;
    for (int k = 0; k < 4; ++k) clients.push_back(Connect());
    for (const Client& client : clients) client.Send(std::string(kGet) + kGet + kGet);
    server_.reset();
    over = true;
    Settle();
  }
}

TEST_F(ServerLifetime, DrainingSendsWhatIsUnderWayAndTakesNothingMore) {
  const auto stop = Listen(Keep());
  Client idle = Connect();
  Client partial = Connect();
  ASSERT_TRUE(partial.Send("GET /a HT"));
  Client busy = Connect();
  ASSERT_TRUE(busy.Send(std::string(kGet) + kGet));
  ASSERT_TRUE(kept.Wait());
  Event drained;
  server_->Drain([&drained] { drained.Set(); });
  EXPECT_TRUE(idle.Ends());
  EXPECT_EQ(partial.Read().status, 0);
  EXPECT_FALSE(Connect().connected());
  OnLoop([this] { kept_->Respond(Text("last")); });
  const Response response = busy.Read();
  EXPECT_EQ(response.body, "last");
  EXPECT_TRUE(response.Has("Connection: close\r\n"));
  EXPECT_TRUE(busy.Ends());
  busy.Close();
  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(requests_, 1);
}

TEST_F(ServerLifetime, AnIdleServerIsDrainedAtOnce) {
  const auto stop = Listen(Echo);
  Event drained;
  server_->Drain([&drained] { drained.Set(); });
  EXPECT_TRUE(drained.Wait());
}

std::string Noise(size_t size) {
  std::string noise(size, '\0');
  uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return noise;
}

// Hash and length of a body go into the answer's head, and the body comes back in pieces.
TEST_F(ServerLifetime, SixtyFourMebibytesGoBothWays) {
  const std::string noise = Noise(size_t{64} << 20);
  auto received = std::make_shared<std::string>();
  size_t largest = 0;
  std::function<void(const std::shared_ptr<Exchange>&, size_t)> write;
  write = [&](const std::shared_ptr<Exchange>& exchange, size_t from) {
    if (from == received->size()) return;
    const std::string piece = received->substr(from, size_t{256} << 10);
    exchange->WriteBody(piece, [&write, exchange, next = from + piece.size()](bool written) {
      EXPECT_TRUE(written);
      if (written) write(exchange, next);
    });
  };
  std::function<void(const std::shared_ptr<Exchange>&)> read = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->ReadBody([&, exchange](const absl::StatusOr<std::string>& piece) {
      ASSERT_TRUE(piece.ok()) << piece.status();
      largest = std::max(largest, piece->size());
      received->append(*piece);
      if (!piece->empty()) return read(exchange);
      exchange->BeginAnswer(200, {}, received->size());
      write(exchange, 0);
    });
  };
  const auto stop = Listen([&](const std::shared_ptr<Exchange>& exchange) {
    received->clear();
    read(exchange);
  });
  Client client = Connect();
  for (const bool chunked : {false, true}) {
    ASSERT_TRUE(client.Send("PUT /a HTTP/1.1\r\nHost: h\r\n"));
    if (chunked) {
      ASSERT_TRUE(client.Send("Transfer-Encoding: chunked\r\n\r\n"));
      for (size_t at = 0; at < noise.size(); at += size_t{1} << 20) {
        ASSERT_TRUE(client.Send("100000\r\n" + noise.substr(at, size_t{1} << 20) + "\r\n"));
      }
      ASSERT_TRUE(client.Send("0\r\n\r\n"));
    } else {
      ASSERT_TRUE(client.Send("Content-Length: " + std::to_string(noise.size()) + "\r\n\r\n"));
      ASSERT_TRUE(client.Send(noise));
    }
    EXPECT_TRUE(client.Read().body == noise);
  }
  EXPECT_LE(largest, size_t{256} << 10);
}

}  // namespace
}  // namespace osbx::http
