// What the host program must not notice: signals, descriptors, forks.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
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
using osbx::testing::TestCertificates;
using osbx::testing::UpgradeAnswer;

void AnswerAlways(FakeConversation& peer) {
  while (peer.ReadRequest()) peer.Send(Answer(200, "OK"));
}

// Descriptors that a program started now would inherit.
std::set<int> Inheritable() {
  std::set<int> found;
  DIR* const directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    const int flags = fcntl(fd, F_GETFD);
    if (entry->d_name[0] != '.' && fd != dirfd(directory) && flags >= 0 && (flags & FD_CLOEXEC) == 0) found.insert(fd);
  }
  closedir(directory);
  return found;
}

int OpenDescriptors() {
  int count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

// Runs `body` in a forked child, which must end well within ten seconds; 0 from it is success.
int RunInChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(ProcessManners, NoDescriptorSurvivesExec) {
  const auto certificates = TestCertificates::Create();
  const auto script = [](FakeConversation& peer) {
    while (const auto request = peer.ReadRequest()) {
      if (request->method() == "POST") {
        peer.Send(UpgradeAnswer());
        return peer.WaitForEnd();
      }
      peer.Send(Answer(200, "OK"));
    }
  };
  const auto on_unix = FakeDaemon::OnUnixSocket(script);
  const auto on_tls = FakeDaemon::OnTls(certificates, script);
  const std::set<int> before = Inheritable();
  for (FakeDaemon* daemon : {on_unix.get(), on_tls.get()}) {
    Client client(daemon->endpoint());
    ASSERT_TRUE(client.Get("/").ok());
    const auto stream = client.Hijack();
    ASSERT_TRUE(stream.ok()) << stream.status();
    std::unique_ptr<PendingCall> pending;
    client.OnLoop([&] { pending = client->Start(NewRequest("GET", "/"), base::TimePoint::max(), {}); });
    EXPECT_EQ(Inheritable(), before) << daemon->uri();
    client.OnLoop([&] { pending.reset(); });
  }
}

TEST(ProcessManners, FindsItsDescriptorsAmongManyOfTheHosts) {
  // Pairs of the host's that look like libcurl's, before and between, with bytes in them; they must stay as they are.
  std::vector<int> hosts;
  for (int i = 0; i < 40; ++i) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_EQ(send(pair[0], "\1\1\1\1\1\1\1", 7, 0), 7);
    hosts.push_back(pair[0]);
    hosts.push_back(pair[1]);
  }
  // Holes, so that new descriptors land among them.
  for (const int hole : {hosts[3], hosts[60]}) close(hole);
  const std::set<int> before = Inheritable();
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  {
    Client client(daemon->endpoint());
    ASSERT_TRUE(client.Get("/").ok());
    EXPECT_EQ(Inheritable(), before);
  }
  for (size_t i = 1; i < hosts.size(); i += 2) {
    char buffer[64];
    if (i == 3 || i == 61) continue;
    EXPECT_EQ(recv(hosts[i], buffer, sizeof(buffer), MSG_DONTWAIT), 7) << i;
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (i != 3 && i != 60) close(hosts[i]);
  }
}

TEST(ProcessManners, LeavesNoDescriptorBehind) {
  const auto certificates = TestCertificates::Create();
  const auto run = [&] {
    const auto script = [](FakeConversation& peer) {
      while (const auto request = peer.ReadRequest()) {
        peer.Send(request->method() == "POST" ? UpgradeAnswer() : Answer(200, "OK"));
      }
    };
    const auto on_unix = FakeDaemon::OnUnixSocket(script);
    const auto on_tls = FakeDaemon::OnTls(certificates, script);
    for (FakeDaemon* daemon : {on_unix.get(), on_tls.get()}) {
      Client client(daemon->endpoint());
      EXPECT_TRUE(client.Get("/").ok());
      EXPECT_TRUE(client.Hijack().ok());
      const auto token = std::make_shared<base::CancelToken>();
      token->SetDeadline(base::Clock::now() + std::chrono::milliseconds(1));
      (void)client->Call(NewRequest("GET", "/"), base::Context(token));
    }
  };
  run();
  const int before = OpenDescriptors();
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(ProcessManners, NeverRaisesSigpipeNorTouchesItsDisposition) {
  // The default disposition would end this program.
  struct sigaction initial {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &initial), 0);
  ASSERT_EQ(initial.sa_handler, SIG_DFL);
  const auto certificates = TestCertificates::Create();
  const auto script = [](FakeConversation& peer) {
    const auto request = peer.ReadRequest();
    if (!request || request->target() == "/now") return peer.Reset();
    peer.Send(UpgradeAnswer());
    peer.ReadExactly(1);
    peer.Reset();
  };
  const auto on_unix = FakeDaemon::OnUnixSocket(script);
  const auto on_tcp = FakeDaemon::OnTcp(script);
  const auto on_tls = FakeDaemon::OnTls(certificates, script);
  for (FakeDaemon* daemon : {on_unix.get(), on_tcp.get(), on_tls.get()}) {
    Client client(daemon->endpoint());
    Request request = NewRequest("PUT", "/now");
    request.content_type = "application/x-tar";
    request.body.assign(4 << 20, 'x');
    EXPECT_FALSE(client->Call(request, Bounded()).ok());
    auto result = client.Hijack("/later");
    ASSERT_TRUE(result.ok()) << result.status();
    // Everything on the dead connection, several times: the first write may still be taken by the system.
    client.OnLoop([&] {
      result->stream->Attach(client.loop());
      const std::string block(16384, 'x');
      const auto* data = reinterpret_cast<const uint8_t*>(block.data());
      ASSERT_EQ(result->stream->Write(data, block.size()).state, base::IoResult::State::kDone);
    });
    // The peer has gone once its end is there to be read.
    Latch ended;
    std::function<void()> read = [&] {
      uint8_t byte;
      const base::IoResult got = result->stream->Read(&byte, 1);
      if (got.state == base::IoResult::State::kWouldBlock) return result->stream->WaitReadable(read);
      ended.Set();
    };
    client.OnLoop([&] { read(); });
    ASSERT_TRUE(ended.Wait());
    client.OnLoop([&] {
      const std::string block(16384, 'x');
      const auto* data = reinterpret_cast<const uint8_t*>(block.data());
      for (int i = 0; i < 3; ++i) {
        EXPECT_NE(result->stream->Write(data, block.size()).state, base::IoResult::State::kWouldBlock);
      }
      (void)result->stream->ShutdownWrite();
      result->stream.reset();
      // The loop's thread blocks all signals, so there it would be pending.
      sigset_t pending;
      ASSERT_EQ(sigpending(&pending), 0);
      EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << daemon->uri();
    });
  }
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(ProcessManners, AForkedChildLeavesTheParentsConnectionsAlone) {
  Latch go_on;
  const auto certificates = TestCertificates::Create();
  const auto script = [&](FakeConversation& peer) {
    while (const auto request = peer.ReadRequest()) {
      if (request->method() != "POST") {
        peer.Send(Answer(200, "OK"));
        continue;
      }
      peer.Send(UpgradeAnswer());
      // All that arrives on the stream, up to its end.
      peer.Send("got " + peer.ReadUntilEnd());
      return;
    }
  };
  const auto on_unix = FakeDaemon::OnUnixSocket(script);
  const auto on_tls = FakeDaemon::OnTls(certificates, script);
  for (FakeDaemon* daemon : {on_unix.get(), on_tls.get()}) {
    auto client = std::make_unique<Client>(daemon->endpoint());
    ASSERT_TRUE(client->Get("/").ok());
    auto result = client->Hijack();
    ASSERT_TRUE(result.ok()) << result.status();
    const int kept = daemon->connections();
    const int child = RunInChild([&] {
      // A call of the child's own, and then everything is taken apart.
      const auto response = client->Get("/");
      if (!response.ok() || response->body != "OK") return 1;
      result->stream.reset();
      client.reset();
      return 0;
    });
    EXPECT_EQ(child, 0);
    EXPECT_EQ(daemon->connections(), kept + 1) << "the child must connect afresh";
    StreamDriver driver(client->loop(), std::move(result->stream));
    ASSERT_TRUE(driver.Write("parent").ok());
    ASSERT_TRUE(driver.ShutdownWrite().ok());
    EXPECT_EQ(driver.ReadUntilEnd(), "got parent");
    EXPECT_TRUE(driver.end_status().ok()) << driver.end_status();
    ASSERT_TRUE(client->Get("/").ok());
    EXPECT_EQ(daemon->connections(), kept + 1) << "the parent's kept connection must still work";
  }
}

TEST(ProcessManners, AForkedChildMayDropAConnectionWithCallsOnTheLoop) {
  Latch asked;
  const auto daemon = FakeDaemon::OnUnixSocket([&](FakeConversation& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
    asked.Set();
    peer.WaitForEnd();
  });
  auto client = std::make_unique<Client>(daemon->endpoint());
  std::unique_ptr<PendingCall> pending;
  Latch ended;
  client->OnLoop([&] {
    CallHandlers handlers;
    handlers.on_done = [&](const absl::StatusOr<Response>&) { ended.Set(); };
    pending = (*client)->Start(NewRequest("GET", "/"), base::TimePoint::max(), std::move(handlers));
  });
  ASSERT_TRUE(asked.Wait());
  const int child = RunInChild([&] {
    pending.reset();
    client.reset();
    return 0;
  });
  EXPECT_EQ(child, 0);
  EXPECT_FALSE(ended.IsSet());
  client->OnLoop([&] { pending.reset(); });
}

TEST(ProcessManners, SaysThatDescriptorsHaveRunOut) {
  const auto daemon = FakeDaemon::OnUnixSocket(AnswerAlways);
  const int child = RunInChild([&] {
    Client client(daemon->endpoint());
    if (!client.Get("/").ok()) return 1;
    // What is open stays usable; nothing new can be opened.
    const int lowest_free = dup(STDERR_FILENO);
    close(lowest_free);
    const rlimit no_more{static_cast<rlim_t>(lowest_free), static_cast<rlim_t>(lowest_free)};
    if (lowest_free < 0 || setrlimit(RLIMIT_NOFILE, &no_more) != 0) return 2;
    if (!client.Get("/").ok()) return 3;
    const absl::Status status = client->Call(NewRequest("POST", "/"), Bounded()).status();
    const std::string message(status.message());
    return CodeOf(status) == Code::kUnreachable && message.find("Too many open files") != std::string::npos ? 0 : 4;
  });
  EXPECT_EQ(child, 0);
}

TEST(ProcessManners, IgnoresTheEnvironmentsProxyAndHome) {
  const auto daemon = FakeDaemon::OnTcp(AnswerAlways);
  const int child = RunInChild([&] {
    // Nothing listens there.
    for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"}) {
      setenv(name, "http://127.0.0.1:1", 1);
    }
    setenv("HOME", "/nowhere", 1);
    Client client(daemon->endpoint());
    return client.Get("/").ok() ? 0 : 1;
  });
  EXPECT_EQ(child, 0);
}

TEST(ProcessManners, SurvivesAStormOfSignals) {
  const auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
    while (const auto request = peer.ReadRequest()) {
      if (request->method() == "POST") {
        peer.Send(UpgradeAnswer() + std::string(1 << 20, 'x'));
        return;
      }
      peer.Send(Answer(200, std::string(1 << 20, 'x')));
    }
  });
  const int child = RunInChild([&] {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART
    sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer{};
    const itimerspec often{{0, 1'000'000}, {0, 1'000'000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 3;
    if (timer_settime(timer, 0, &often, nullptr) != 0) return 3;
    Client client(daemon->endpoint());
    for (int i = 0; i < 20; ++i) {
      const auto response = client.Get("/", i % 2 == 0);
      if (!response.ok() || response->body.size() != 1 << 20) return 1;
      if (!client.Hijack().ok()) return 2;
    }
    return 0;
  });
  EXPECT_EQ(child, 0);
}

}  // namespace
}  // namespace osbx::transport
