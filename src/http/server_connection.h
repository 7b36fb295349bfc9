// One connection of an HTTP server: request after request is read, handed to the handler and answered.
//
// Everything happens in turns on the loop's thread. What a handler calls only notes what is wanted and asks for a turn,
// so no callback runs inside a call, and pipelined requests do not pile up on the stack.
#ifndef OSBX_HTTP_SERVER_CONNECTION_H_
#define OSBX_HTTP_SERVER_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/cancel.h"
#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "http/answer_head.h"
#include "http/exchange.h"
#include "http/read_buffer.h"
#include "http/request_parser.h"
#include "http/server.h"

namespace osbx::http {

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  // The server, as its connections see it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual const std::shared_ptr<base::EventLoop>& loop() const = 0;
    virtual const ServerOptions& options() const = 0;
    virtual bool draining() const = 0;
    virtual void Handle(std::shared_ptr<Exchange> exchange) = 0;
    virtual Answer Refuse(int status, const std::string& what) = 0;
    virtual void OnIdle(ServerConnection& connection, bool idle) = 0;
    // The last call. The owner lets go of the connection.
    virtual void OnClosed(ServerConnection& connection) = 0;
  };
  // Where the owner keeps it.
  struct Place {
    std::list<std::shared_ptr<ServerConnection>>::iterator all;
    std::list<ServerConnection*>::iterator idle;
  };

  ServerConnection(Owner& owner, base::UniqueFd socket);
  void Start();
  // At once. What waits is told that the client is gone.
  void Close();
  // No further request. Closes unless one is under way.
  void Drain();

  // Waits for a request of which nothing has come.
  bool idle() const { return idle_; }

  Place place;

  // The exchange's calls. `serial` is that of its request: an answered one has no say any more.
  void ReadBody(uint64_t serial, Exchange::BodyCallback done);
  void OnClientGone(uint64_t serial, std::function<void()> gone);
  void Respond(uint64_t serial, Answer answer);
  void BeginAnswer(uint64_t serial, int status, const Headers& headers, uint64_t content_length);
  void WriteBody(uint64_t serial, std::string piece, Exchange::WriteCallback done);
  // Without telling anybody.
  void Abort(uint64_t serial);

 private:
  static constexpr size_t kReadAhead = size_t{64} << 10;  // of what is not asked for yet

  enum class Phase {
    kHead,      // waits for a request
    kExchange,  // has one, until its answer has been sent
    kDiscard,   // reads away what is left of the answered one
    kLinger,    // has sent the last answer, and lets the client read it
    kClosed,
  };

  // Turns.
  void Schedule();
  void Turn();
  void RunTurn();
  void Step();
  void StepExchange();
  void SetIdle(bool idle);
  void UpdateWaits();
  // Whether the client's end would not be noticed by reading: what it has sent ahead has filled the buffer.
  bool ReadsNoMore() const { return gone_ && !eof_ && in_.size() >= kReadAhead; }
  bool ClientHasClosed() const;
  base::TimePoint Deadline() const;
  void OnTimer();
  // For a callback on a connection that is closed, or about to be: nobody is left to be told of what it throws.
  template <typename Function, typename... Arguments>
  static void RunSafely(const Function& function, Arguments&&... arguments) {
    if (!function) return;
    try {
      function(std::forward<Arguments>(arguments)...);
    } catch (...) {
    }
  }

  // Reading.
  bool MayRead(size_t limit) const { return readable_ && !eof_ && in_.size() < limit; }
  void Receive(size_t limit);
  void BeginHead();
  void TakeRequest();
  void StartExchange();
  void PumpBody();
  void FailBody(const absl::Status& status);
  bool DecodeAway();
  void Discard();
  void Linger();

  // Answering.
  bool Current(uint64_t serial) const { return phase_ == Phase::kExchange && serial == serial_ && !answered_; }
  bool KeepsConnection(bool whole);
  void MakeHead(int status, const Headers& headers, uint64_t content_length);
  void MakeWhole(Answer answer);
  void Complete();
  void Refuse(int status, const std::string& what);
  void RefuseFor(const absl::Status& status);
  void Flush();
  bool flushed() const { return out_head_.empty() && out_body_.empty(); }
  void EndExchange();
  void StartLingering();

  Owner* owner_;
  base::UniqueFd socket_;
  std::unique_ptr<base::EventLoop::FdWatcher> watcher_;
  std::unique_ptr<base::EventLoop::Timer> timer_;
  base::TimePoint timer_at_ = base::TimePoint::max();

  Phase phase_ = Phase::kHead;
  bool in_turn_ = false;
  bool again_ = false;
  bool scheduled_ = false;
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool idle_ = false;

  ReadBuffer in_;
  bool readable_ = true;  // perhaps
  bool eof_ = false;
  std::unique_ptr<RequestParser> parser_;
  base::TimePoint phase_since_;  // of kHead: since the head's first byte, or since there is none
  base::TimePoint last_read_;
  base::TimePoint last_write_;
  size_t linger_left_ = 0;

  // The exchange under way.
  uint64_t serial_ = 0;
  bool is_head_ = false;
  bool is_http10_ = false;
  bool continue_pending_ = false;
  bool head_made_ = false;  // the answer has begun
  bool answered_ = false;   // nothing is added to the answer any more
  bool keep_ = false;       // the connection, once it is sent
  uint64_t answer_left_ = 0;
  Exchange::BodyCallback read_done_;
  Exchange::WriteCallback write_done_;
  std::function<void()> gone_;

  std::string out_head_;
  std::string out_body_;
  size_t out_sent_ = 0;  // of both
};

}  // namespace osbx::http

#endif  // OSBX_HTTP_SERVER_CONNECTION_H_
