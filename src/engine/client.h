// The Docker Engine API over one connection: version negotiation, and the two ways to run a typed call.
#ifndef OSBX_ENGINE_CLIENT_H_
#define OSBX_ENGINE_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/status.h"
#include "transport/connection.h"

namespace osbx::engine {

// A call's request and how its answer is read: defined once per endpoint, run on the caller's thread or on the loop.
// The target carries no version prefix; the client adds it.
template <typename T>
struct Call {
  transport::Request request;
  // Gets any HTTP status; turns error statuses into Error() by ErrorFromResponse (engine_error.h).
  std::function<absl::StatusOr<T>(const transport::Response&)> parse;
};

struct Nothing {};

using PendingCall = transport::PendingCall;

// "1.41" as two numbers, so that 1.9 < 1.44.
struct ApiVersion {
  int major = 0;
  int minor = 0;
  std::string ToString() const;
};
bool operator<(const ApiVersion& a, const ApiVersion& b);
absl::StatusOr<ApiVersion> ParseApiVersion(std::string_view text);

// Thread-safe.
class Client {
 public:
  // `fixed` is DOCKER_API_VERSION; without it the version is negotiated on the first call from GET /_ping: the
  // daemon's, but not above the newest that this library was written for (1.51), and not below 1.41 (kUnsupported).
  // An absent Api-Version header means 1.41. A fixed version is used as it is, also above 1.51; below 1.41 every call
  // is kUnsupported, since an older API drops options of a sandbox without a word.
  Client(std::shared_ptr<transport::Connection> connection, std::optional<ApiVersion> fixed);

  // Runs `call` on the calling thread.
  template <typename T>
  absl::StatusOr<T> Run(Call<T> call, const base::Context& context) {
    OSBX_RETURN_IF_ERROR(AddPrefix(call.request, context));
    OSBX_ASSIGN_OR_RETURN(transport::Response response, connection_->Call(call.request, context));
    return call.parse(response);
  }

  // Runs `call` on the loop, loop thread only; `done` runs once there, unless the returned object is destroyed before.
  // The version must be known already: some Run() has succeeded before anything runs on the loop.
  template <typename T>
  std::unique_ptr<transport::PendingCall> Start(Call<T> call, base::TimePoint deadline,
                                                std::function<void(absl::StatusOr<T>)> done,
                                                std::function<void(int status)> on_head = nullptr) {
    AddKnownPrefix(call.request);
    transport::CallHandlers handlers;
    handlers.on_head = std::move(on_head);
    handlers.on_done = [parse = std::move(call.parse),
                        done = std::move(done)](absl::StatusOr<transport::Response> response) {
      if (!response.ok()) return done(response.status());
      done(parse(*response));
    };
    return connection_->Start(call.request, deadline, std::move(handlers));
  }

  // A request that becomes a raw stream (exec start, attach), on the calling thread. An HTTP error becomes an Error;
  // `what` names the call in it.
  absl::StatusOr<std::unique_ptr<base::DuplexStream>> Hijack(transport::Request request, const base::Context& context,
                                                             std::string_view what = "open a stream");

  // Learns the API version if it is not known yet.
  absl::Status Negotiate(const base::Context& context);

  transport::Connection& connection() { return *connection_; }
  const std::shared_ptr<base::EventLoop>& loop() const { return connection_->loop(); }
  // Adds the version prefix to a request that is started by hand (pull, events). Negotiate() has succeeded before.
  void AddKnownPrefix(transport::Request& request);

 private:
  absl::Status AddPrefix(transport::Request& request, const base::Context& context);
  absl::StatusOr<ApiVersion> AskVersion(const base::Context& context);

  const std::shared_ptr<transport::Connection> connection_;
  const std::optional<ApiVersion> fixed_;
  base::Mutex mutex_;
  std::string prefix_ ABSL_GUARDED_BY(mutex_);  // "/v1.41" once known
};

// The client of the daemon at `host`, in DOCKER_HOST's forms (transport/endpoint.h), with DOCKER_API_VERSION's text,
// which may be empty. Checks syntax and does no I/O. kInvalid.
absl::StatusOr<std::shared_ptr<Client>> NewClient(const std::string& host, bool tls, const std::string& cert_path,
                                                  const std::string& api_version);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_CLIENT_H_
