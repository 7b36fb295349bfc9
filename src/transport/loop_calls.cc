#include "transport/loop_calls.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace osbx::transport {

using base::Code;
using base::Error;

// One call. It owns what its easy handle refers to.
struct LoopCalls::Transfer {
  Request request;
  CallHandlers handlers;
  std::unique_ptr<EasyHandle> easy;
  std::unique_ptr<base::EventLoop::Timer> deadline;
  Pending* owner = nullptr;
  bool added = false;
  bool abandoned = false;
};

class LoopCalls::Pending final : public PendingCall {
 public:
  Pending(std::shared_ptr<LoopCalls> calls, Transfer* transfer) : calls_(std::move(calls)), transfer_(transfer) {}
  ~Pending() override {
    if (!calls_->BelongsToThisProcess()) {
      (void)new std::shared_ptr<LoopCalls>(std::move(calls_));
    } else if (transfer_ != nullptr) {
      calls_->Abandon(*transfer_);
    }
  }
  void Forget() { transfer_ = nullptr; }

 private:
  std::shared_ptr<LoopCalls> calls_;
  Transfer* transfer_;  // null once the call has ended
};

absl::StatusOr<std::shared_ptr<LoopCalls>> LoopCalls::Create(std::shared_ptr<CurlLibrary> library, Endpoint endpoint,
                                                             const std::shared_ptr<base::EventLoop>& loop) {
  OSBX_ASSIGN_OR_RETURN(std::unique_ptr<CurlMulti> multi, CurlMulti::Create(library));
  return std::shared_ptr<LoopCalls>(new LoopCalls(std::move(library), std::move(endpoint), loop, std::move(multi)));
}

LoopCalls::LoopCalls(std::shared_ptr<CurlLibrary> library, Endpoint endpoint, std::shared_ptr<base::EventLoop> loop,
                     std::unique_ptr<CurlMulti> multi)
    : library_(std::move(library)),
      endpoint_(std::move(endpoint)),
      loop_(loop),
      creator_(getpid()),
      multi_(std::move(multi)),
      sockets_(loop, [this](curl_socket_t fd, int events) { Act(fd, events); }) {
  sockets_.Install(multi_->get());
}

bool LoopCalls::BelongsToThisProcess() const { return creator_ == getpid(); }

LoopCalls::~LoopCalls() {
  sockets_.Stop();
  // No Pending is left, since each holds a reference; so these are abandoned ones at most.
  while (!transfers_.empty()) Remove(*transfers_.begin()->second);
}

std::unique_ptr<PendingCall> LoopCalls::Start(const Request& request, base::TimePoint deadline, CallHandlers handlers) {
  auto owned = std::make_unique<Transfer>();
  Transfer* const transfer = owned.get();
  transfer->request = request;
  transfer->handlers = std::move(handlers);
  auto pending = std::make_unique<Pending>(shared_from_this(), transfer);
  transfer->owner = pending.get();
  transfers_.emplace(transfer, std::move(owned));
  const std::shared_ptr<base::EventLoop> loop = loop_.lock();
  if (loop == nullptr) return pending;  // the loop is at its end, and nothing runs there any more
  transfer->deadline = loop->NewTimer();

  auto easy = EasyHandle::Create(library_, endpoint_, transfer->request, EasyHandle::Use::kFreshConnection);
  if (!easy.ok()) {
    transfer->deadline->ExpireAt(base::Clock::now(),
                                 [this, transfer, status = easy.status()] { Complete(*transfer, status); });
    return pending;
  }
  transfer->easy = *std::move(easy);
  ResponseCollector& collector = transfer->easy->collector();
  // An abandoned call may not be called back, and is ended as soon as libcurl lets go of it.
  collector.on_head = [transfer](int status) {
    if (!transfer->abandoned && transfer->handlers.on_head) transfer->handlers.on_head(status);
  };
  if (transfer->handlers.on_body) {
    collector.on_body = [transfer](std::string_view bytes) {
      return !transfer->abandoned && transfer->handlers.on_body(bytes);
    };
  }
  transfer->deadline->ExpireAt(deadline, [this, transfer] {
    transfer->easy->NoteGivenUp();
    Complete(*transfer, Error(Code::kTimeout, "deadline exceeded"));
  });
  if (inside_curl_) {
    to_add_.push_back(transfer);
  } else {
    Add(*transfer);
  }
  return pending;
}

void LoopCalls::Act(curl_socket_t fd, int events) {
  const std::shared_ptr<LoopCalls> self = shared_from_this();
  int running = 0;
  inside_curl_ = true;
  const CURLMcode code = curl_multi_socket_action(multi_->get(), fd, events, &running);
  inside_curl_ = false;
  if (code != CURLM_OK) FailAll();
  Settle();
}

// libcurl cannot go on, for want of memory as a rule. It recovers once it is empty.
void LoopCalls::FailAll() {
  std::vector<const Transfer*> failed;
  for (const auto& entry : transfers_) failed.push_back(entry.first);
  for (const Transfer* transfer : failed) {
    const auto found = transfers_.find(transfer);  // its end may have come with that of another
    if (found != transfers_.end()) Complete(*found->second, Error(Code::kInternal, "libcurl failed"));
  }
}

// Handlers may start and end calls while this runs, and may drop the last outside reference to this object; the caller
// holds one.
void LoopCalls::Settle() {
  while (!abandoned_.empty()) {
    Transfer* const transfer = abandoned_.back();
    abandoned_.pop_back();
    Remove(*transfer);
  }
  while (!to_add_.empty()) {
    Transfer* const transfer = to_add_.back();
    to_add_.pop_back();
    Add(*transfer);
  }
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_->get(), &queued)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const auto found = std::find_if(transfers_.begin(), transfers_.end(), [message](const auto& entry) {
      return entry.second->easy != nullptr && entry.second->easy->get() == message->easy_handle;
    });
    if (found == transfers_.end()) continue;
    Transfer& transfer = *found->second;
    Complete(transfer, transfer.easy->Finish(code));
  }
}

void LoopCalls::Add(Transfer& transfer) {
  transfer.added = curl_multi_add_handle(multi_->get(), transfer.easy->get()) == CURLM_OK;
  if (transfer.added) return;
  transfer.deadline->ExpireAt(
      base::Clock::now(), [this, &transfer] { Complete(transfer, Error(Code::kInternal, "libcurl refused a call")); });
}

void LoopCalls::Complete(Transfer& transfer, absl::StatusOr<Response> result) {
  const std::shared_ptr<LoopCalls> self = shared_from_this();
  if (transfer.owner != nullptr) transfer.owner->Forget();
  const std::unique_ptr<Transfer> removed = Remove(transfer);
  if (!removed->abandoned && removed->handlers.on_done) removed->handlers.on_done(std::move(result));
}

void LoopCalls::Abandon(Transfer& transfer) {
  transfer.abandoned = true;
  transfer.owner = nullptr;
  if (transfer.added) transfer.easy->NoteGivenUp();
  if (inside_curl_) {
    abandoned_.push_back(&transfer);
  } else {
    Remove(transfer);
  }
}

// Takes the call out of every list. What its handlers hold is destroyed with the returned object.
std::unique_ptr<LoopCalls::Transfer> LoopCalls::Remove(Transfer& transfer) {
  const auto found = transfers_.find(&transfer);
  std::unique_ptr<Transfer> removed = std::move(found->second);
  transfers_.erase(found);
  to_add_.erase(std::remove(to_add_.begin(), to_add_.end(), &transfer), to_add_.end());
  abandoned_.erase(std::remove(abandoned_.begin(), abandoned_.end(), &transfer), abandoned_.end());
  if (removed->added) {
    curl_multi_remove_handle(multi_->get(), removed->easy->get());
    removed->added = false;
  }
  if (removed->deadline) removed->deadline->Cancel();
  return removed;
}

}  // namespace osbx::transport
