// The answering half of a connection, and what an exchange may ask of it.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "http/server_connection.h"

namespace osbx::http {
namespace {

using base::Clock;
using base::Code;
using base::Error;

constexpr uint64_t kMaxDiscarded = uint64_t{64} << 10;
constexpr size_t kMaxLinger = size_t{256} << 10;
constexpr std::string_view kHeadStart = "HEAD ";

}  // namespace

void ServerConnection::ReadBody(uint64_t serial, Exchange::BodyCallback done) {
  if (!Current(serial) || read_done_) return done(Error(Code::kCanceled, "the request is over"));
  read_done_ = std::move(done);
  last_read_ = Clock::now();
  Schedule();
}

void ServerConnection::OnClientGone(uint64_t serial, std::function<void()> gone) {
  if (phase_ == Phase::kClosed && serial == serial_ && !answered_) return gone();
  if (!Current(serial)) return;
  gone_ = std::move(gone);
  if (eof_) Schedule();
}

void ServerConnection::Respond(uint64_t serial, Answer answer) {
  if (!Current(serial) || head_made_) return;
  keep_ = KeepsConnection(/*whole=*/true);
  MakeWhole(std::move(answer));
  Schedule();
}

void ServerConnection::BeginAnswer(uint64_t serial, int status, const Headers& headers, uint64_t content_length) {
  if (!Current(serial) || head_made_) return;
  keep_ = KeepsConnection(/*whole=*/false);
  MakeHead(status, headers, content_length);
  answer_left_ = is_head_ || IsBodyless(status) ? 0 : content_length;
  if (answer_left_ == 0) Complete();
  Schedule();
}

void ServerConnection::WriteBody(uint64_t serial, std::string piece, Exchange::WriteCallback done) {
  if (!Current(serial) || !head_made_ || write_done_) return done(false);
  if (piece.size() > answer_left_) {
    Abort(serial);
    return done(false);
  }
  answer_left_ -= piece.size();
  out_body_ = std::move(piece);
  last_write_ = Clock::now();
  write_done_ = std::move(done);
  if (answer_left_ == 0) Complete();
  Schedule();
}

void ServerConnection::Abort(uint64_t serial) {
  if (!Current(serial)) return;
  answered_ = true;
  const auto read_done = std::exchange(read_done_, nullptr);
  const auto write_done = std::exchange(write_done_, nullptr);
  const auto gone = std::exchange(gone_, nullptr);
  Close();
}

// Whether the connection can serve another request behind the answer that begins now. `whole`: the handler reads no
// more of the body.
bool ServerConnection::KeepsConnection(bool whole) {
  if (!parser_->keep_alive() || owner_->draining()) return false;
  if (parser_->complete()) return true;
  if (!in_.empty()) continue_pending_ = false;
  if (whole && !DecodeAway()) return false;
  // A client that waits for 100 may send its body or not, now that it has its answer.
  if (continue_pending_) return false;
  const std::optional<uint64_t> remaining = parser_->remaining();
  return remaining.has_value() && *remaining <= kMaxDiscarded;
}

void ServerConnection::MakeHead(int status, const Headers& headers, uint64_t content_length) {
  const ConnectionField keeping = is_http10_ ? ConnectionField::kKeepAlive : ConnectionField::kNone;
  out_head_ += AnswerHead(status, headers, content_length, keep_ ? keeping : ConnectionField::kClose);
  head_made_ = true;
  last_write_ = Clock::now();
}

void ServerConnection::MakeWhole(Answer answer) {
  MakeHead(answer.status, answer.headers, answer.body.size());
  if (!is_head_ && !IsBodyless(answer.status)) out_body_ = std::move(answer.body);
  Complete();
}

// Nothing is added to the answer any more. The callbacks may hold the exchange, so they go last.
void ServerConnection::Complete() {
  answered_ = true;
  const auto read_done = std::exchange(read_done_, nullptr);
  const auto gone = std::exchange(gone_, nullptr);
}

// The only answer to a request that HTTP itself refuses, and the last one on this connection.
void ServerConnection::Refuse(int status, const std::string& what) {
  if (phase_ == Phase::kHead) {
    is_head_ = in_.view().substr(0, kHeadStart.size()) == kHeadStart;
    is_http10_ = false;
  }
  Answer answer = owner_->Refuse(status, what);
  phase_ = Phase::kExchange;
  ++serial_;  // the exchange, if there is one, has no say any more
  keep_ = false;
  MakeWhole(std::move(answer));
  Schedule();
}

void ServerConnection::RefuseFor(const absl::Status& status) {
  Refuse(base::HttpStatusOf(status), std::string(status.message()));
}

void ServerConnection::Flush() {
  while (!flushed()) {
    const size_t in_head = std::min(out_sent_, out_head_.size());
    const size_t in_body = out_sent_ - in_head;
    iovec parts[] = {{out_head_.data() + in_head, out_head_.size() - in_head},
                     {out_body_.data() + in_body, out_body_.size() - in_body}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t count = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count < 0) return Close();
    out_sent_ += static_cast<size_t>(count);
    last_write_ = Clock::now();
    if (out_sent_ < out_head_.size() + out_body_.size()) continue;
    out_sent_ = 0;
    out_head_ = std::string();
    out_body_ = std::string();
  }
}

void ServerConnection::EndExchange() {
  if (!keep_ || owner_->draining()) return StartLingering();
  if (parser_->complete()) return BeginHead();
  phase_ = Phase::kDiscard;
  phase_since_ = Clock::now();
}

void ServerConnection::StartLingering() {
  parser_.reset();
  in_.Consume(in_.size());
  if (eof_) return Close();
  shutdown(socket_.get(), SHUT_WR);
  phase_ = Phase::kLinger;
  phase_since_ = Clock::now();
  linger_left_ = kMaxLinger;
  again_ = true;
}

}  // namespace osbx::http
