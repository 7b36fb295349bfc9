#include "http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace osbx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxLine = 64 << 10;

bool WaitFor(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd poll_fd{fd, events, 0};
    const int ready = poll(&poll_fd, 1, static_cast<int>(left) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

int Open(const Address& address) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
      inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    size = sizeof(*v4);
  } else if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
             inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    size = sizeof(*v6);
  } else {
    return -1;
  }
  const int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (connect(fd, reinterpret_cast<sockaddr*>(&storage), size) != 0) {
    int error = errno;
    socklen_t error_size = sizeof(error);
    if (error != EINPROGRESS || !WaitFor(fd, POLLOUT, Clock::now() + kPatience) ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) != 0 || error != 0) {
      close(fd);
      return -1;
    }
  }
  return fd;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("!#$%&'*+-.^_`|~", c) != nullptr;
  });
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool Eventually(const std::function<bool()>& holds, std::chrono::seconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() >= deadline) return false;
    const timespec pause{0, 2'000'000};  // a pause between looks: a spinning suite would starve the server
    nanosleep(&pause, nullptr);
  }
  return true;
}

std::string Response::Field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0) return value;
  }
  return "";
}

size_t Response::Count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(fields.begin(), fields.end(), [&](const auto& field) {
    return field.first.size() == name.size() && strncasecmp(field.first.data(), name.data(), name.size()) == 0;
  }));
}

bool Response::Closes() const { return strcasecmp(Field("Connection").c_str(), "close") == 0; }

std::ostream& operator<<(std::ostream& out, const Response& response) {
  if (!response.problem.empty()) return out << "no answer (" << response.problem << ")";
  return out << response.status << " " << response.body.substr(0, 300);
}

Connection::Connection(const Address& address) : fd_(Open(address)) {
  if (fd_ < 0) problem_ = "cannot connect";
}

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)), problem_(std::move(other.problem_)) {}

bool Connection::Send(std::string_view bytes) {
  const auto deadline = Clock::now() + kPatience;
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!WaitFor(fd_, POLLOUT, deadline)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Connection::Fill(TimePoint deadline) {
  char piece[64 << 10];
  for (;;) {
    const ssize_t got = recv(fd_, piece, sizeof(piece), 0);
    if (got > 0) {
      buffer_.append(piece, static_cast<size_t>(got));
      return true;
    }
    if (got == 0) {
      problem_ = "closed";
      return false;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      problem_ = errno == ECONNRESET ? "closed" : std::strerror(errno);
      return false;
    }
    if (!WaitFor(fd_, POLLIN, deadline)) {
      problem_ = "nothing came in time";
      return false;
    }
  }
}

bool Connection::ReadLine(TimePoint deadline, std::string* line) {
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (buffer_.size() > kMaxLine) {
      problem_ = "a line without an end";
      return false;
    }
    if (!Fill(deadline)) return false;
  }
  if (end == 0 || buffer_[end - 1] != '\r' || buffer_.find('\r') != end - 1) {
    problem_ = "a line that does not end with CR LF";
    return false;
  }
  *line = buffer_.substr(0, end - 1);
  buffer_.erase(0, end + 1);
  return true;
}

bool Connection::ReadHead(TimePoint deadline, Response* response) {
  std::string line;
  if (!ReadLine(deadline, &line)) return false;
  const bool good = line.size() >= 13 && line.compare(0, 7, "HTTP/1.") == 0 && (line[7] == '0' || line[7] == '1') &&
                    line[8] == ' ' && line[12] == ' ' && IsNumber(line.substr(9, 3));
  if (!good) {
    problem_ = "not a status line: " + line;
    return false;
  }
  response->status = std::stoi(line.substr(9, 3));
  for (;;) {
    if (!ReadLine(deadline, &line)) return false;
    if (line.empty()) return true;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !IsToken(line.substr(0, colon))) {
      problem_ = "not a field: " + line;
      return false;
    }
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    const size_t last = line.find_last_not_of(" \t");
    response->fields.emplace_back(line.substr(0, colon),
                                  begin == std::string::npos ? "" : line.substr(begin, last - begin + 1));
  }
}

Response Connection::ReceiveAnswer(bool head, const std::function<void(std::string_view)>& take) {
  Response response;
  const auto fail = [&](const std::string& problem) {
    response.status = 0;
    response.problem = problem;
    return response;
  };
  auto deadline = Clock::now() + kPatience;
  if (fd_ < 0 || !ReadHead(deadline, &response)) return fail(problem_);
  const bool bodiless = response.status < 200 || response.status == 204;
  const std::string length = response.Field("Content-Length");
  if (response.Count("Transfer-Encoding") != 0) return fail("an answer with Transfer-Encoding");
  if (bodiless ? response.Count("Content-Length") != 0 : response.Count("Content-Length") != 1 || !IsNumber(length)) {
    return fail("an answer of status " + std::to_string(response.status) + " with Content-Length \"" + length + "\"");
  }
  if (bodiless || head) return response;
  uint64_t left = std::stoull(length);
  for (;;) {
    const size_t here = std::min<uint64_t>(left, buffer_.size());
    take(std::string_view(buffer_).substr(0, here));
    buffer_.erase(0, here);
    left -= here;
    if (left == 0) return response;
    if (!Fill(Clock::now() + kPatience)) return fail("a body that breaks off: " + problem_);
  }
}

Response Connection::Receive(bool head) {
  std::string body;
  Response response = ReceiveAnswer(head, [&](std::string_view piece) { body += piece; });
  response.body = std::move(body);
  return response;
}

Response Connection::ReceiveInPieces(const std::function<void(std::string_view)>& take) {
  return ReceiveAnswer(false, take);
}

bool Connection::ClosedInSilence() {
  if (fd_ < 0) return true;
  return buffer_.empty() && !Fill(Clock::now() + kPatience) && problem_ == "closed";
}

void Connection::CloseSendingSide() { shutdown(fd_, SHUT_WR); }

void Connection::Reset() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  Close();
}

void Connection::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string Head(const std::string& method, const std::string& target, const Fields& fields) {
  std::string head = method + " " + target + " HTTP/1.1\r\nHost: sandbox\r\n";
  for (const auto& [name, value] : fields) head += name + ": " + value + "\r\n";
  return head + "\r\n";
}

std::string Message(const std::string& method, const std::string& target, const std::string& body, Fields fields) {
  fields.emplace_back("Content-Length", std::to_string(body.size()));
  return Head(method, target, fields) + body;
}

std::string Chunked(const std::string& body, size_t size) {
  std::string chunks;
  for (size_t at = 0; at < body.size(); at += size) {
    const std::string piece = body.substr(at, size);
    char line[32];
    snprintf(line, sizeof(line), "%zx\r\n", piece.size());
    chunks += line + piece + "\r\n";
  }
  return chunks + "0\r\n\r\n";
}

Response Call(const Address& address, const std::string& method, const std::string& target) {
  Connection connection(address);
  connection.Send(Head(method, target));
  return connection.Receive(method == "HEAD");
}

Response Call(const Address& address, const std::string& method, const std::string& target, const std::string& body) {
  Connection connection(address);
  connection.Send(Message(method, target, body));
  return connection.Receive();
}

}  // namespace osbx::conformance
