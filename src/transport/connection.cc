#include "transport/connection.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "transport/blocking_call.h"
#include "transport/call_channel.h"
#include "transport/curl_library.h"
#include "transport/hijack.h"
#include "transport/loop_calls.h"

namespace osbx::transport {
namespace {

// A start that failed before there was anything to run: its error comes through on_done all the same.
class FailedCall final : public PendingCall {
 public:
  FailedCall(base::EventLoop& loop, absl::Status status, CallHandlers handlers) : timer_(loop.NewTimer()) {
    timer_->ExpireAt(base::Clock::now(), [status = std::move(status), done = std::move(handlers.on_done)] {
      if (done) done(status);
    });
  }

 private:
  std::unique_ptr<base::EventLoop::Timer> timer_;
};

class EngineConnection final : public Connection {
 public:
  EngineConnection(Endpoint endpoint, std::shared_ptr<base::EventLoop> loop)
      : endpoint_(std::move(endpoint)),
        library_(CurlLibrary::Acquire()),
        on_loop_(new OnLoop{getpid(), std::move(loop), nullptr}) {
    if (library_.ok()) pool_ = std::make_unique<ChannelPool>(*library_);
  }

  ~EngineConnection() override {
    std::unique_ptr<OnLoop> last(on_loop_.load(std::memory_order_acquire));
    if (last->process != getpid()) {
      (void)last.release();  // the parent's: not a byte of it is touched here
    } else if (last->calls != nullptr) {
      (void)last->loop->RunAndWait([&last] { last->calls.reset(); });
    }
  }

  absl::StatusOr<Response> Call(const Request& request, const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(library_.status());
    return BlockingCall(*library_, *pool_, endpoint_, request, context);
  }

  absl::StatusOr<HijackResult> Hijack(const Request& request, const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(library_.status());
    return HijackCall(*library_, *pool_, endpoint_, request, context);
  }

  std::unique_ptr<PendingCall> Start(const Request& request, base::TimePoint deadline, CallHandlers handlers) override {
    OnLoop& here = Here();
    if (absl::Status status = PrepareCalls(here); !status.ok()) {
      return std::make_unique<FailedCall>(*here.loop, std::move(status), std::move(handlers));
    }
    return here.calls->Start(request, deadline, std::move(handlers));
  }

  const std::shared_ptr<base::EventLoop>& loop() const override { return Here().loop; }
  const Endpoint& endpoint() const override { return endpoint_; }

 private:
  // The loop and the calls on it, of one process. A forked child, where the parent's thread does not exist, gets its
  // own and leaves the parent's as they are.
  struct OnLoop {
    const pid_t process;
    const std::shared_ptr<base::EventLoop> loop;
    std::shared_ptr<LoopCalls> calls;  // the loop thread's
  };

  // Without a mutex, because a child forked while another thread held it could never take it.
  OnLoop& Here() const {
    OnLoop* known = on_loop_.load(std::memory_order_acquire);
    if (known->process == getpid()) return *known;
    auto fresh = std::unique_ptr<OnLoop>(new OnLoop{getpid(), base::EventLoop::Create(), nullptr});
    if (!on_loop_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *known;
    return *fresh.release();
  }

  absl::Status PrepareCalls(OnLoop& here) {
    OSBX_RETURN_IF_ERROR(library_.status());
    if (here.calls != nullptr) return absl::OkStatus();
    OSBX_ASSIGN_OR_RETURN(here.calls, LoopCalls::Create(*library_, endpoint_, here.loop));
    return absl::OkStatus();
  }

  const Endpoint endpoint_;
  const absl::StatusOr<std::shared_ptr<CurlLibrary>> library_;
  std::unique_ptr<ChannelPool> pool_;
  mutable std::atomic<OnLoop*> on_loop_;
};

}  // namespace

std::shared_ptr<Connection> NewConnection(Endpoint endpoint, std::shared_ptr<base::EventLoop> loop) {
  return std::make_shared<EngineConnection>(std::move(endpoint), std::move(loop));
}

}  // namespace osbx::transport
