#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_daemon.h"
#include "transport/connection.h"
#include "unit/transport/transport_test_support.h"

namespace {

// Never destroyed: the resolver's thread may still look at them.
osbx::testing::Latch& lookup_begun = *new osbx::testing::Latch;
osbx::testing::Latch& lookup_may_end = *new osbx::testing::Latch;
osbx::testing::Latch& lookup_ended = *new osbx::testing::Latch;

}  // namespace

// In place of the system's, for libcurl too: one name's lookup hangs.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node, const char* service,
                                                                  const addrinfo* hints, addrinfo** result) {
  if (node != nullptr && std::strcmp(node, "hangs.invalid") == 0) {
    lookup_begun.Set();
    lookup_may_end.Wait();
    lookup_ended.Set();
    return EAI_AGAIN;
  }
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using osbx::testing::Answer;
using osbx::testing::FakeConversation;
using osbx::testing::FakeDaemon;
using osbx::testing::Latch;
using ::testing::HasSubstr;

Endpoint UnixEndpoint(const std::string& path) {
  Endpoint endpoint;
  endpoint.socket_path = path;
  return endpoint;
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// The outcome of one GET from a daemon that reads the request, sends `bytes` and closes.
absl::StatusOr<Response> OutcomeOf(const std::string& bytes, size_t max_response = 1 << 20) {
  const auto daemon = FakeDaemon::OnUnixSocket([&bytes](FakeConversation& peer) {
    if (peer.ReadRequest()) peer.Send(bytes);
  });
  Client client(daemon->endpoint());
  Request request = NewRequest("GET", "/", true);
  request.max_response = max_response;
  return client->Call(request, Bounded());
}

TEST(CallFailure, NamesAMissingSocket) {
  Client client(UnixEndpoint("/nowhere/docker.sock"));
  const auto response = client.Get("/_ping");
  EXPECT_EQ(CodeOf(response.status()), Code::kUnreachable);
  EXPECT_EQ(Message(response.status()),
            "cannot reach the Docker daemon at unix:///nowhere/docker.sock: No such file or directory");
  const auto hijack = client.Hijack();
  EXPECT_EQ(CodeOf(hijack.status()), Code::kUnreachable);
  EXPECT_EQ(Message(hijack.status()), Message(response.status()));
}

TEST(CallFailure, NamesARefusedConnection) {
  Endpoint unix_endpoint;
  Endpoint tcp_endpoint;
  {
    const auto tcp = FakeDaemon::OnTcp([](FakeConversation&) {});
    tcp_endpoint = tcp->endpoint();
  }
  Client tcp_client(tcp_endpoint);
  const auto refused = tcp_client.Get("/_ping");
  EXPECT_EQ(CodeOf(refused.status()), Code::kUnreachable);
  EXPECT_EQ(Message(refused.status()),
            "cannot reach the Docker daemon at " + tcp_endpoint.ToString() + ": Connection refused");

  // A socket file that nobody listens on.
  char folder[] = "/tmp/osbx-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s";
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  Client unix_client(UnixEndpoint(path));
  const auto deserted = unix_client.Get("/_ping");
  EXPECT_EQ(CodeOf(deserted.status()), Code::kUnreachable);
  EXPECT_THAT(Message(deserted.status()), HasSubstr("Connection refused"));
  unlink(path.c_str());
  rmdir(folder);
}

TEST(CallFailure, SaysThatTheSocketMayNotBeOpened) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation&) {});
  ASSERT_EQ(chmod(daemon->endpoint().socket_path.c_str(), 0), 0);
  // The thread alone becomes another user, for whom the mode counts.
  absl::Status status;
  absl::Status hijack_status;
  std::thread([&] {
    if (geteuid() == 0) {
      ASSERT_EQ(
          chmod(daemon->endpoint().socket_path.substr(0, daemon->endpoint().socket_path.rfind('/')).c_str(), 0755), 0);
      ASSERT_EQ(syscall(SYS_setresuid, -1, 65534, -1), 0);
    }
    Client client(daemon->endpoint());
    status = client.Get("/_ping").status();
    hijack_status = client.Hijack().status();
  }).join();
  EXPECT_EQ(CodeOf(status), Code::kPermission);
  EXPECT_THAT(Message(status), HasSubstr(daemon->endpoint().ToString() + ": Permission denied"));
  EXPECT_EQ(CodeOf(hijack_status), Code::kPermission);
}

TEST(CallFailure, SaysThatTheQueueOfConnectionsIsFull) {
  char folder[] = "/tmp/osbx-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s";
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  std::vector<int> fillers;
  for (;;) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    fillers.push_back(fd);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) break;
    ASSERT_LT(fillers.size(), 10u);
  }
  Client client(UnixEndpoint(path));
  for (const absl::Status& status : {client.Get("/_ping").status(), client.Hijack().status()}) {
    EXPECT_EQ(CodeOf(status), Code::kUnreachable) << status;
    EXPECT_THAT(Message(status), HasSubstr("queue of connections is full"));
  }
  for (const int fd : fillers) close(fd);
  close(listener);
  unlink(path.c_str());
  rmdir(folder);
}

TEST(CallFailure, NamesAHostThatDoesNotResolve) {
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kTcp;
  endpoint.authority = "engine.invalid:2375";
  Client client(endpoint);
  const auto response = client.Get("/_ping");
  EXPECT_EQ(CodeOf(response.status()), Code::kUnreachable);
  EXPECT_THAT(Message(response.status()), HasSubstr("tcp://engine.invalid:2375"));
}

TEST(CallFailure, EndsWhileTheHostIsLookedUp) {
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kTcp;
  endpoint.authority = "hangs.invalid:2375";
  Client client(endpoint);
  const auto token = std::make_shared<base::CancelToken>();
  absl::Status status;
  std::thread caller([&] { status = client->Call(NewRequest("GET", "/"), Bounded(token)).status(); });
  EXPECT_TRUE(lookup_begun.Wait());
  token->Fire();
  caller.join();
  EXPECT_EQ(CodeOf(status), Code::kCanceled);
  // The call did not wait for it.
  EXPECT_FALSE(lookup_ended.IsSet());
  lookup_may_end.Set();
  EXPECT_TRUE(lookup_ended.Wait());
}

TEST(CallFailure, RefusesAnAnswerThatIsNotHttp) {
  const char* const broken[] = {
      "",
      "SSH-2.0-OpenSSH\r\n",
      "HTTP/1.1",
      "HTTP/1.1 200 OK\r\nContent-Le",
      "HTTP/1.1 200 OK\n\nbody",
      "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
      "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching\r\nUpgrade: tcp\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
  };
  for (const char* bytes : broken) {
    const auto response = OutcomeOf(bytes);
    EXPECT_EQ(CodeOf(response.status()), Code::kBackend) << bytes << response.status();
  }
}

TEST(CallFailure, RefusesABodyThatEndsTooEarly) {
  const char* const broken[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  };
  for (const char* bytes : broken) {
    const auto response = OutcomeOf(bytes);
    EXPECT_EQ(CodeOf(response.status()), Code::kBackend) << bytes << response.status();
  }
}

TEST(CallFailure, BoundsTheBody) {
  EXPECT_TRUE(OutcomeOf(Answer(200, std::string(1000, 'x')), 1000).ok());
  EXPECT_EQ(CodeOf(OutcomeOf(Answer(200, std::string(1001, 'x')), 1000).status()), Code::kTooLarge);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + std::string(0xfff, 'x');
  EXPECT_EQ(CodeOf(OutcomeOf(chunked, 1000).status()), Code::kTooLarge);
  EXPECT_EQ(CodeOf(OutcomeOf("HTTP/1.1 200 OK\r\n\r\n" + std::string(1001, 'x'), 1000).status()), Code::kTooLarge);
}

TEST(CallFailure, BoundsTheHead) {
  std::string many = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  for (int i = 0; i < 99; ++i) many += "A: b\r\n";
  EXPECT_TRUE(OutcomeOf(many + "\r\n").ok());
  EXPECT_EQ(CodeOf(OutcomeOf(many + "A: b\r\n\r\n").status()), Code::kBackend);
  const std::string long_line = "HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n";
  EXPECT_EQ(CodeOf(OutcomeOf(long_line).status()), Code::kBackend);
  std::string trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 12'000; ++i) trailers += "A: b\r\n";
  EXPECT_EQ(CodeOf(OutcomeOf(trailers + "\r\n").status()), Code::kBackend);
}

TEST(CallFailure, EndsAnEndlessHead) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    while (peer.Send("HTTP/1.1 100 Continue\r\n\r\n")) {
    }
  });
  Client client(daemon->endpoint());
  EXPECT_EQ(CodeOf(client.Get("/").status()), Code::kBackend);
}

TEST(CallFailure, RefusesABadRequestWithoutSendingIt) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) { (void)peer.ReadRequest(); });
  Client client(daemon->endpoint());
  EXPECT_EQ(CodeOf(client.Get("/a b").status()), Code::kInvalid);
  EXPECT_EQ(CodeOf(client.Hijack("/a\r\n").status()), Code::kInvalid);
  EXPECT_EQ(daemon->connections(), 0);
}

// A daemon that accepts and never answers, one that stops within the head, and one within the body.
const std::vector<std::string> kStops = {"", "HTTP/1.1 200 OK\r\nConte",
                                         "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
                                         "HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"};

TEST(CallFailure, EndsAtTheDeadlineWhereverTheDaemonStops) {
  for (const std::string& start : kStops) {
    const auto daemon = FakeDaemon::OnUnixSocket([&start](FakeConversation& peer) {
      if (peer.ReadRequest()) peer.Send(start);
      peer.WaitForEnd();
    });
    Client client(daemon->endpoint());
    const auto context = [] { return base::Context().WithTimeout(std::chrono::milliseconds(50)); };
    EXPECT_EQ(CodeOf(client->Call(NewRequest("GET", "/", true), context()).status()), Code::kTimeout) << start;
    if (start.find("200 OK\r\nContent") != std::string::npos) continue;  // an upgraded request has an answer there
    EXPECT_EQ(CodeOf(client->Hijack(NewRequest("POST", "/"), context()).status()), Code::kTimeout) << start;
  }
}

TEST(CallFailure, EndsWhenTheTokenFires) {
  for (const std::string& start : kStops) {
    for (const bool hijack : {false, true}) {
      Latch stuck;
      const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
        if (peer.ReadRequest()) peer.Send(start);
        stuck.Set();
        peer.WaitForEnd();
      });
      Client client(daemon->endpoint());
      const auto token = std::make_shared<base::CancelToken>();
      absl::Status status;
      std::thread caller([&] {
        status = hijack ? client->Hijack(NewRequest("POST", "/"), Bounded(token)).status()
                        : client->Call(NewRequest("GET", "/"), Bounded(token)).status();
      });
      EXPECT_TRUE(stuck.Wait());
      token->Fire();
      caller.join();
      EXPECT_EQ(CodeOf(status), Code::kCanceled) << start << hijack;
    }
  }
}

TEST(CallFailure, EndsAtADeadlineThatIsSetDuringTheCall) {
  Latch stuck;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    (void)peer.ReadRequest();
    stuck.Set();
    peer.WaitForEnd();
  });
  Client client(daemon->endpoint());
  const auto token = std::make_shared<base::CancelToken>();
  absl::Status status;
  std::thread caller([&] { status = client->Call(NewRequest("GET", "/"), Bounded(token)).status(); });
  EXPECT_TRUE(stuck.Wait());
  token->SetDeadline(base::Clock::now());
  caller.join();
  EXPECT_EQ(CodeOf(status), Code::kTimeout);
}

TEST(CallFailure, DoesNotConnectForACallThatIsOverBeforeItBegins) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) { (void)peer.ReadRequest(); });
  Client client(daemon->endpoint());
  const auto token = std::make_shared<base::CancelToken>();
  token->Fire();
  EXPECT_EQ(CodeOf(client->Call(NewRequest("GET", "/"), base::Context(token)).status()), Code::kCanceled);
  EXPECT_EQ(CodeOf(client->Hijack(NewRequest("GET", "/"), base::Context(token)).status()), Code::kCanceled);
  const base::Context past(nullptr, base::Clock::now());
  EXPECT_EQ(CodeOf(client->Call(NewRequest("GET", "/"), past).status()), Code::kTimeout);
  EXPECT_EQ(daemon->connections(), 0);
}

TEST(CallFailure, EndsWhileTheRequestCannotBeSent) {
  // Nobody reads, so a large body gets stuck.
  const auto daemon = FakeDaemon::Silent();
  Client client(daemon->endpoint());
  Request request = NewRequest("PUT", "/archive");
  request.content_type = "application/x-tar";
  request.body.assign(16 << 20, 'x');
  const auto context = [] { return base::Context().WithTimeout(std::chrono::milliseconds(50)); };
  EXPECT_EQ(CodeOf(client->Call(request, context()).status()), Code::kTimeout);
  EXPECT_EQ(CodeOf(client->Hijack(request, context()).status()), Code::kTimeout);
}

}  // namespace
}  // namespace osbx::transport
