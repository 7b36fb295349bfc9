// The suite's own HTTP client: raw bytes in, strictly parsed answers out. It shares nothing with the library's, so that
// a mistake is not made twice, and every wait is bounded by kPatience.
#ifndef OSBX_TESTS_CONFORMANCE_HTTP_CLIENT_H_
#define OSBX_TESTS_CONFORMANCE_HTTP_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osbx::conformance {

inline constexpr std::chrono::seconds kPatience{30};

// Calls `holds` until it is true; false when kPatience is over.
bool Eventually(const std::function<bool()>& holds, std::chrono::seconds patience = kPatience);

struct Address {
  std::string host;  // an IPv4 or IPv6 address
  uint16_t port = 0;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 0;  // 0: none came, and `problem` says why
  std::string problem;
  Fields fields;
  std::string body;

  std::string Field(std::string_view name) const;  // without case; empty when there is none
  size_t Count(std::string_view name) const;
  bool Closes() const;
};
std::ostream& operator<<(std::ostream& out, const Response& response);

class Connection {
 public:
  explicit Connection(const Address& address);
  ~Connection() { Close(); }
  Connection(Connection&& other) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection& operator=(Connection&&) = delete;

  bool connected() const { return fd_ >= 0; }

  // False: the other side took no more.
  bool Send(std::string_view bytes);
  // The next answer, 100 Continue among them. `head`: of a HEAD request, so without a body.
  Response Receive(bool head = false);
  // The same, its body handed to `take` in pieces; an answer's `body` stays empty.
  Response ReceiveInPieces(const std::function<void(std::string_view)>& take);
  // Waits until the other side has closed: true if it did so without a further byte.
  bool ClosedInSilence();

  void CloseSendingSide();
  void Reset();  // closes with an RST
  void Close();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // More bytes in buffer_: false at the end, on an error, or when the time is over; problem_ tells.
  bool Fill(TimePoint deadline);
  bool ReadLine(TimePoint deadline, std::string* line);
  bool ReadHead(TimePoint deadline, Response* response);
  Response ReceiveAnswer(bool head, const std::function<void(std::string_view)>& take);

  int fd_ = -1;
  std::string buffer_;
  std::string problem_;
};

// A head with a Host field, `fields` and the empty line.
std::string Head(const std::string& method, const std::string& target, const Fields& fields = {});
// A request with a Content-Length.
std::string Message(const std::string& method, const std::string& target, const std::string& body, Fields fields = {});
// A body as one chunk for each `size` bytes, with the last one.
std::string Chunked(const std::string& body, size_t size);

// One request on a connection of its own.
Response Call(const Address& address, const std::string& method, const std::string& target);
Response Call(const Address& address, const std::string& method, const std::string& target, const std::string& body);

}  // namespace osbx::conformance

#endif  // OSBX_TESTS_CONFORMANCE_HTTP_CLIENT_H_
