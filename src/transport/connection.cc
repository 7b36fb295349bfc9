#include "transport/connection.h"

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
      : endpoint_(std::move(endpoint)), loop_(std::move(loop)), library_(CurlLibrary::Acquire()) {
    if (library_.ok()) pool_ = std::make_unique<ChannelPool>(*library_);
  }

  ~EngineConnection() override {
    LeaveParentsCalls();
    if (loop_calls_ != nullptr) (void)loop_->RunAndWait([this] { loop_calls_.reset(); });
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
    if (absl::Status status = PrepareLoopCalls(); !status.ok()) {
      return std::make_unique<FailedCall>(*loop_, std::move(status), std::move(handlers));
    }
    return loop_calls_->Start(request, deadline, std::move(handlers));
  }

  const std::shared_ptr<base::EventLoop>& loop() const override { return loop_; }
  const Endpoint& endpoint() const override { return endpoint_; }

 private:
  // In a forked child, the calls on the loop are the parent's.
  void LeaveParentsCalls() {
    if (loop_calls_ == nullptr || loop_calls_->BelongsToThisProcess()) return;
    (void)new std::shared_ptr<LoopCalls>(std::move(loop_calls_));
  }

  absl::Status PrepareLoopCalls() {
    OSBX_RETURN_IF_ERROR(library_.status());
    LeaveParentsCalls();
    if (loop_calls_ != nullptr) return absl::OkStatus();
    OSBX_ASSIGN_OR_RETURN(loop_calls_, LoopCalls::Create(*library_, endpoint_, loop_));
    return absl::OkStatus();
  }

  const Endpoint endpoint_;
  const std::shared_ptr<base::EventLoop> loop_;
  const absl::StatusOr<std::shared_ptr<CurlLibrary>> library_;
  std::unique_ptr<ChannelPool> pool_;
  std::shared_ptr<LoopCalls> loop_calls_;  // the loop thread's
};

}  // namespace

std::shared_ptr<Connection> NewConnection(Endpoint endpoint, std::shared_ptr<base::EventLoop> loop) {
  return std::make_shared<EngineConnection>(std::move(endpoint), std::move(loop));
}

}  // namespace osbx::transport
