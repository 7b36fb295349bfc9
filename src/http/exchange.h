// One request and its answer, as the handler of an HTTP server sees them.
#ifndef OSBX_HTTP_EXCHANGE_H_
#define OSBX_HTTP_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "http/headers.h"

namespace osbx::http {

struct Request {
  std::string method;  // as sent
  std::string target;  // origin form, as sent; of an absolute form the part behind the authority
  int version = 11;    // 10 or 11
  Headers headers;
  std::optional<uint64_t> content_length;  // nothing when chunked, or without a body
};

struct Answer {
  int status = 200;
  Headers headers;  // without those that frame the message: they are the server's
  std::string body;
};

// Everything here runs on the server's loop thread, but for the destructor: any thread may drop it. An exchange that is
// dropped without an answer closes its connection. One whose connection or server has ended takes every call and does
// nothing, but for telling so; only then does a callback run within the call. A callback that waits when the connection
// closes is told (kCanceled, false, gone); behind Respond() or Abort() it is destroyed without having run.
class Exchange {
 public:
  using BodyCallback = std::function<void(absl::StatusOr<std::string> piece)>;
  using WriteCallback = std::function<void(bool written)>;

  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  // The next piece of the body, at most 256 KiB; an empty one is its end. An error: it broke off (kCanceled), stalled
  // (kTimeout), or is malformed (kInvalid). The server has answered the last two itself, unless the answer had begun,
  // and the connection will be closed: what is answered then is not sent. The first call tells a client that waits for
  // it to go on (100 Continue). One at a time.
  virtual void ReadBody(BodyCallback done) = 0;

  // Runs `gone` once, when the client has closed its connection, or its end of it, before the answer was complete.
  virtual void OnClientGone(std::function<void()> gone) = 0;

  // The whole answer. For a HEAD request the body is measured and not sent. A request body that was not read to its end
  // is read away where it is small; else the connection is closed behind the answer.
  virtual void Respond(Answer answer) = 0;

  // The same in pieces that add up to `content_length`. Of a HEAD request this is all, and WriteBody is not called.
  virtual void BeginAnswer(int status, Headers headers, uint64_t content_length) = 0;
  // `done(false)`: the client is gone. One at a time. The last piece completes the answer.
  virtual void WriteBody(std::string piece, WriteCallback done) = 0;
  // Closes the connection, so that the client sees that what it got is not whole.
  virtual void Abort() = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace osbx::http

#endif  // OSBX_HTTP_EXCHANGE_H_
