#include "support/fake_daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "http/head_parser.h"

namespace osbx::testing {
namespace {

constexpr auto kBound = std::chrono::seconds(10);

void Require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::string HeaderOf(const std::string& head, const std::string& name) {
  size_t at = head.find("\r\n");
  while (at != std::string::npos) {
    const size_t start = at + 2;
    at = head.find("\r\n", start);
    if (at == std::string::npos) break;
    const std::string line = head.substr(start, at - start);
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !http::EqualsIgnoringCase(line.substr(0, colon), name)) continue;
    const size_t value = line.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

std::string Word(const std::string& line, int index) {
  size_t start = 0;
  for (; index > 0; --index) start = line.find(' ', start) + 1;
  return line.substr(start, line.find(' ', start) - start);
}

int Listen(int family, const sockaddr* address, socklen_t size) {
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Require(listener >= 0, "socket");
  Require(bind(listener, address, size) == 0, "bind");
  Require(listen(listener, 256) == 0, "listen");
  return listener;
}

int ListenOnTcp(int& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = Listen(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  socklen_t size = sizeof(address);
  Require(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port = ntohs(address.sin_port);
  return listener;
}

int ListenOnUnix(std::string& folder) {
  char pattern[] = "/tmp/osbx-test-XXXXXX";
  Require(mkdtemp(pattern) != nullptr, "mkdtemp");
  folder = pattern;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/docker.sock";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return Listen(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

void Latch::Set() {
  base::MutexLock lock(mutex_);
  set_ = true;
  changed_.NotifyAll();
}

bool Latch::Wait() {
  const auto deadline = std::chrono::steady_clock::now() + kBound;
  base::MutexLock lock(mutex_);
  while (!set_ && std::chrono::steady_clock::now() < deadline) changed_.WaitUntil(mutex_, deadline);
  return set_;
}

bool Latch::IsSet() {
  base::MutexLock lock(mutex_);
  return set_;
}

std::string Answer(int status, std::string_view body, const std::vector<std::string>& header_lines) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Something\r\n";
  for (const std::string& line : header_lines) text += line + "\r\n";
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text.append(body);
}

std::string UpgradeAnswer(std::string_view type) {
  return "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker." + std::string(type) +
         "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
}

std::string StreamFrame(uint8_t stream, std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame(1, static_cast<char>(stream));
  frame.append(3, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(size >> shift & 0xff));
  return frame.append(payload);
}

std::string FakeRequest::method() const { return Word(head, 0); }
std::string FakeRequest::target() const { return Word(head, 1); }

struct FakeDaemon::Shared {
  struct Connection {
    std::unique_ptr<FakeConversation> conversation;
    std::thread thread;
  };

  Script script;
  std::shared_ptr<TestCertificates> certificates;
  int listener = -1;
  int stop_pipe[2] = {-1, -1};
  std::thread acceptor;

  base::Mutex mutex;
  base::CondVar changed;
  std::vector<Connection> connections ABSL_GUARDED_BY(mutex);  // descriptors stay open until the end
  std::vector<FakeRequest> requests ABSL_GUARDED_BY(mutex);

  void Accept();
  void Serve(FakeConversation& conversation);
};

bool FakeConversation::Fill() {
  char buffer[16384];
  ssize_t count = 0;
  if (tls_ != nullptr) {
    count = tls_->Read(buffer, sizeof(buffer));
  } else {
    do {
      count = recv(fd_, buffer, sizeof(buffer), 0);
    } while (count < 0 && errno == EINTR);
  }
  if (count <= 0) return false;
  buffered_.append(buffer, static_cast<size_t>(count));
  return true;
}

std::optional<FakeRequest> FakeConversation::ReadRequest() {
  size_t end = 0;
  while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return std::nullopt;
  }
  FakeRequest request;
  request.head = buffered_.substr(0, end + 4);
  buffered_.erase(0, end + 4);
  const std::string length = HeaderOf(request.head, "Content-Length");
  request.body = ReadExactly(length.empty() ? 0 : std::stoull(length));
  record_(request);
  return request;
}

std::string FakeConversation::ReadSome() {
  if (buffered_.empty() && !Fill()) return {};
  return std::exchange(buffered_, {});
}

std::string FakeConversation::ReadExactly(size_t count) {
  while (buffered_.size() < count && Fill()) {
  }
  const std::string taken = buffered_.substr(0, count);
  buffered_.erase(0, taken.size());
  return taken;
}

std::string FakeConversation::ReadUntilEnd() {
  while (Fill()) {
  }
  return std::exchange(buffered_, {});
}

bool FakeConversation::Send(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->Write(bytes);
  while (!bytes.empty()) {
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool FakeConversation::SendByteByByte(std::string_view bytes) {
  const int one = 1;
  (void)setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return std::all_of(bytes.begin(), bytes.end(), [this](const char& byte) { return Send({&byte, 1}); });
}

void FakeConversation::EndSending() {
  if (tls_ != nullptr) {
    tls_->SendCloseNotify();
  } else {
    (void)shutdown(fd_, SHUT_WR);
  }
}

void FakeConversation::Reset() {
  const linger abort{1, 0};
  (void)setsockopt(fd_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
  // The descriptor stays taken until the daemon ends, so that no other thread can meet its number reused.
  const int placeholder = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)dup3(placeholder, fd_, O_CLOEXEC);
  close(placeholder);
}

void FakeDaemon::Shared::Accept() {
  for (;;) {
    pollfd waits[2] = {{listener, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
    (void)poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    if ((waits[0].revents & POLLIN) == 0) continue;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    base::MutexLock lock(mutex);
    const int number = static_cast<int>(connections.size());
    std::unique_ptr<FakeConversation> conversation(new FakeConversation(fd, number));
    FakeConversation& served = *conversation;
    connections.push_back({std::move(conversation), std::thread([this, &served] { Serve(served); })});
    changed.NotifyAll();
  }
}

void FakeDaemon::Shared::Serve(FakeConversation& conversation) {
  conversation.record_ = [this](const FakeRequest& request) {
    base::MutexLock lock(mutex);
    requests.push_back(request);
  };
  if (certificates != nullptr) {
    conversation.tls_ = TlsSession::Accept(certificates->server_context(), conversation.fd_);
  }
  if (certificates == nullptr || conversation.tls_ != nullptr) script(conversation);
  if (conversation.tls_ != nullptr) conversation.tls_->SendCloseNotify();
  (void)shutdown(conversation.fd_, SHUT_RDWR);
}

FakeDaemon::FakeDaemon(transport::Endpoint endpoint, int listener, Script script,
                       std::shared_ptr<TestCertificates> certificates)
    : endpoint_(std::move(endpoint)), shared_(std::make_unique<Shared>()) {
  shared_->script = std::move(script);
  shared_->certificates = std::move(certificates);
  shared_->listener = listener;
  Require(pipe2(shared_->stop_pipe, O_CLOEXEC) == 0, "pipe2");
  if (shared_->script) shared_->acceptor = std::thread([shared = shared_.get()] { shared->Accept(); });
}

FakeDaemon::~FakeDaemon() {
  (void)!write(shared_->stop_pipe[1], "x", 1);
  if (shared_->acceptor.joinable()) shared_->acceptor.join();
  std::vector<Shared::Connection> connections;
  {
    base::MutexLock lock(shared_->mutex);
    connections.swap(shared_->connections);
  }
  for (auto& connection : connections) (void)shutdown(connection.conversation->fd_, SHUT_RDWR);
  for (auto& connection : connections) {
    connection.thread.join();
    close(connection.conversation->fd_);
  }
  close(shared_->listener);
  close(shared_->stop_pipe[0]);
  close(shared_->stop_pipe[1]);
  if (folder_.empty()) return;
  unlink((folder_ + "/docker.sock").c_str());
  rmdir(folder_.c_str());
}

std::unique_ptr<FakeDaemon> FakeDaemon::OnUnixSocket(Script script) {
  std::string folder;
  const int listener = ListenOnUnix(folder);
  transport::Endpoint endpoint;
  endpoint.socket_path = folder + "/docker.sock";
  std::unique_ptr<FakeDaemon> daemon(new FakeDaemon(endpoint, listener, std::move(script), nullptr));
  daemon->folder_ = folder;
  return daemon;
}

std::unique_ptr<FakeDaemon> FakeDaemon::OnTcp(Script script) {
  int port = 0;
  const int listener = ListenOnTcp(port);
  transport::Endpoint endpoint;
  endpoint.kind = transport::Endpoint::Kind::kTcp;
  endpoint.authority = "127.0.0.1:" + std::to_string(port);
  return std::unique_ptr<FakeDaemon>(new FakeDaemon(endpoint, listener, std::move(script), nullptr));
}

std::unique_ptr<FakeDaemon> FakeDaemon::OnTls(std::shared_ptr<TestCertificates> certificates, Script script) {
  int port = 0;
  const int listener = ListenOnTcp(port);
  transport::Endpoint endpoint;
  endpoint.kind = transport::Endpoint::Kind::kTls;
  endpoint.authority = "127.0.0.1:" + std::to_string(port);
  endpoint.cert_path = certificates->client_folder();
  return std::unique_ptr<FakeDaemon>(new FakeDaemon(endpoint, listener, std::move(script), std::move(certificates)));
}

std::unique_ptr<FakeDaemon> FakeDaemon::Silent() { return OnUnixSocket(nullptr); }

std::string FakeDaemon::uri() const { return endpoint_.ToString(); }

int FakeDaemon::connections() {
  base::MutexLock lock(shared_->mutex);
  return static_cast<int>(shared_->connections.size());
}

bool FakeDaemon::WaitForConnections(int count) {
  const auto deadline = std::chrono::steady_clock::now() + kBound;
  base::MutexLock lock(shared_->mutex);
  while (static_cast<int>(shared_->connections.size()) < count && std::chrono::steady_clock::now() < deadline) {
    shared_->changed.WaitUntil(shared_->mutex, deadline);
  }
  return static_cast<int>(shared_->connections.size()) >= count;
}

std::vector<FakeRequest> FakeDaemon::requests() {
  base::MutexLock lock(shared_->mutex);
  return shared_->requests;
}

}  // namespace osbx::testing
