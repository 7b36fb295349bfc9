// The sockets and the one timer that libcurl wants watched, on the event loop.
#ifndef OSBX_TRANSPORT_LOOP_SOCKETS_H_
#define OSBX_TRANSPORT_LOOP_SOCKETS_H_

#include <curl/curl.h>

#include <functional>
#include <map>
#include <memory>

#include "base/event_loop.h"

namespace osbx::transport {

// libcurl says what it wants through callbacks that this object installs; what happened goes to `act`, as the arguments
// of curl_multi_socket_action(). Loop thread only.
class LoopSockets {
 public:
  using Act = std::function<void(curl_socket_t fd, int events)>;

  LoopSockets(const std::shared_ptr<base::EventLoop>& loop, Act act);
  ~LoopSockets();
  LoopSockets(const LoopSockets&) = delete;
  LoopSockets& operator=(const LoopSockets&) = delete;

  void Install(CURLM* multi);
  // Ends every watch; what libcurl asks for afterwards is ignored.
  void Stop();

 private:
  struct Watch;

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket_data);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);

  void SetInterest(curl_socket_t fd, int what);
  void Arm(curl_socket_t fd, Watch& watch);
  void OnReady(curl_socket_t fd, int events);
  void SetTimer(long timeout_ms);

  const std::weak_ptr<base::EventLoop> loop_;
  const Act act_;
  bool stopped_ = false;
  std::map<curl_socket_t, std::unique_ptr<Watch>> watches_;
  std::unique_ptr<base::EventLoop::Timer> timer_;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_LOOP_SOCKETS_H_
