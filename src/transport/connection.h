// The way to one engine: blocking calls, calls on the event loop, and hijacked streams.
#ifndef OSBX_TRANSPORT_CONNECTION_H_
#define OSBX_TRANSPORT_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/duplex_stream.h"
#include "base/event_loop.h"
#include "transport/endpoint.h"
#include "transport/http_message.h"

namespace osbx::transport {

// What an upgraded request answered: the stream when the status was 101, or 200 with a stream's content type and no end
// of its body (as engines answer when a proxy took the upgrade away); else the body in `response` and no stream.
struct HijackResult {
  Response response;
  std::unique_ptr<base::DuplexStream> stream;
};

// One call under way on the loop. Destroying it ends the call; no callback runs afterwards. Loop thread only.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
};

struct CallHandlers {
  // The head has arrived; the body may take for ever (`/wait`, `/events`). Optional.
  std::function<void(int status)> on_head;
  // Body bytes of a 2xx answer as they come; a false ends the call with kCallback. Optional: without it, and for every
  // other status, the body is collected in the response, up to Request::max_response.
  std::function<bool(std::string_view bytes)> on_body;
  // The end, exactly once, unless the PendingCall was destroyed before. It may destroy the PendingCall.
  std::function<void(absl::StatusOr<Response>)> on_done;
};

// Thread-safe. Failure to reach the daemon is kUnreachable with the path or address and the reason, kPermission where
// the socket may not be opened: nothing was sent. A deadline is kTimeout, a fired token kCanceled, a broken answer
// kBackend: the request may have had its effect. An HTTP error status is not an error here.
class Connection {
 public:
  virtual ~Connection() = default;

  // Runs the request on the calling thread and returns its answer. A deadline, or a cancel from another thread, ends it
  // within 100 ms, whatever the daemon does.
  virtual absl::StatusOr<Response> Call(const Request& request, const base::Context& context) = 0;

  // Sends a request that asks for a raw stream and reads the answer's head, on the calling thread, over a connection of
  // its own. Adds `Connection: Upgrade` and `Upgrade: tcp`. The stream is not attached to a loop yet.
  virtual absl::StatusOr<HijackResult> Hijack(const Request& request, const base::Context& context) = 0;

  // Starts the request on the loop, loop thread only, over a connection of its own. `deadline` bounds the whole call.
  virtual std::unique_ptr<PendingCall> Start(const Request& request, base::TimePoint deadline,
                                             CallHandlers handlers) = 0;

  virtual const std::shared_ptr<base::EventLoop>& loop() const = 0;
  virtual const Endpoint& endpoint() const = 0;
};

std::shared_ptr<Connection> NewConnection(Endpoint endpoint, std::shared_ptr<base::EventLoop> loop);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_CONNECTION_H_
