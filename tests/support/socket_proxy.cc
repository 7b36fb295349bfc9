#include "support/socket_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <regex>
#include <thread>
#include <utility>
#include <vector>

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;
constexpr std::chrono::seconds kBound(30);
constexpr size_t kPiece = size_t{64} << 10;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::abort();
}

int NewSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Require(fd >= 0, "socket");
  return fd;
}

sockaddr_un Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Require(path.size() < sizeof(address.sun_path), "path of a unix socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

void Close(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

size_t LengthOf(const std::string& head) {
  static const std::regex pattern("\r\ncontent-length: *([0-9]+)", std::regex::icase);
  std::smatch match;
  return std::regex_search(head, match, pattern) ? std::stoull(match[1]) : 0;
}

bool IsUpgrade(const std::string& head) {
  static const std::regex pattern("\r\nupgrade:", std::regex::icase);
  return std::regex_search(head, pattern);
}

}  // namespace

std::string ProxyAnswer(int status, const std::string& json) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Something\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(json.size()) +
         "\r\nConnection: close\r\n\r\n" + json;
}

struct SocketProxy::Shared {
  struct Rule {
    ProxyRule rule;
    std::regex target;
    int seen = 0;
    int hits = 0;
    bool released = false;
    bool active = true;
  };

  std::string daemon_socket;
  std::string folder;
  std::string path;
  int listener = -1;
  int stop = -1;
  std::thread acceptor;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rule> rules;
  std::list<std::unique_ptr<Connection>> connections;
  int open = 0;
  bool dying = false;

  void Accept();
  int Match(const std::string& head);
  void Hit(int rule) {
    std::lock_guard<std::mutex> lock(mutex);
    ++rules[rule].hits;
    changed.notify_all();
  }
  bool Released(int rule) {
    std::lock_guard<std::mutex> lock(mutex);
    return rules[rule].released;
  }
  // A copy, since rules may be added meanwhile.
  ProxyRule RuleOf(int rule) {
    std::lock_guard<std::mutex> lock(mutex);
    return rules[rule].rule;
  }
};

// One client, served by a thread of its own.
struct SocketProxy::Connection {
  Connection(Shared* owner, int client_fd) : shared(owner), client(client_fd) {
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    Require(wake >= 0, "eventfd");
  }
  ~Connection() {
    thread.join();
    close(wake);
  }

  Shared* const shared;
  int client;
  int daemon = -1;
  int wake = -1;
  std::thread thread;
  bool finished = false;  // guarded by shared->mutex
  bool broken = false;    // the same: Die() was called

  // What the thread knows.
  std::string head;      // of the next request, as far as it has come
  size_t body_left = 0;  // of the present request
  bool tunnel = false;
  int rule = -1;  // of the present request
  ProxyRule current;
  size_t behind_head = 0;  // bytes passed behind the head of the request
  size_t response = 0;     // bytes of its response passed
  size_t response_limit = 0;
  std::string response_head;                        // until it is whole
  bool stall_up = false;                            // nothing more to the daemon
  bool daemon_muted = false;                        // nothing more from the daemon
  bool stall_read = false;                          // nothing more from the client
  bool stall_down = false;                          // nothing more to the client
  bool client_ended = false, daemon_ended = false;  // their writing
  bool client_gone = false, daemon_gone = false;    // wholly
  bool close_now = false;
  std::string up, down;  // waiting to be written
  bool up_shut = false;

  void Serve();
  bool Step();
  void FromClient(const char* bytes, size_t size);
  void FromDaemon(const char* bytes, size_t size);
  void OnHead();
  void PassUp(const char* bytes, size_t size);
  void CheckReleased();
};

int SocketProxy::Shared::Match(const std::string& head) {
  const size_t space = head.find(' ');
  const std::string method = head.substr(0, space);
  const std::string target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < rules.size(); ++i) {
    Rule& rule = rules[i];
    if (!rule.active || (!rule.rule.method.empty() && rule.rule.method != method)) continue;
    if (!std::regex_search(target, rule.target)) continue;
    const int number = rule.seen++;
    if (number < rule.rule.skip || number - rule.rule.skip >= rule.rule.times) continue;
    return static_cast<int>(i);
  }
  return -1;
}

void SocketProxy::Shared::Accept() {
  for (;;) {
    pollfd waits[2] = {{listener, POLLIN, 0}, {stop, POLLIN, 0}};
    (void)poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::lock_guard<std::mutex> lock(mutex);
    // Those that have ended are collected here, so that a long test does not pile them up.
    connections.remove_if([](const std::unique_ptr<Connection>& connection) { return connection->finished; });
    connections.push_back(std::make_unique<Connection>(this, fd));
    Connection* served = connections.back().get();
    ++open;
    served->thread = std::thread([served] { served->Serve(); });
  }
}

void SocketProxy::Connection::Serve() {
  daemon = NewSocket();
  const sockaddr_un address = Address(shared->daemon_socket);
  if (connect(daemon, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    while (Step()) {
    }
  }
  Close(client);
  Close(daemon);
  std::lock_guard<std::mutex> lock(shared->mutex);
  finished = true;
  --shared->open;
  shared->changed.notify_all();
}

bool SocketProxy::Connection::Step() {
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    if (broken) return false;
  }
  CheckReleased();
  if (close_now && down.empty() && up.empty()) return false;
  const bool reads_client = !client_ended && !stall_up && !stall_read && !close_now;
  const bool reads_daemon = !daemon_ended && !stall_down && !daemon_muted && !close_now;
  if (client_ended && up.empty() && !stall_up) {
    if (client_gone) return false;
    if (!up_shut) (void)shutdown(daemon, SHUT_WR);
    up_shut = true;
  }
  if (daemon_ended && down.empty() && !stall_down) return false;

  // A side that is held back is watched for its end all the same: a dead client must not leave the daemon waiting.
  pollfd waits[3] = {
      {client_gone ? -1 : client, 0, 0}, {daemon_gone && !reads_daemon ? -1 : daemon, 0, 0}, {wake, POLLIN, 0}};
  if (reads_client && up.size() < kPiece) waits[0].events |= POLLIN;
  if (!down.empty() && !stall_down) waits[0].events |= POLLOUT;
  if (reads_daemon && down.size() < kPiece) waits[1].events |= POLLIN;
  if (!up.empty() && !stall_up) waits[1].events |= POLLOUT;
  if (poll(waits, 3, client_gone && reads_client ? 0 : -1) < 0) return errno == EINTR;

  uint64_t count = 0;
  if (waits[2].revents != 0) (void)!read(wake, &count, sizeof(count));
  if ((waits[0].revents & (POLLHUP | POLLERR)) != 0) {  // closed, not only half-closed
    if (!reads_client && !client_ended) return false;
    client_gone = true;
  }
  if ((waits[1].revents & (POLLHUP | POLLERR)) != 0) daemon_gone = true;
  std::array<char, kPiece> buffer;
  if (reads_client && (client_gone || (waits[0].revents & POLLIN) != 0)) {
    const ssize_t got = recv(client, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) FromClient(buffer.data(), static_cast<size_t>(got));
    if (got == 0) client_ended = true;
    if (got < 0 && errno != EAGAIN) return false;
  }
  if (reads_daemon && (waits[1].revents & (POLLIN | POLLHUP)) != 0) {
    const ssize_t got = recv(daemon, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) FromDaemon(buffer.data(), static_cast<size_t>(got));
    if (got == 0) daemon_ended = true;
    if (got < 0 && errno != EAGAIN) return false;
  }
  if (!up.empty() && !stall_up) {
    const ssize_t sent = send(daemon, up.data(), up.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) up.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN) up.clear();
  }
  if (!down.empty() && !stall_down) {
    const ssize_t sent = send(client, down.data(), down.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) down.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN) return false;
  }
  return true;
}

void SocketProxy::Connection::CheckReleased() {
  if (rule < 0 || (!stall_up && !stall_down)) return;
  if (current.action != Action::kHoldRequest && current.action != Action::kHoldResponse) return;
  if (shared->Released(rule)) stall_up = stall_down = false;
}

void SocketProxy::Connection::FromClient(const char* bytes, size_t size) {
  while (size > 0 && !close_now && !stall_read) {
    if (tunnel || body_left > 0) {
      const size_t part = tunnel ? size : std::min(size, body_left);
      if (!tunnel) body_left -= part;
      PassUp(bytes, part);
      bytes += part;
      size -= part;
      continue;
    }
    head.push_back(*bytes++);
    --size;
    if (head.size() >= 4 && head.compare(head.size() - 4, 4, "\r\n\r\n") == 0) OnHead();
  }
}

void SocketProxy::Connection::OnHead() {
  behind_head = response = 0;
  response_head.clear();
  body_left = LengthOf(head);
  tunnel = IsUpgrade(head);
  rule = shared->Match(head);
  std::string passed = std::exchange(head, {});
  if (rule < 0) {
    up += passed;
    return;
  }
  current = shared->RuleOf(rule);
  switch (current.action) {
    case Action::kAnswer:
      down += current.answer;
      close_now = true;
      break;
    case Action::kSilence:
      stall_down = stall_up = true;
      break;
    case Action::kRefuse:
      close_now = true;
      break;
    case Action::kHoldRequest:
      up += passed;
      stall_up = true;
      break;
    case Action::kHoldResponse:
      up += passed;
      stall_down = true;
      break;
    case Action::kCutRequest:
    case Action::kStallRequest:
      up += passed;
      PassUp(nullptr, 0);
      return;
    case Action::kForward:
      up += passed;
      break;
    case Action::kCutResponse:
    case Action::kStallResponse:
      up += passed;
      response_limit = current.behind_head ? SIZE_MAX : current.at_byte;
      if (response_limit > 0) return;
      (current.action == Action::kCutResponse ? close_now : daemon_muted) = true;
      break;
  }
  shared->Hit(rule);
}

void SocketProxy::Connection::PassUp(const char* bytes, size_t size) {
  const bool limited = rule >= 0 && (current.action == Action::kCutRequest || current.action == Action::kStallRequest);
  const size_t part = limited ? std::min(size, current.at_byte - std::min(current.at_byte, behind_head)) : size;
  if (part > 0) up.append(bytes, part);
  behind_head += part;
  if (!limited || behind_head < current.at_byte) return;
  if (current.action == Action::kCutRequest) {
    close_now = true;
  } else {
    stall_read = true;
  }
  if (current.skip >= 0) shared->Hit(rule);
  current.skip = -1;  // told
}

void SocketProxy::Connection::FromDaemon(const char* bytes, size_t size) {
  if (close_now) return;
  const bool limited =
      rule >= 0 && (current.action == Action::kCutResponse || current.action == Action::kStallResponse);
  if (limited && current.behind_head && response_limit == SIZE_MAX) {
    response_head.append(bytes, size);
    const size_t end = response_head.find("\r\n\r\n");
    if (end != std::string::npos) response_limit = end + 4 + current.at_byte;
  }
  const size_t part = limited ? std::min(size, response_limit - std::min(response_limit, response)) : size;
  down.append(bytes, part);
  response += part;
  if (!limited || response < response_limit || current.skip < 0) return;
  if (current.action == Action::kCutResponse) close_now = true;
  // Nothing more is passed on, but the client gets what it was to get first.
  if (current.action == Action::kStallResponse) daemon_muted = true;
  shared->Hit(rule);
  current.skip = -1;  // told
}

SocketProxy::SocketProxy(const std::string& daemon_socket) : shared_(std::make_unique<Shared>()) {
  shared_->daemon_socket = daemon_socket;
  char pattern[] = "/tmp/osbx-proxy-XXXXXX";
  Require(mkdtemp(pattern) != nullptr, "mkdtemp");
  shared_->folder = pattern;
  shared_->path = shared_->folder + "/docker.sock";
  Listen();
}

void SocketProxy::Listen() {
  shared_->stop = eventfd(0, EFD_CLOEXEC);
  shared_->listener = NewSocket();
  const sockaddr_un address = Address(shared_->path);
  Require(bind(shared_->listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "bind");
  Require(listen(shared_->listener, 128) == 0, "listen");
  shared_->acceptor = std::thread([shared = shared_.get()] { shared->Accept(); });
}

void SocketProxy::StopListening() {
  if (!shared_->acceptor.joinable()) return;
  const uint64_t one = 1;
  (void)!write(shared_->stop, &one, sizeof(one));
  shared_->acceptor.join();
  Close(shared_->listener);
  Close(shared_->stop);
  unlink(shared_->path.c_str());
}

void SocketProxy::Die() {
  StopListening();
  std::unique_lock<std::mutex> lock(shared_->mutex);
  for (auto& connection : shared_->connections) {
    connection->broken = true;
    const uint64_t one = 1;
    (void)!write(connection->wake, &one, sizeof(one));
  }
  (void)shared_->changed.wait_for(lock, kBound, [this] { return shared_->open == 0; });
}

void SocketProxy::Revive() {
  if (!shared_->acceptor.joinable()) Listen();
}

SocketProxy::~SocketProxy() {
  Die();
  shared_->connections.clear();
  rmdir(shared_->folder.c_str());
}

std::string SocketProxy::uri() const { return "unix://" + shared_->path; }

int SocketProxy::AddRule(ProxyRule rule) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  std::regex target(rule.target);
  shared_->rules.push_back({std::move(rule), std::move(target)});
  return static_cast<int>(shared_->rules.size()) - 1;
}

void SocketProxy::ClearRules() {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  for (auto& rule : shared_->rules) rule.active = false;
}

void SocketProxy::Release(int rule) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->rules[rule].released = true;
  const uint64_t one = 1;
  for (auto& connection : shared_->connections) (void)!write(connection->wake, &one, sizeof(one));
}

bool SocketProxy::WaitForHits(int rule, int count) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  return shared_->changed.wait_for(lock, kBound, [&] { return shared_->rules[rule].hits >= count; });
}

int SocketProxy::Hits(int rule) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->rules[rule].hits;
}

int SocketProxy::open_connections() {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->open;
}

bool SocketProxy::WaitForNoConnections() {
  {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    if (!shared_->changed.wait_for(lock, kBound, [this] { return shared_->open == 0; })) return false;
  }
  // Their threads have nothing left to do but end; joined, they and their descriptors are off the process's books.
  std::list<std::unique_ptr<Connection>> ended;
  {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    ended.swap(shared_->connections);
  }
  return true;
}

}  // namespace osbx::testing
