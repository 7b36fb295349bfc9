// Calls that live on the event loop: waits, events, everything whose answer may take for ever.
#ifndef OSBX_TRANSPORT_LOOP_CALLS_H_
#define OSBX_TRANSPORT_LOOP_CALLS_H_

#include <curl/curl.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "base/cancel.h"
#include "base/event_loop.h"
#include "base/status.h"
#include "transport/connection.h"
#include "transport/curl_library.h"
#include "transport/easy_handle.h"
#include "transport/loop_sockets.h"

namespace osbx::transport {

// One curl multi handle driven by the loop. Loop thread only, construction and destruction included; a call that is
// under way keeps it alive. In a forked child everything is leaked, the loop's thread being the parent's.
class LoopCalls : public std::enable_shared_from_this<LoopCalls> {
 public:
  static absl::StatusOr<std::shared_ptr<LoopCalls>> Create(std::shared_ptr<CurlLibrary> library, Endpoint endpoint,
                                                           const std::shared_ptr<base::EventLoop>& loop);
  ~LoopCalls();

  // Connection::Start. An error of the start comes through on_done as well, never during this call.
  std::unique_ptr<PendingCall> Start(const Request& request, base::TimePoint deadline, CallHandlers handlers);

  bool BelongsToThisProcess() const;

 private:
  struct Transfer;
  class Pending;

  LoopCalls(std::shared_ptr<CurlLibrary> library, Endpoint endpoint, std::shared_ptr<base::EventLoop> loop,
            std::unique_ptr<CurlMulti> multi);

  // Lets libcurl work on a socket's readiness, or on its timeout with CURL_SOCKET_TIMEOUT, and then settles.
  void Act(curl_socket_t fd, int events);
  // What must not happen inside libcurl's callbacks: adds calls, ends abandoned ones, delivers results.
  void Settle();
  void Add(Transfer& transfer);
  void FailAll();
  void Complete(Transfer& transfer, absl::StatusOr<Response> result);
  void Abandon(Transfer& transfer);
  std::unique_ptr<Transfer> Remove(Transfer& transfer);

  const std::shared_ptr<CurlLibrary> library_;
  const Endpoint endpoint_;
  const std::weak_ptr<base::EventLoop> loop_;
  const pid_t creator_;
  std::unique_ptr<CurlMulti> multi_;
  LoopSockets sockets_;
  std::map<const Transfer*, std::unique_ptr<Transfer>> transfers_;
  std::vector<Transfer*> to_add_;
  std::vector<Transfer*> abandoned_;
  bool inside_curl_ = false;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_LOOP_CALLS_H_
