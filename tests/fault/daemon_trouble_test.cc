// No daemon, none that answers, or one that answers nonsense: calls that need no sandbox. No engine is needed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fault/fault_support.h"

extern "C" {
#include "support/scripted_daemon.h"
}

namespace osbx::testing {
namespace {

// Far above what is promised (100 ms), for machines under load; the true figures are printed.
constexpr int64_t kGenerousMs = 2000;

using Operation = std::function<Status(osbx_backend* backend, osbx_cancel* cancel)>;

std::vector<std::pair<const char*, Operation>> Operations() {
  return {
      {"create",
       [](osbx_backend* backend, osbx_cancel* cancel) {
         Sandbox sandbox;
         return Create(backend, "a", &sandbox, cancel);
       }},
      {"open",
       [](osbx_backend* backend, osbx_cancel* cancel) {
         Sandbox sandbox;
         return Open(backend, "a", &sandbox, cancel);
       }},
      {"list", [](osbx_backend* backend, osbx_cancel* cancel) { return List(backend, nullptr, cancel); }},
      {"destroy", [](osbx_backend* backend, osbx_cancel* cancel) { return Destroy(backend, "a", cancel); }},
  };
}

// Every operation against `host` fails with `expected`, in time, and leaves nothing open.
void ExpectAllFail(const std::string& host, osbx_status expected, const char* what) {
  const LeakCheck leaks;
  for (const auto& [name, operation] : Operations()) {
    const Backend backend = NewBackend(host);
    const Cancel cancel = NewCancel(20000);
    const Status status = operation(backend.get(), cancel.get());
    EXPECT_EQ(status.code, expected) << name << ": " << status;
    EXPECT_FALSE(status.message.empty());
    EXPECT_LT(status.ms, kGenerousMs) << name;
    Figure("%s, %s: %s after %lld ms: %s", what, name, osbx_status_name(status.code), static_cast<long long>(status.ms),
           status.message.c_str());
  }
  leaks.ExpectNoLeak();
}

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/osbx-fault-XXXXXX";
    path_ = mkdtemp(pattern);
    chmod(path_.c_str(), 0755);
  }
  ~Folder() { (void)std::system(("rm -rf " + path_).c_str()); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class Daemon {
 public:
  explicit Daemon(const scripted_answer* script) : daemon_(scripted_daemon_start(script)) {}
  ~Daemon() { scripted_daemon_stop(daemon_); }
  std::string uri() const { return scripted_daemon_uri(daemon_); }
  std::string path() const { return scripted_daemon_path(daemon_); }
  bool WaitRequest(const char* match) { return scripted_daemon_wait_request(daemon_, match) != 0; }

 private:
  scripted_daemon* const daemon_;
};

TEST(DaemonTrouble, NoSocketIsUnreachable) {
  const Folder folder;
  ExpectAllFail("unix://" + folder.Path("none"), OSBX_E_UNREACHABLE, "no such socket");
}

TEST(DaemonTrouble, FileThatIsNoSocketIsUnreachable) {
  const Folder folder;
  close(open(folder.Path("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  ExpectAllFail("unix://" + folder.Path("file"), OSBX_E_UNREACHABLE, "a file");
}

TEST(DaemonTrouble, SocketThatNobodyListensOnIsUnreachable) {
  const Folder folder;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.Path("dead").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  ExpectAllFail("unix://" + folder.Path("dead"), OSBX_E_UNREACHABLE, "a dead socket");
}

TEST(DaemonTrouble, TcpPortThatNobodyListensOnIsUnreachable) {
  ExpectAllFail("tcp://127.0.0.1:1", OSBX_E_UNREACHABLE, "a dead port");
}

// Root may connect to anything, so this is seen by a process that is not root.
TEST(DaemonTrouble, SocketThatRefusesUsIsPermission) {
  static const scripted_answer script[] = {{"", nullptr}, {nullptr, nullptr}};
  Daemon daemon(script);
  ASSERT_EQ(chmod(daemon.path().c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const Backend backend = NewBackend(daemon.uri());
    const Status status = List(backend.get(), nullptr, NewCancel(10000).get());
    if (status.code != OSBX_E_PERMISSION) std::cerr << status << "\n";
    _exit(status.code == OSBX_E_PERMISSION ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  if (getuid() == 0) {
    EXPECT_EQ(ended, 0);
  }
}

TEST(DaemonTrouble, SilentDaemonEndsAtTheDeadline) {
  static const scripted_answer silent[] = {{"", nullptr}, {nullptr, nullptr}};
  static const scripted_answer after_ping[] = {{"/_ping", SCRIPTED_PING}, {"", nullptr}, {nullptr, nullptr}};
  for (const scripted_answer* script : {silent, after_ping}) {
    const LeakCheck leaks;
    {
      Daemon daemon(script);
      for (const auto& [name, operation] : Operations()) {
        const Backend backend = NewBackend(daemon.uri());
        const Cancel cancel = NewCancel(300);
        const Status status = operation(backend.get(), cancel.get());
        EXPECT_EQ(status.code, OSBX_E_TIMEOUT) << name << ": " << status;
        EXPECT_GE(status.ms, 295) << name;
        EXPECT_LT(status.ms, 300 + kGenerousMs) << name;
        Figure("silent%s, deadline 300 ms, %s: %lld ms", script == silent ? "" : " after the ping", name,
               static_cast<long long>(status.ms));
      }
    }
    leaks.ExpectNoLeak();
  }
}

TEST(DaemonTrouble, SilentDaemonIsLeftWhenTheTokenIsFired) {
  static const scripted_answer silent[] = {{"", nullptr}, {nullptr, nullptr}};
  for (const auto& [name, operation] : Operations()) {
    const LeakCheck leaks;
    {
      Daemon daemon(silent);
      const Backend backend = NewBackend(daemon.uri());
      const Cancel cancel = NewCancel();
      int64_t late = 0;
      {
        const FireLater fire(cancel.get(), 200);
        const Status status = operation(backend.get(), cancel.get());
        late = monotonic_ms() - fire.fired_at();
        EXPECT_EQ(status.code, OSBX_E_CANCELED) << name << ": " << status;
      }
      EXPECT_LT(late, kGenerousMs) << name;
      Figure("silent, cancelled, %s: returned %lld ms after the cancel", name, static_cast<long long>(late));
    }
    leaks.ExpectNoLeak();
  }
}

TEST(DaemonTrouble, BacklogThatNobodyAcceptsFromEndsAtTheDeadline) {
  const Folder folder;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.Path("full").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 0), 0);
  // The queue holds one; from the second on connect(2) itself would block.
  const int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(first, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const LeakCheck leaks;
  for (const auto& [name, operation] : Operations()) {
    const Backend backend = NewBackend("unix://" + folder.Path("full"));
    const Cancel cancel = NewCancel(300);
    const Status status = operation(backend.get(), cancel.get());
    EXPECT_TRUE(status.code == OSBX_E_TIMEOUT || status.code == OSBX_E_UNREACHABLE) << name << ": " << status;
    EXPECT_LT(status.ms, 300 + kGenerousMs) << name;
    Figure("full backlog, %s: %s after %lld ms", name, osbx_status_name(status.code),
           static_cast<long long>(status.ms));
  }
  leaks.ExpectNoLeak();
  close(first);
  close(fd);
}

// What is said in place of an answer to the ping, or to the question after it.
const char* const kNonsense[] = {
    "",
    "\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/1.1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nOK",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nOK",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Ty",
    "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 500 Oh\r\nContent-Length: 9\r\n\r\n{\"messag\"",
    "HTTP/1.1 301 Away\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
};
const char* const kNonsenseAnswers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n[[1,2]]",
    "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"Id\":{\"a\":1}",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"Id\":1,\"Id\":2}",
    "HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n",
};

void ExpectClearFailures(const scripted_answer* script, const char* said) {
  Daemon daemon(script);
  for (const auto& [name, operation] : Operations()) {
    const Backend backend = NewBackend(daemon.uri());
    const Cancel cancel = NewCancel(5000);
    const Status status = operation(backend.get(), cancel.get());
    EXPECT_TRUE(status.code == OSBX_E_UNREACHABLE || status.code == OSBX_E_BACKEND)
        << name << " told \"" << said << "\": " << status;
    EXPECT_FALSE(status.message.empty()) << name << " told " << said;
    EXPECT_LT(status.ms, kGenerousMs) << name << " told " << said;
  }
}

TEST(DaemonTrouble, NonsenseInPlaceOfThePingIsAClearError) {
  const LeakCheck leaks;
  for (const char* said : kNonsense) {
    const scripted_answer script[] = {{"", said}, {nullptr, nullptr}};
    ExpectClearFailures(script, said);
  }
  leaks.ExpectNoLeak();
}

TEST(DaemonTrouble, NonsenseAfterThePingIsAClearError) {
  const LeakCheck leaks;
  for (const char* said : kNonsense) {
    const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"", said}, {nullptr, nullptr}};
    ExpectClearFailures(script, said);
  }
  for (const char* said : kNonsenseAnswers) {
    const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"", said}, {nullptr, nullptr}};
    ExpectClearFailures(script, said);
  }
  leaks.ExpectNoLeak();
}

TEST(DaemonTrouble, EndlessAnswerIsBounded) {
  // A head without end, and a body without end: refused for their size, not for the time they take.
  const std::string head = "HTTP/1.1 200 OK\r\n" + [] {
    std::string lines;
    for (int i = 0; i < 40000; ++i) lines += "X-Filler-" + std::to_string(i) + ": aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    return lines;
  }();
  const std::string body = "HTTP/1.1 200 OK\r\n\r\n" + std::string(size_t{80} << 20, ' ');
  const LeakCheck leaks;
  for (const std::string& said : {head, body}) {
    const scripted_answer script[] = {{"", said.c_str()}, {nullptr, nullptr}};
    Daemon daemon(script);
    const Backend backend = NewBackend(daemon.uri());
    const Status status = List(backend.get(), nullptr, NewCancel(20000).get());
    EXPECT_TRUE(status.code == OSBX_E_BACKEND || status.code == OSBX_E_TOO_LARGE) << status;
    Figure("endless %s: %s after %lld ms: %s", &said == &head ? "head" : "answer", osbx_status_name(status.code),
           static_cast<long long>(status.ms), status.message.c_str());
  }
  leaks.ExpectNoLeak();
}

}  // namespace
}  // namespace osbx::testing
