#include "transport/call_channel.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/mutex.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr size_t kMaxIdle = 8;
constexpr int kMaxWaitMs = 3'600'000;

}  // namespace

CallChannel::Added::~Added() {
  if (added_) curl_multi_remove_handle(channel_.multi_->get(), easy_.get());
}

absl::StatusOr<CURLcode> CallChannel::Added::Run(const base::Context& context) {
  CURLM* const multi = channel_.multi_->get();
  if (curl_multi_add_handle(multi, easy_.get()) != CURLM_OK) return Error(Code::kInternal, "libcurl refused a call");
  added_ = true;
  for (;;) {
    if (absl::Status status = context.Check(); !status.ok()) {
      easy_.NoteGivenUp();
      return status;
    }
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return Error(Code::kInternal, "libcurl failed");
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &queued)) {
      if (message->msg == CURLMSG_DONE && message->easy_handle == easy_.get()) return message->data.result;
    }
    OSBX_RETURN_IF_ERROR(channel_.Poll(nullptr, 0, context));
  }
}

absl::Status CallChannel::WaitForSocket(curl_socket_t socket, short events, const base::Context& context) {
  curl_waitfd wait{socket, events, 0};
  for (;;) {
    OSBX_RETURN_IF_ERROR(context.Check());
    OSBX_RETURN_IF_ERROR(Poll(&wait, 1, context));
    if (wait.revents != 0) return absl::OkStatus();
  }
}

absl::Status CallChannel::Poll(curl_waitfd* extra, unsigned int extra_count, const base::Context& context) {
  const int timeout = base::MillisecondsUntil(context.deadline(), kMaxWaitMs);
  if (curl_multi_poll(multi_->get(), extra, extra_count, timeout, nullptr) == CURLM_OK) return absl::OkStatus();
  return Error(Code::kInternal, "libcurl cannot wait");
}

// The list of one process.
struct ChannelPool::Idle {
  const pid_t process = getpid();
  base::Mutex mutex;
  std::vector<std::unique_ptr<CallChannel>> channels ABSL_GUARDED_BY(mutex);
};

ChannelPool::ChannelPool(std::shared_ptr<CurlLibrary> library) : library_(std::move(library)), idle_(new Idle) {}

ChannelPool::~ChannelPool() {
  Idle* const idle = idle_.load();
  if (idle->process == getpid()) delete idle;
}

// The parent's list is leaked in the child.
ChannelPool::Idle& ChannelPool::Current() {
  Idle* current = idle_.load(std::memory_order_acquire);
  if (current->process == getpid()) return *current;
  auto fresh = std::make_unique<Idle>();
  if (idle_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *current;  // another thread of this child was first
}

absl::StatusOr<ChannelPool::Lease> ChannelPool::Take() {
  {
    Idle& idle = Current();
    base::MutexLock lock(idle.mutex);
    if (!idle.channels.empty()) {
      // The one used last: its connection is the least likely to have been dropped by the engine.
      std::unique_ptr<CallChannel> channel = std::move(idle.channels.back());
      idle.channels.pop_back();
      return Lease(*this, std::move(channel));
    }
  }
  OSBX_ASSIGN_OR_RETURN(std::unique_ptr<CallChannel> channel, NewChannel());
  return Lease(*this, std::move(channel));
}

absl::StatusOr<std::unique_ptr<CallChannel>> ChannelPool::NewChannel() {
  OSBX_ASSIGN_OR_RETURN(std::unique_ptr<CurlMulti> multi, CurlMulti::Create(library_));
  // One that is kept, and one of a call that connects afresh beside it.
  curl_multi_setopt(multi->get(), CURLMOPT_MAXCONNECTS, 2L);
  return std::make_unique<CallChannel>(std::move(multi));
}

void ChannelPool::GiveBack(std::unique_ptr<CallChannel> channel) {
  Idle& idle = Current();
  base::MutexLock lock(idle.mutex);
  try {
    if (idle.channels.size() < kMaxIdle) idle.channels.push_back(std::move(channel));
  } catch (...) {
  }
  // Else it is closed, by the parameter's destructor, when the mutex is free.
}

}  // namespace osbx::transport
