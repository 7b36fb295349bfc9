// How a connection reads the body of its request: for the handler, or away.
#include <algorithm>

#include "http/server_connection.h"

namespace osbx::http {
namespace {

using base::Clock;
using base::Code;
using base::Error;

constexpr size_t kMaxPiece = size_t{256} << 10;
constexpr size_t kLargeRead = size_t{32} << 10;
constexpr size_t kScratch = size_t{16} << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

void ServerConnection::PumpBody() {
  std::string piece;
  for (;;) {
    if (!in_.empty() && !parser_->complete()) {
      continue_pending_ = false;
      if (piece.empty() && in_.size() >= kLargeRead) {
        piece.reserve(static_cast<size_t>(std::min<uint64_t>(kMaxPiece, parser_->remaining().value_or(kMaxPiece))));
      }
      const absl::StatusOr<size_t> used = parser_->ParseBody(in_.view(), kMaxPiece - piece.size(), piece);
      if (!used.ok()) return FailBody(used.status());
      in_.Consume(*used);
    }
    if (parser_->complete() || piece.size() >= kMaxPiece || !MayRead(kReadAhead)) break;
    Receive(kReadAhead);
    if (phase_ == Phase::kClosed) return;
  }
  if (!piece.empty() || parser_->complete()) {
    again_ = true;
    return std::exchange(read_done_, nullptr)(std::move(piece));
  }
  if (eof_) return FailBody(Error(Code::kCanceled, "the client closed its connection within the request's body"));
  if (!std::exchange(continue_pending_, false) || head_made_) return;
  out_head_ += kContinue;
  last_write_ = Clock::now();
  again_ = true;
}

// What is wrong with the request is answered here, unless the answer has begun; the handler learns of it either way.
void ServerConnection::FailBody(const absl::Status& status) {
  const auto done = std::exchange(read_done_, nullptr);
  const bool answerable = !head_made_ && base::HttpStatusOf(status) != 0;
  if (answerable) RefuseFor(status);
  RunSafely(done, status);
  if (!answerable) Close();
}

// Drops what has arrived of the body. False: it is malformed.
bool ServerConnection::DecodeAway() {
  std::string scratch;
  while (!in_.empty() && !parser_->complete()) {
    const absl::StatusOr<size_t> used = parser_->ParseBody(in_.view(), kScratch, scratch);
    if (!used.ok()) return false;
    if (*used == 0) break;
    in_.Consume(*used);
    scratch.clear();
  }
  return true;
}

void ServerConnection::Discard() {
  for (;;) {
    if (!DecodeAway()) return StartLingering();
    if (parser_->complete()) {
      again_ = true;
      return BeginHead();
    }
    if (eof_) return Close();
    if (!MayRead(kReadAhead)) return;
    Receive(kReadAhead);
    if (phase_ == Phase::kClosed) return;
  }
}

// Closed while bytes wait unread, a connection is reset, and the client may lose the answer.
void ServerConnection::Linger() {
  while (MayRead(kReadAhead) && linger_left_ > 0) {
    Receive(kReadAhead);
    if (phase_ == Phase::kClosed) return;
    linger_left_ -= std::min(linger_left_, in_.size());
    in_.Consume(in_.size());
  }
  in_.Release();
  if (eof_ || linger_left_ == 0) Close();
}

}  // namespace osbx::http
