// A scripted exchange: the body that it has been given, and what the handler made of it.
#ifndef OSBX_TESTS_UNIT_CONTRACT_FAKE_EXCHANGE_H_
#define OSBX_TESTS_UNIT_CONTRACT_FAKE_EXCHANGE_H_

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "http/exchange.h"

namespace osbx::testing {

// What the client saw in the end.
struct Seen {
  int status = 0;  // 0: dropped or aborted before the head
  http::Headers headers;
  std::string body;
  std::string last_piece;  // of an answer in pieces
  uint64_t content_length = 0;
  bool aborted = false;
  bool complete = false;
};

class FakeExchange : public http::Exchange {
 public:
  explicit FakeExchange(http::Request request) : request_(std::move(request)) {}
  ~FakeExchange() override {
    if (!told_) Tell();
  }

  // ---- the script, set before the handler runs; later on the loop's thread only ----
  std::deque<absl::StatusOr<std::string>> pieces;  // then the end
  // Runs when piece number `n` (from 0) is asked for.
  std::function<void(int n)> on_read;
  int hold_at = -1;  // the piece that is held back until Feed()
  // Runs before a written piece is taken, with the count of bytes before it; false: the client goes away.
  std::function<bool(uint64_t before)> on_write;
  bool keep_body = true;
  std::function<void()> on_answer;
  bool client_is_gone = false;

  std::future<Seen> Result() { return promise_.get_future(); }
  void Feed() {
    hold_at = -1;
    Give(std::exchange(waiting_, nullptr));
  }

  // ---- http::Exchange ----
  const http::Request& request() const override { return request_; }
  void ReadBody(BodyCallback done) override {
    if (on_read) on_read(reads_);
    if (reads_++ == hold_at) {
      waiting_ = std::move(done);
      return;
    }
    Give(std::move(done));
  }
  void OnClientGone(std::function<void()> gone) override {
    if (client_is_gone) gone();
  }
  void Respond(http::Answer answer) override {
    seen_.status = answer.status;
    seen_.headers = std::move(answer.headers);
    seen_.content_length = answer.body.size();
    if (request_.method != "HEAD") seen_.body = std::move(answer.body);
    seen_.complete = true;
    Tell();
  }
  void BeginAnswer(int status, http::Headers headers, uint64_t content_length) override {
    seen_.status = status;
    seen_.headers = std::move(headers);
    seen_.content_length = content_length;
    seen_.complete = content_length == 0 || request_.method == "HEAD";
    if (seen_.complete) Tell();
  }
  void WriteBody(std::string piece, WriteCallback done) override {
    const bool taken = !on_write || on_write(written_);
    if (!taken) {
      done(false);
      Tell();
      return;
    }
    written_ += piece.size();
    if (keep_body) seen_.body += piece;
    seen_.last_piece = std::move(piece);
    if (written_ == seen_.content_length) {
      seen_.complete = true;
      Tell();
    }
    done(true);
  }
  void Abort() override {
    seen_.aborted = true;
    Tell();
  }

 private:
  void Give(BodyCallback done) {
    if (pieces.empty()) return done(std::string());
    absl::StatusOr<std::string> piece = std::move(pieces.front());
    pieces.pop_front();
    done(std::move(piece));
  }
  void Tell() {
    if (std::exchange(told_, true)) return;
    if (on_answer) on_answer();
    promise_.set_value(seen_);
  }

  const http::Request request_;
  std::promise<Seen> promise_;
  bool told_ = false;
  Seen seen_;
  int reads_ = 0;
  uint64_t written_ = 0;
  BodyCallback waiting_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_UNIT_CONTRACT_FAKE_EXCHANGE_H_
