// Where the blocking calls wait: a curl multi handle used by one call at a time, and the pool of those.
#ifndef OSBX_TRANSPORT_CALL_CHANNEL_H_
#define OSBX_TRANSPORT_CALL_CHANNEL_H_

#include <atomic>
#include <memory>

#include "base/cancel.h"
#include "base/status.h"
#include "transport/curl_library.h"
#include "transport/easy_handle.h"

namespace osbx::transport {

// Every wait ends at the context's deadline, and when its token fires.
class CallChannel {
 public:
  explicit CallChannel(std::unique_ptr<CurlMulti> multi) : multi_(std::move(multi)) {}

  // A handle in the channel for the life of this object. Destroying it early ends the transfer and its connection.
  class Added {
   public:
    Added(CallChannel& channel, EasyHandle& easy) : channel_(channel), easy_(easy) {}
    ~Added();
    Added(const Added&) = delete;
    Added& operator=(const Added&) = delete;

    // Runs the transfer to its end and gives libcurl's result; the context's error when it was given up.
    absl::StatusOr<CURLcode> Run(const base::Context& context);

   private:
    CallChannel& channel_;
    EasyHandle& easy_;
    bool added_ = false;
  };

  // Waits until the socket is ready for one of `events` (CURL_WAIT_POLLIN, CURL_WAIT_POLLOUT).
  absl::Status WaitForSocket(curl_socket_t socket, short events, const base::Context& context);

  // Ends a wait that is under way, or else the next one, so that it looks at its context again. Any thread.
  void WakeUp() { curl_multi_wakeup(multi_->get()); }

 private:
  absl::Status Poll(curl_waitfd* extra, unsigned int extra_count, const base::Context& context);

  std::unique_ptr<CurlMulti> multi_;
};

// Idle channels with their kept connections, at most eight. Thread-safe. In a forked child the parent's are left alone,
// and so is the mutex that another of its threads may hold.
class ChannelPool {
 public:
  explicit ChannelPool(std::shared_ptr<CurlLibrary> library);
  ~ChannelPool();
  ChannelPool(const ChannelPool&) = delete;
  ChannelPool& operator=(const ChannelPool&) = delete;

  // A channel on loan, given back by the destructor.
  class Lease {
   public:
    Lease(ChannelPool& pool, std::unique_ptr<CallChannel> channel) : pool_(&pool), channel_(std::move(channel)) {}
    Lease(Lease&&) = default;
    ~Lease() {
      if (channel_) pool_->GiveBack(std::move(channel_));
    }
    CallChannel& operator*() const { return *channel_; }
    CallChannel* operator->() const { return channel_.get(); }

   private:
    ChannelPool* pool_;
    std::unique_ptr<CallChannel> channel_;
  };

  absl::StatusOr<Lease> Take();
  // One outside the pool, for a stream that stays in it.
  absl::StatusOr<std::unique_ptr<CallChannel>> NewChannel();

 private:
  struct Idle;

  void GiveBack(std::unique_ptr<CallChannel> channel);
  Idle& Current();

  const std::shared_ptr<CurlLibrary> library_;
  std::atomic<Idle*> idle_;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_CALL_CHANNEL_H_
