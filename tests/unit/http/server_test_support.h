// A server on a loop of its own, and a client that says exactly what it is told to.
#ifndef OSBX_TESTS_UNIT_HTTP_SERVER_TEST_SUPPORT_H_
#define OSBX_TESTS_UNIT_HTTP_SERVER_TEST_SUPPORT_H_

#include <arpa/inet.h>
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "http/server.h"
#include "unit/base/thread_test_support.h"

namespace osbx::http::testing {

using base::testing::Event;
using base::testing::Eventually;

inline int OpenDescriptors() {
  int count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

struct Response {
  int status = 0;  // 0: the connection ended, or stalled
  std::string head;
  std::string body;
  bool Has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class Client {
 public:
  explicit Client(uint16_t port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (receive_buffer > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    const timeval limit{20, 0};  // a stalled test fails
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }

  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // One answer. `bodyless`: of a HEAD request.
  Response Read(bool bodyless = false) {
    Response response;
    size_t end = std::string::npos;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) return response;
    }
    response.head = pending_.substr(0, end + 4);
    pending_.erase(0, end + 4);
    response.status = std::stoi(response.head.substr(9, 3));
    const size_t at = response.head.find("Content-Length: ");
    const size_t size = at == std::string::npos || bodyless ? 0 : std::stoull(response.head.substr(at + 16));
    while (pending_.size() < size) {
      if (!Receive()) return Response();
    }
    response.body = pending_.substr(0, size);
    pending_.erase(0, size);
    return response;
  }

  Response Ask(std::string_view request) {
    Send(request);
    return Read();
  }

  // Whether the server closes in an orderly way without another byte.
  bool Ends() {
    char byte = 0;
    return pending_.empty() && recv(socket_.get(), &byte, 1, 0) == 0;
  }

  void EndSending() const { shutdown(socket_.get(), SHUT_WR); }
  void Close() { socket_.Reset(); }
  // With a reset.
  void Kill() {
    const linger at_once{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    socket_.Reset();
  }

 private:
  bool Receive() {
    char buffer[64 * 1024];
    const ssize_t count = recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (count > 0) pending_.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  base::UniqueFd socket_;
  bool connected_ = false;
  std::string pending_;
};

// Reads a body to its end, or to its error.
inline void ReadAll(const std::shared_ptr<Exchange>& exchange,
                    const std::function<void(absl::StatusOr<std::string>)>& done, std::string so_far = {}) {
  exchange->ReadBody([exchange, done, so_far = std::move(so_far)](absl::StatusOr<std::string> piece) {
    if (!piece.ok()) return done(piece.status());
    if (piece->empty()) return done(so_far);
    ReadAll(exchange, done, so_far + *piece);
  });
}

inline Answer Text(std::string body, int status = 200) {
  return {status, {{"Content-Type", "text/plain"}}, std::move(body)};
}

// Answers with the request's method, target and body.
inline void Echo(const std::shared_ptr<Exchange>& exchange) {
  ReadAll(exchange, [exchange](const absl::StatusOr<std::string>& body) {
    if (body.ok()) exchange->Respond(Text(exchange->request().method + " " + exchange->request().target + " " + *body));
  });
}

class ServerTest : public ::testing::Test {
 protected:
  // Ends the server before what its handler refers to.
  struct Stop {
    explicit Stop(ServerTest& t) : test(t) {}
    ~Stop() { test.server_.reset(); }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;
    ServerTest& test;
  };

  [[nodiscard]] Stop Listen(Handler handler, const ServerOptions& options = {}, const std::string& host = "127.0.0.1") {
    auto server = Server::Listen(
        loop_, host, 0, options,
        [this, handler = std::move(handler)](std::shared_ptr<Exchange> exchange) {
          ++requests_;
          handler(std::move(exchange));
        },
        [this](int status, const std::string& what) {
          ++refusals_;
          return Text(what, status);
        });
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
    return Stop(*this);
  }

  Client Connect(int receive_buffer = 0) const { return Client(server_->port(), receive_buffer); }
  // Lets everything run that is ready by now.
  void Settle() const {
    for (int i = 0; i < 5; ++i) static_cast<void>(loop_->RunAndWait([] {}));
  }

  const std::shared_ptr<base::EventLoop> loop_ = base::EventLoop::Create();
  std::atomic<int> requests_{0};
  std::atomic<int> refusals_{0};
  std::unique_ptr<Server> server_;
};

}  // namespace osbx::http::testing

#endif  // OSBX_TESTS_UNIT_HTTP_SERVER_TEST_SUPPORT_H_
