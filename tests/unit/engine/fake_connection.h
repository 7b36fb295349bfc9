// A connection that answers from a script and remembers what was asked, for tests of what the engine layer writes and
// reads; no socket is involved.
#ifndef OSBX_TESTS_UNIT_ENGINE_FAKE_CONNECTION_H_
#define OSBX_TESTS_UNIT_ENGINE_FAKE_CONNECTION_H_

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "transport/connection.h"

namespace osbx::engine {

inline transport::Response Answer(int status, std::string body,
                                  std::vector<std::pair<std::string, std::string>> headers = {}) {
  transport::Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers = std::move(headers);
  return response;
}

// The text with every %XX decoded, so that an expectation can be read.
inline std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      decoded += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

class FakeConnection : public transport::Connection {
 public:
  // A call that Start() began, in the hands of the test. Loop thread only. Whoever destroys the PendingCall ends it:
  // nothing is passed on after that.
  class Started {
   public:
    bool alive() const { return alive_; }
    void Head(int status) {
      if (alive_ && handlers_.on_head) handlers_.on_head(status);
    }
    // What on_body said; false when the call is gone.
    bool Body(std::string_view bytes) { return alive_ && handlers_.on_body(bytes); }
    void Done(absl::StatusOr<transport::Response> end) {
      if (!alive_) return;
      // on_done may destroy the call, so nothing of it is used afterwards.
      auto on_done = std::move(handlers_.on_done);
      on_done(std::move(end));
    }

   private:
    friend class FakeConnection;
    bool alive_ = true;
    transport::CallHandlers handlers_;
  };

  FakeConnection() : loop_(base::EventLoop::Create()) {}

  // --- the script ---
  void AnswerNext(absl::StatusOr<transport::Response> answer) {
    base::MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void AnswerPing(std::vector<std::pair<std::string, std::string>> headers = {{"Api-Version", "1.41"}}) {
    AnswerNext(Answer(200, "OK", std::move(headers)));
  }
  transport::HijackResult hijack_answer;
  // Runs on the loop right after Start() has returned.
  std::function<void(Started&)> on_start;

  // --- what happened ---
  std::vector<transport::Request> requests() const {
    base::MutexLock lock(mutex_);
    return requests_;
  }
  transport::Request last_request() const {
    base::MutexLock lock(mutex_);
    return requests_.empty() ? transport::Request() : requests_.back();
  }
  std::shared_ptr<Started> started() const {
    base::MutexLock lock(mutex_);
    return started_;
  }

  // --- Connection ---
  absl::StatusOr<transport::Response> Call(const transport::Request& request, const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(context.Check());
    base::MutexLock lock(mutex_);
    requests_.push_back(request);
    if (answers_.empty()) return base::Error(base::Code::kUnreachable, "the script has no further answer");
    absl::StatusOr<transport::Response> answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  absl::StatusOr<transport::HijackResult> Hijack(const transport::Request& request, const base::Context&) override {
    base::MutexLock lock(mutex_);
    requests_.push_back(request);
    return std::move(hijack_answer);
  }
  std::unique_ptr<transport::PendingCall> Start(const transport::Request& request, base::TimePoint,
                                                transport::CallHandlers handlers) override {
    auto started = std::make_shared<Started>();
    started->handlers_ = std::move(handlers);
    {
      base::MutexLock lock(mutex_);
      requests_.push_back(request);
      started_ = started;
    }
    if (on_start) {
      const absl::Status posted = loop_->Post([started, script = on_start] { script(*started); });
      (void)posted;
    }
    return std::make_unique<Pending>(std::move(started));
  }
  const std::shared_ptr<base::EventLoop>& loop() const override { return loop_; }
  const transport::Endpoint& endpoint() const override { return endpoint_; }

 private:
  class Pending : public transport::PendingCall {
   public:
    explicit Pending(std::shared_ptr<Started> started) : started_(std::move(started)) {}
    ~Pending() override {
      started_->alive_ = false;
      started_->handlers_ = {};
    }

   private:
    const std::shared_ptr<Started> started_;
  };

  const std::shared_ptr<base::EventLoop> loop_;
  const transport::Endpoint endpoint_;
  mutable base::Mutex mutex_;
  std::deque<absl::StatusOr<transport::Response>> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<transport::Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Started> started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace osbx::engine

#endif  // OSBX_TESTS_UNIT_ENGINE_FAKE_CONNECTION_H_
