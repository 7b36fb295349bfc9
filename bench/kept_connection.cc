#include "bench/kept_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bench/child_program.h"

namespace osbx::bench {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kSmallBody = size_t{16} << 10;  // goes out with the head

// A field's value, or nothing.
std::string_view Field(std::string_view head, std::string_view name) {
  for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at)) {
    at += 2;
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (strncasecmp(line.data(), name.data(), name.size()) == 0) return line.substr(name.size() + 2);
  }
  return "";
}

}  // namespace

KeptConnection::KeptConnection(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket_ < 0 || connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    FailWithErrno("cannot connect to port " + std::to_string(port));
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

KeptConnection::~KeptConnection() { close(socket_); }

void KeptConnection::Request(std::string_view method, std::string_view target, int digit, std::string_view body,
                             uint64_t times) {
  std::string head;
  head.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
  if (!body.empty()) head += "Content-Length: " + std::to_string(body.size() * times) + "\r\n";
  head += "\r\n";
  if (body.size() * times <= kSmallBody) {
    for (; times > 0; --times) head.append(body);
  }
  SendAll(head);
  for (; times > 0; --times) SendAll(body);
  ReadAnswer(digit);
}

void KeptConnection::SendAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailWithErrno("send");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

size_t KeptConnection::Receive() {
  if (buffer_.empty()) buffer_.resize(kBufferBytes);
  ssize_t count = -1;
  do {
    count = recv(socket_, buffer_.data(), buffer_.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) FailWithErrno("recv");
  if (count == 0) Fail("a server closed the connection");
  return static_cast<size_t>(count);
}

void KeptConnection::ReadAnswer(int digit) {
  std::string begin;
  size_t end = std::string::npos;
  while (end == std::string::npos) {
    const size_t count = Receive();
    begin.append(buffer_.data(), count);
    end = begin.find("\r\n\r\n");
  }
  const std::string_view head = std::string_view(begin).substr(0, end + 2);
  const int status = head.size() > 12 ? std::atoi(begin.c_str() + 9) : 0;
  if (status / 100 != digit) Fail("an answer that was not expected: " + begin.substr(0, 500));
  if (!Field(head, "Transfer-Encoding").empty()) Fail("an answer in chunks");
  if (Field(head, "Connection") == "close") Fail("a server does not keep the connection");
  body_size_ = std::strtoull(std::string(Field(head, "Content-Length")).c_str(), nullptr, 10);
  body_begin_ = begin.substr(end + 4);
  uint64_t have = body_begin_.size();
  while (have < body_size_) have += Receive();
  if (have > body_size_) Fail("more than one answer");
}

}  // namespace osbx::bench
