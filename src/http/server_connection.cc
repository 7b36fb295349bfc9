#include "http/server_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "http/server_exchange.h"

namespace osbx::http {
namespace {

using base::Clock;
using base::Code;
using base::Error;
using base::SaturatingAdd;
using base::TimePoint;

constexpr int kMaxSteps = 32;  // of one turn; then others have theirs
constexpr std::chrono::milliseconds kLingerTime{1'000};
constexpr std::chrono::milliseconds kLookForEnd{250};  // where reading does not tell of it

}  // namespace

ServerConnection::ServerConnection(Owner& owner, base::UniqueFd socket) : owner_(&owner), socket_(std::move(socket)) {}

void ServerConnection::Start() {
  watcher_ = owner_->loop()->WatchFd(socket_.get());
  timer_ = owner_->loop()->NewTimer();
  BeginHead();
  Turn();
}

void ServerConnection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();
  watcher_.reset();
  timer_.reset();
  socket_.Reset();
  std::exchange(owner_, nullptr)->OnClosed(*this);
  parser_.reset();
  in_ = ReadBuffer();
  out_head_ = std::string();
  out_body_ = std::string();
  const auto read_done = std::exchange(read_done_, nullptr);
  const auto write_done = std::exchange(write_done_, nullptr);
  const auto gone = std::exchange(gone_, nullptr);
  RunSafely(read_done, Error(Code::kCanceled, "the connection is closed"));
  RunSafely(write_done, false);
  RunSafely(gone);
}

void ServerConnection::Drain() {
  if (phase_ == Phase::kHead) return Close();
  if (phase_ == Phase::kDiscard) StartLingering();
  if (phase_ == Phase::kLinger) Schedule();
}

// ---- turns ----------------------------------------------------------------------------------------------------------

void ServerConnection::Schedule() {
  if (in_turn_) again_ = true;
  if (in_turn_ || scheduled_ || phase_ == Phase::kClosed) return;
  const absl::Status posted = owner_->loop()->Post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->scheduled_ = false;
    self->Turn();
  });
  scheduled_ = posted.ok();
  if (!posted.ok()) Close();
}

void ServerConnection::Turn() {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  try {
    RunTurn();
  } catch (...) {
    // For want of memory, or a callback threw: this connection ends, the others live on.
    in_turn_ = false;
    Close();
  }
}

void ServerConnection::RunTurn() {
  in_turn_ = true;
  int steps = 0;
  do {
    again_ = false;
    Step();
  } while (again_ && phase_ != Phase::kClosed && ++steps < kMaxSteps);
  in_turn_ = false;
  if (phase_ == Phase::kClosed) return;
  SetIdle(phase_ == Phase::kHead && in_.empty());
  if (idle_) in_.Release();
  if (again_) return Schedule();
  UpdateWaits();
}

void ServerConnection::Step() {
  Flush();
  switch (phase_) {
    case Phase::kHead:
      return TakeRequest();
    case Phase::kExchange:
      return StepExchange();
    case Phase::kDiscard:
      return Discard();
    case Phase::kLinger:
      return Linger();
    case Phase::kClosed:
      return;
  }
}

void ServerConnection::StepExchange() {
  if (flushed() && write_done_) {
    const auto done = std::exchange(write_done_, nullptr);
    again_ = true;
    return done(true);
  }
  if (flushed() && answered_) {
    again_ = true;
    return EndExchange();
  }
  if (read_done_) return PumpBody();
  // Only so that the client's end is noticed.
  while (MayRead(kReadAhead)) {
    Receive(kReadAhead);
    if (phase_ == Phase::kClosed) return;
  }
  if (gone_ && (eof_ || (ReadsNoMore() && ClientHasClosed()))) std::exchange(gone_, nullptr)();
}

bool ServerConnection::ClientHasClosed() const {
  pollfd asked = {socket_.get(), POLLRDHUP, 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void ServerConnection::SetIdle(bool idle) {
  if (idle != idle_) owner_->OnIdle(*this, idle);
  idle_ = idle;
}

void ServerConnection::UpdateWaits() {
  // Where there may be more to read already, the buffer is full, and reading goes on when there is room.
  if (!eof_ && !readable_ && !waits_readable_) {
    watcher_->WaitReadable([this] {
      waits_readable_ = false;
      readable_ = true;
      Turn();
    });
    waits_readable_ = true;
  }
  if (!flushed() && !waits_writable_) {
    watcher_->WaitWritable([this] {
      waits_writable_ = false;
      Turn();
    });
    waits_writable_ = true;
  }
  // A later deadline than the timer's is set when the timer comes by.
  TimePoint deadline = Deadline();
  if (ReadsNoMore()) deadline = std::min(deadline, Clock::now() + kLookForEnd);
  if (deadline >= timer_at_) return;
  timer_->ExpireAt(deadline, [this] { OnTimer(); });
  timer_at_ = deadline;
}

TimePoint ServerConnection::Deadline() const {
  const ServerOptions& options = owner_->options();
  TimePoint deadline = TimePoint::max();
  switch (phase_) {
    case Phase::kHead:
      return SaturatingAdd(phase_since_, parser_ != nullptr ? options.head_timeout : options.idle_timeout);
    case Phase::kExchange:
      if (read_done_) deadline = SaturatingAdd(last_read_, options.idle_timeout);
      if (!flushed()) deadline = std::min(deadline, SaturatingAdd(last_write_, options.idle_timeout));
      return deadline;
    case Phase::kDiscard:
      return SaturatingAdd(phase_since_, options.head_timeout);
    case Phase::kLinger:
      return SaturatingAdd(phase_since_, kLingerTime);
    case Phase::kClosed:
      return deadline;
  }
  return deadline;
}

void ServerConnection::OnTimer() {
  const auto self = shared_from_this();
  timer_at_ = TimePoint::max();
  try {
    if (Clock::now() >= Deadline()) {
      if (phase_ == Phase::kHead && parser_ != nullptr) {
        Refuse(408, "the head of the request did not arrive in time");
      } else if (phase_ == Phase::kExchange && flushed()) {
        FailBody(Error(Code::kTimeout, "the body of the request stalled", 408));
      } else {
        Close();
      }
    }
  } catch (...) {
    Close();
  }
  Turn();
}

// ---- reading --------------------------------------------------------------------------------------------------------

void ServerConnection::Receive(size_t limit) {
  bool drained = false;
  const ssize_t count = in_.Receive(socket_.get(), limit, drained);
  const int error = count < 0 ? errno : 0;
  if (drained) readable_ = false;
  if (count > 0) last_read_ = Clock::now();
  if (count == 0) eof_ = true;
  if (count < 0 && error != EAGAIN && error != EWOULDBLOCK) Close();
}

void ServerConnection::BeginHead() {
  phase_ = Phase::kHead;
  phase_since_ = Clock::now();
  parser_.reset();
}

void ServerConnection::TakeRequest() {
  const size_t limit = owner_->options().max_head_bytes;
  for (;;) {
    if (!in_.empty()) {
      if (parser_ == nullptr) {
        parser_ = std::make_unique<RequestParser>(limit);
        phase_since_ = Clock::now();
      }
      const absl::StatusOr<size_t> size = parser_->ParseHead(in_.view());
      if (!size.ok()) return RefuseFor(size.status());
      if (*size > 0) {
        in_.Consume(*size);
        return StartExchange();
      }
    }
    if (eof_) return Close();
    if (!MayRead(limit)) return;
    Receive(limit);
    if (phase_ == Phase::kClosed) return;
  }
}

void ServerConnection::StartExchange() {
  Request request = parser_->TakeRequest();
  phase_ = Phase::kExchange;
  SetIdle(false);  // even if the answer is sent within this turn: it is a new beginning
  ++serial_;
  is_head_ = request.method == "HEAD";
  is_http10_ = request.version < 11;
  continue_pending_ = parser_->expects_continue();
  head_made_ = false;
  answered_ = false;
  // Held here, so that the handler's exception does not take it away before it is answered.
  const auto exchange = std::make_shared<ServerExchange>(owner_->loop(), weak_from_this(), serial_, std::move(request));
  try {
    owner_->Handle(exchange);
  } catch (...) {
    if (head_made_) Abort(serial_);
    if (Current(serial_)) Refuse(500, "internal error");
  }
  again_ = true;
}

}  // namespace osbx::http
