// What a server bounds: connections, descriptors, time and memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "unit/http/server_test_support.h"

namespace osbx::http {
namespace {

using std::chrono::milliseconds;
using testing::Client;
using testing::Echo;
using testing::Event;
using testing::Eventually;
using testing::OpenDescriptors;
using testing::Text;

constexpr const char* kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kHeld = "GET /held HTTP/1.1\r\nHost: h\r\n\r\n";

class ServerLimits : public testing::ServerTest {};

// Answers when it is told to.
class Holder {
 public:
  Handler handler() {
    return [this](std::shared_ptr<Exchange> exchange) {
      held_.push_back(std::move(exchange));
      held.Set();
    };
  }
  void Answer() {
    for (const auto& exchange : held_) exchange->Respond(Text("held"));
    held_.clear();
  }
  Event held;

 private:
  std::vector<std::shared_ptr<Exchange>> held_;
};

TEST_F(ServerLimits, TheLongestIdleConnectionMakesRoom) {
  ServerOptions options;
  options.max_connections = 2;
  const auto stop = Listen(Echo, options);
  Client first = Connect();
  EXPECT_EQ(first.Ask(kGet).status, 200);
  Client second = Connect();
  EXPECT_EQ(second.Ask(kGet).status, 200);
  EXPECT_EQ(first.Ask(kGet).status, 200);  // the second is the longest idle one now
  Client third = Connect();
  EXPECT_EQ(third.Ask(kGet).status, 200);
  EXPECT_TRUE(second.Ends());
  EXPECT_EQ(first.Ask(kGet).status, 200);
}

TEST_F(ServerLimits, WithoutAnIdleConnectionTheNextOneWaits) {
  ServerOptions options;
  options.max_connections = 1;
  Holder holder;
  const auto stop = Listen(holder.handler(), options);
  Client first = Connect();
  ASSERT_TRUE(first.Send(kGet));
  ASSERT_TRUE(holder.held.Wait());
  Client second = Connect();
  ASSERT_TRUE(second.Send(kGet));
  Settle();
  EXPECT_EQ(requests_, 1);
  static_cast<void>(loop_->RunAndWait([&] { holder.Answer(); }));
  EXPECT_EQ(first.Read().body, "held");
  ASSERT_TRUE(Eventually([this] { return requests_ == 2; }));
  static_cast<void>(loop_->RunAndWait([&] { holder.Answer(); }));
  EXPECT_EQ(second.Read().body, "held");
}

// At the limit of descriptors idle connections are given up one by one; without any, the next one waits for a chance.
TEST_F(ServerLimits, OutOfDescriptorsItGoesOn) {
  Holder holder;
  const auto stop = Listen([&holder](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().target == "/held") return holder.handler()(std::move(exchange));
    Echo(exchange);
  });
  Client busy = Connect();
  ASSERT_TRUE(busy.Send(kHeld));
  ASSERT_TRUE(holder.held.Wait());
  Client idle = Connect();
  ASSERT_EQ(idle.Ask(kGet).status, 200);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Made beforehand: nothing can be opened then.
  const base::UniqueFd third(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::UniqueFd fourth(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(fourth.get(), third.get() + 1);  // so there is no gap below
  // Through no member call: UBSan checks the object of one by means of a descriptor.
  const std::atomic<int>& requests = requests_;
  base::EventLoop& loop = *loop_;
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(fourth.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto connect_to_server = [&](int fd) {
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
           send(fd, kHeld.data(), kHeld.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kHeld.size());
  };
  EXPECT_TRUE(connect_to_server(third.get()));
  EXPECT_TRUE(Eventually([&requests] { return requests == 3; }));
  EXPECT_TRUE(idle.Ends());
  EXPECT_TRUE(connect_to_server(fourth.get()));
  for (int i = 0; i < 5; ++i) static_cast<void>(loop.RunAndWait([] {}));
  EXPECT_EQ(requests, 3);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(Eventually([&requests] { return requests == 4; }));
  static_cast<void>(loop_->RunAndWait([&] { holder.Answer(); }));
  EXPECT_EQ(busy.Read().body, "held");
}

TEST_F(ServerLimits, ConnectingAndClosingCostsNothing) {
  const auto stop = Listen(Echo);
  ASSERT_EQ(Connect().Ask(kGet).status, 200);
  ASSERT_TRUE(Eventually([] { return OpenDescriptors() > 0; }));
  Client witness = Connect();
  ASSERT_EQ(witness.Ask(kGet).status, 200);
  const int before = OpenDescriptors();
  for (int i = 0; i < 2000; ++i) {
    Client client = Connect();
    ASSERT_TRUE(client.connected());
    if (i % 2 == 0) client.Kill();
  }
  EXPECT_EQ(witness.Ask(kGet).status, 200);
  EXPECT_TRUE(Eventually([before] { return OpenDescriptors() <= before; })) << OpenDescriptors() << " " << before;
  EXPECT_EQ(refusals_, 0);
  EXPECT_EQ(requests_, 3);
}

TEST_F(ServerLimits, AnIdleConnectionEndsInSilence) {
  ServerOptions options;
  options.idle_timeout = milliseconds(50);
  const auto stop = Listen(Echo, options);
  Client fresh = Connect();
  EXPECT_TRUE(fresh.Ends());
  Client used = Connect();
  EXPECT_EQ(used.Ask(kGet).status, 200);
  EXPECT_TRUE(used.Ends());
  EXPECT_EQ(refusals_, 0);
}

TEST_F(ServerLimits, AHeadThatDoesNotEndIs408) {
  ServerOptions options;
  options.head_timeout = milliseconds(50);
  const auto stop = Listen(Echo, options);
  Client client = Connect();
  EXPECT_EQ(client.Ask("GET /a HTT").status, 408);
  EXPECT_TRUE(client.Ends());
}

TEST_F(ServerLimits, ABodyThatStallsIs408) {
  ServerOptions options;
  options.idle_timeout = milliseconds(50);
  base::Code code = base::Code::kOk;
  const auto stop = Listen(
      [&code](const std::shared_ptr<Exchange>& exchange) {
        testing::ReadAll(exchange, [exchange, &code](const absl::StatusOr<std::string>& body) {
          code = base::CodeOf(body.status());
        });
      },
      options);
  Client client = Connect();
  EXPECT_EQ(client.Ask("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc").status, 408);
  EXPECT_TRUE(client.Ends());
  static_cast<void>(loop_->RunAndWait([] {}));
  EXPECT_EQ(code, base::Code::kTimeout);
}

TEST_F(ServerLimits, AClientThatDoesNotReadIsGivenUp) {
  ServerOptions options;
  options.idle_timeout = milliseconds(100);
  Event ended;
  const auto stop = Listen(
      [&ended](const std::shared_ptr<Exchange>& exchange) {
        exchange->BeginAnswer(200, {}, uint64_t{1} << 30);
        exchange->WriteBody(std::string(size_t{64} << 20, 'x'), [exchange, &ended](bool written) {
          EXPECT_FALSE(written);
          ended.Set();
        });
      },
      options);
  Client client = Connect(4096);
  ASSERT_TRUE(client.Send(kGet));
  EXPECT_TRUE(ended.Wait());
}

// Pieces are asked for only as fast as the client takes them.
TEST_F(ServerLimits, ASlowReaderHoldsTheWriterBack) {
  constexpr size_t kPiece = size_t{64} << 10;
  constexpr size_t kPieces = 1024;
  std::atomic<size_t> written{0};
  std::function<void(const std::shared_ptr<Exchange>&)> write = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->WriteBody(std::string(kPiece, 'x'), [&, exchange](bool done) {
      if (done && ++written < kPieces) write(exchange);
    });
  };
  const auto stop = Listen([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->BeginAnswer(200, {}, kPiece * kPieces);
    write(exchange);
  });
  Client client = Connect(16 * 1024);
  ASSERT_TRUE(client.Send(kGet));
  // The kernel takes a few MiB at most; when a round of the loop brings nothing more, the writer waits.
  size_t before = 0;
  ASSERT_TRUE(Eventually([&] {
    Settle();
    return written > 0 && std::exchange(before, written.load()) == written;
  }));
  EXPECT_LT(written, kPieces / 2);
  EXPECT_EQ(client.Read().body.size(), kPiece * kPieces);
}

// What a client sends while a handler works waits in the kernel, but for 64 KiB.
TEST_F(ServerLimits, AHandlerThatDoesNotReadHoldsTheClientBack) {
  Holder holder;
  const auto stop = Listen(holder.handler());
  Client client = Connect();
  const timeval moment{0, 200'000};
  setsockopt(client.fd(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
  EXPECT_FALSE(client.Send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 104857600\r\n\r\n" +
                           std::string(size_t{100} << 20, 'x')));
  static_cast<void>(loop_->RunAndWait([&] { holder.Answer(); }));
  EXPECT_EQ(client.Read().body, "held");
}

}  // namespace
}  // namespace osbx::http
