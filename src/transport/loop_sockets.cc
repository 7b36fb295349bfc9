#include "transport/loop_sockets.h"

#include <chrono>
#include <utility>

#include "base/cancel.h"

namespace osbx::transport {

// libcurl's interest lasts until it says otherwise, a watcher's wait is for one event: it is armed again after each.
struct LoopSockets::Watch {
  int interest = 0;  // CURL_CSELECT_IN, CURL_CSELECT_OUT
  int armed = 0;
  std::unique_ptr<base::EventLoop::FdWatcher> watcher;
};

LoopSockets::LoopSockets(const std::shared_ptr<base::EventLoop>& loop, Act act)
    : loop_(loop), act_(std::move(act)), timer_(loop->NewTimer()) {}

LoopSockets::~LoopSockets() = default;

void LoopSockets::Install(CURLM* multi) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &LoopSockets::OnSocket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &LoopSockets::OnTimer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
}

void LoopSockets::Stop() {
  stopped_ = true;
  watches_.clear();
  timer_->Cancel();
}

// No exception may pass through libcurl's frames; -1 makes it fail the multi handle.
int LoopSockets::OnSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  try {
    static_cast<LoopSockets*>(self)->SetInterest(fd, what);
    return 0;
  } catch (...) {
    return -1;
  }
}

int LoopSockets::OnTimer(CURLM*, long timeout_ms, void* self) {
  try {
    static_cast<LoopSockets*>(self)->SetTimer(timeout_ms);
    return 0;
  } catch (...) {
    return -1;
  }
}

void LoopSockets::SetInterest(curl_socket_t fd, int what) {
  if (stopped_) return;
  if (what == CURL_POLL_REMOVE) {
    watches_.erase(fd);
    return;
  }
  auto found = watches_.find(fd);
  if (found == watches_.end()) {
    const std::shared_ptr<base::EventLoop> loop = loop_.lock();
    if (loop == nullptr) return;
    auto watch = std::make_unique<Watch>();
    watch->watcher = loop->WatchFd(fd);
    found = watches_.emplace(fd, std::move(watch)).first;
  }
  Watch& watch = *found->second;
  watch.interest = 0;
  if ((what & CURL_POLL_IN) != 0) watch.interest |= CURL_CSELECT_IN;
  if ((what & CURL_POLL_OUT) != 0) watch.interest |= CURL_CSELECT_OUT;
  Arm(fd, watch);
}

void LoopSockets::Arm(curl_socket_t fd, Watch& watch) {
  const int missing = watch.interest & ~watch.armed;
  if ((missing & CURL_CSELECT_IN) != 0) watch.watcher->WaitReadable([this, fd] { OnReady(fd, CURL_CSELECT_IN); });
  if ((missing & CURL_CSELECT_OUT) != 0) watch.watcher->WaitWritable([this, fd] { OnReady(fd, CURL_CSELECT_OUT); });
  watch.armed |= missing;
}

void LoopSockets::OnReady(curl_socket_t fd, int events) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  found->second->armed &= ~events;
  if ((found->second->interest & events) == 0) return;
  // Armed before libcurl works, since its work may end this object. A wait that the work makes superfluous goes away
  // with its watch, or finds no interest.
  Arm(fd, *found->second);
  act_(fd, events);
}

void LoopSockets::SetTimer(long timeout_ms) {
  if (stopped_) return;
  if (timeout_ms < 0) return timer_->Cancel();
  timer_->ExpireAt(base::SaturatingAdd(base::Clock::now(), std::chrono::milliseconds(timeout_ms)),
                   [this] { act_(CURL_SOCKET_TIMEOUT, 0); });
}

}  // namespace osbx::transport
