// An HTTP/1.1 server on an event loop: connections, their bounds, and one handler for every request.
#ifndef OSBX_HTTP_SERVER_H_
#define OSBX_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/status.h"
#include "http/exchange.h"

namespace osbx::http {

struct ServerOptions {
  size_t max_connections = 2048;                   // at the limit the longest idle one makes room
  size_t max_head_bytes = size_t{16} << 10;        // 431 beyond
  std::chrono::milliseconds head_timeout{10'000};  // from a head's first byte to its last
  std::chrono::milliseconds idle_timeout{60'000};  // between requests, and between bytes of a body or an answer
};

class Server {
 public:
  // Binds and listens at once, so that a taken port is an error here; requests are answered on `loop`'s thread. `host`:
  // an IPv4 or IPv6 address in its textual form, or empty for every interface, IPv4 and IPv6 alike. Port 0: any free
  // one. `handler` answers errors of its own; what HTTP itself refuses (400, 408, 431 ...) is answered by `refuse`'s
  // body, made from the status and one line of text.
  using Refusal = std::function<Answer(int status, const std::string& what)>;
  static absl::StatusOr<std::unique_ptr<Server>> Listen(std::shared_ptr<base::EventLoop> loop, const std::string& host,
                                                        uint16_t port, const ServerOptions& options, Handler handler,
                                                        Refusal refuse);

  // Closes every connection at once. Any thread but the loop's; no handler runs once it has returned.
  virtual ~Server() = default;

  // The address that it listens on: "127.0.0.1:3000", "[::]:3000".
  virtual std::string address() const = 0;
  virtual uint16_t port() const = 0;

  // No new connection and no new request; idle connections are closed. `drained` runs on the loop's thread when the
  // last answer under way has been sent. Any thread, once.
  virtual void Drain(std::function<void()> drained) = 0;
};

}  // namespace osbx::http

#endif  // OSBX_HTTP_SERVER_H_
