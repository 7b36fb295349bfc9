// A server for tests that does byte for byte what a script says: answer, dawdle, break off, or never answer.
//
//   auto daemon = FakeDaemon::OnUnixSocket([](FakeConversation& peer) {
//     while (peer.ReadRequest()) peer.Send(Answer(200, "OK"));
//   });
//   ... NewConnection(daemon->endpoint(), loop) ...
//
// Every connection runs the script on a thread of its own; when the script returns, the connection is closed. Nothing
// here waits for ever: destroying the daemon breaks every connection, and reads then find the end.
#ifndef OSBX_TESTS_SUPPORT_FAKE_DAEMON_H_
#define OSBX_TESTS_SUPPORT_FAKE_DAEMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "support/tls_server.h"
#include "transport/endpoint.h"

namespace osbx::testing {

// A condition that one thread sets and others wait for, at most ten seconds.
class Latch {
 public:
  void Set();
  bool Wait();  // false when the time is over
  bool IsSet();

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// "HTTP/1.1 200 OK", the headers given, a Content-Length, and the body.
std::string Answer(int status, std::string_view body, const std::vector<std::string>& header_lines = {});
// The head of a stream: 101 with the content type application/vnd.docker.<type>.
std::string UpgradeAnswer(std::string_view type = "raw-stream");
// One frame of the engine's multiplexed stream.
std::string StreamFrame(uint8_t stream, std::string_view payload);

struct FakeRequest {
  std::string head;  // up to and with the blank line
  std::string body;
  std::string method() const;
  std::string target() const;
};

// One accepted connection, as the script sees it. What arrives behind a request is kept for the next read.
class FakeConversation {
 public:
  // The next request, its body read as its head says; nothing at the end of the connection.
  std::optional<FakeRequest> ReadRequest();
  // At least one byte; empty at the end of the connection.
  std::string ReadSome();
  // Exactly `count` bytes, fewer at the end.
  std::string ReadExactly(size_t count);
  std::string ReadUntilEnd();
  // Returns when the peer has gone, or has ended its writing; whatever it sends before is dropped.
  void WaitForEnd() { (void)ReadUntilEnd(); }

  // False when the peer has gone.
  bool Send(std::string_view bytes);
  // Each byte in a segment of its own, as far as the system allows.
  bool SendByteByByte(std::string_view bytes);
  void EndSending();  // half-close, with TLS a close_notify
  void Reset();       // breaks off: over TCP with RST

  int number() const { return number_; }  // 0 for the daemon's first connection
  int fd() const { return fd_; }
  TlsSession* tls() { return tls_.get(); }

 private:
  friend class FakeDaemon;
  FakeConversation(int fd, int number) : fd_(fd), number_(number) {}
  bool Fill();  // one read into buffered_

  const int fd_;
  const int number_;
  std::unique_ptr<TlsSession> tls_;
  std::string buffered_;
  std::function<void(const FakeRequest&)> record_;
};

class FakeDaemon {
 public:
  using Script = std::function<void(FakeConversation& peer)>;

  static std::unique_ptr<FakeDaemon> OnUnixSocket(Script script);
  static std::unique_ptr<FakeDaemon> OnTcp(Script script);
  // The script starts after the handshake; a connection whose handshake fails never gets there.
  static std::unique_ptr<FakeDaemon> OnTls(std::shared_ptr<TestCertificates> certificates, Script script);
  // Connections are taken by the kernel, and nobody ever reads from them.
  static std::unique_ptr<FakeDaemon> Silent();
  ~FakeDaemon();

  const transport::Endpoint& endpoint() const { return endpoint_; }
  std::string uri() const;  // as for DOCKER_HOST

  int connections();                   // accepted so far
  bool WaitForConnections(int count);  // at most ten seconds
  // Every request that ReadRequest() returned, in the order of their ends.
  std::vector<FakeRequest> requests();

 private:
  struct Shared;
  FakeDaemon(transport::Endpoint endpoint, int listener, Script script, std::shared_ptr<TestCertificates> certificates);

  transport::Endpoint endpoint_;
  std::string folder_;  // of the unix socket
  std::unique_ptr<Shared> shared_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_FAKE_DAEMON_H_
