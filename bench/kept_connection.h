// An HTTP client that costs as little as can be: one connection, one request after the other, no body kept but a short
// one.
#ifndef OSBX_BENCH_KEPT_CONNECTION_H_
#define OSBX_BENCH_KEPT_CONNECTION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osbx::bench {

class KeptConnection {
 public:
  explicit KeptConnection(int port);  // of 127.0.0.1
  ~KeptConnection();
  KeptConnection(const KeptConnection&) = delete;
  KeptConnection& operator=(const KeptConnection&) = delete;

  // The request and its answer, to the last byte; the first digit of its status has to be `digit` (a PUT makes 201
  // or 204), and the connection stays. `body` goes out `times` times in a row.
  void Request(std::string_view method, std::string_view target, int digit, std::string_view body = "",
               uint64_t times = 1);

  // Of the last answer: how long its body was, and its beginning.
  uint64_t body_size() const { return body_size_; }
  const std::string& body_begin() const { return body_begin_; }

 private:
  void SendAll(std::string_view bytes);
  size_t Receive();
  void ReadAnswer(int digit);

  int socket_ = -1;
  std::vector<char> buffer_;
  uint64_t body_size_ = 0;
  std::string body_begin_;
};

}  // namespace osbx::bench

#endif  // OSBX_BENCH_KEPT_CONNECTION_H_
