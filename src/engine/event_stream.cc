// StartEvents() of system_calls.h: the one call whose answer may never end.
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "engine/json_reading.h"
#include "engine/json_stream.h"
#include "engine/system_calls.h"

namespace osbx::engine {
namespace {

// Seconds and nine digits of a second, as the daemon reads a time (Docker Engine API, GET /events).
std::string Timestamp(int64_t unix_ns) {
  constexpr int64_t kSecond = 1000000000;
  std::string fraction = std::to_string(kSecond + unix_ns % kSecond);
  return std::to_string(unix_ns / kSecond) + "." + fraction.substr(1);
}

std::optional<Event> ReadEvent(base::JsonValue object) {
  Event event;
  event.type = object["Type"].StringOr("");
  event.action = object["Action"].StringOr("");
  if (event.type.empty() || event.action.empty()) return std::nullopt;
  const base::JsonValue actor = object["Actor"];
  event.id = actor["ID"].StringOr("");
  event.attributes = StringMap(actor["Attributes"]);
  const double time_ns = object["timeNano"].AsNumber().value_or(0);
  if (time_ns > 0 && time_ns < 9.2e18) event.time_ns = static_cast<int64_t>(time_ns);
  return event;
}

// Loop thread only. Alive as long as the transport's call or one of its callbacks runs.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(std::function<void()> on_head, std::function<void(const Event&)> on_event,
              std::function<void(absl::Status)> on_end)
      : on_head_(std::move(on_head)), on_event_(std::move(on_event)), on_end_(std::move(on_end)) {}

  void Begin(transport::Connection& connection, const transport::Request& request, base::TimePoint deadline) {
    transport::CallHandlers handlers;
    handlers.on_head = [self = shared_from_this()](int status) { std::shared_ptr<EventStream>(self)->OnHead(status); };
    handlers.on_body = [self = shared_from_this()](std::string_view bytes) {
      return std::shared_ptr<EventStream>(self)->OnBody(bytes);
    };
    handlers.on_done = [self = shared_from_this()](absl::StatusOr<transport::Response> response) {
      std::shared_ptr<EventStream>(self)->OnDone(response);
    };
    std::unique_ptr<transport::PendingCall> pending = connection.Start(request, deadline, std::move(handlers));
    // It may have ended already.
    if (!ended_) pending_ = std::move(pending);
  }

  // The owner wants no more. The transport lets its call be destroyed in on_done only, so inside another callback the
  // destruction is left to the loop's next turn.
  void Abandon(base::EventLoop& loop) {
    ended_ = true;
    if (pending_ == nullptr) return;
    if (!in_callback_) return pending_.reset();
    // The task owns the call, so that it goes with the task, run or not.
    std::shared_ptr<transport::PendingCall> pending(std::move(pending_));
    const absl::Status posted = loop.Post([pending = std::move(pending)] {});
    (void)posted;  // fails only where the loop has no thread, and this is its thread
  }

 private:
  void OnHead(int status) {
    if (ended_ || status < 200 || status > 299 || !on_head_) return;
    in_callback_ = true;
    on_head_();
    in_callback_ = false;
  }

  bool OnBody(std::string_view bytes) {
    if (ended_) return false;
    in_callback_ = true;
    const bool more = body_.OnBody(bytes, [this](base::JsonValue object) {
      if (const std::optional<Event> event = ReadEvent(object)) on_event_(*event);
      return !ended_;
    });
    in_callback_ = false;
    return more;
  }

  void OnDone(const absl::StatusOr<transport::Response>& response) {
    if (ended_) return;
    ended_ = true;
    absl::Status end = body_.Finish(response, "events");
    // The owner still holds the call; dropping it here, in on_done, is what the transport allows.
    pending_.reset();
    if (on_end_) on_end_(std::move(end));
  }

  const std::function<void()> on_head_;
  const std::function<void(const Event&)> on_event_;
  const std::function<void(absl::Status)> on_end_;
  std::unique_ptr<transport::PendingCall> pending_;
  JsonStreamBody body_;
  bool in_callback_ = false;
  bool ended_ = false;
};

class EventsCall : public transport::PendingCall {
 public:
  EventsCall(std::shared_ptr<base::EventLoop> loop, std::shared_ptr<EventStream> stream)
      : loop_(std::move(loop)), stream_(std::move(stream)) {}
  ~EventsCall() override { stream_->Abandon(*loop_); }

 private:
  const std::shared_ptr<base::EventLoop> loop_;
  const std::shared_ptr<EventStream> stream_;
};

}  // namespace

std::unique_ptr<transport::PendingCall> StartEvents(Client& client, const std::string& container,
                                                    const std::vector<std::string>& actions, int64_t since_ns,
                                                    int64_t until_ns, base::TimePoint deadline,
                                                    std::function<void()> on_head,
                                                    std::function<void(const Event&)> on_event,
                                                    std::function<void(absl::Status)> on_end) {
  const std::string filters = base::JsonBuilder::Object()
                                  .Set("type", std::vector<std::string>{"container"})
                                  .Set("container", std::vector<std::string>{container})
                                  .Set("event", actions)
                                  .Print();
  transport::Request request;
  request.target = "/events?since=" + Timestamp(since_ns);
  if (until_ns != 0) request.target += "&until=" + Timestamp(until_ns);
  request.target += "&filters=" + base::PercentEncode(filters);
  client.AddKnownPrefix(request);
  auto stream = std::make_shared<EventStream>(std::move(on_head), std::move(on_event), std::move(on_end));
  stream->Begin(client.connection(), request, deadline);
  return std::make_unique<EventsCall>(client.loop(), std::move(stream));
}

}  // namespace osbx::engine
