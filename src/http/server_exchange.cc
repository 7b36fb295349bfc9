#include "http/server_exchange.h"

#include <utility>

namespace osbx::http {
namespace {

using base::Code;

}  // namespace

ServerExchange::ServerExchange(const std::shared_ptr<base::EventLoop>& loop, std::weak_ptr<ServerConnection> connection,
                               uint64_t serial, Request request)
    : loop_(loop), connection_(std::move(connection)), serial_(serial), request_(std::move(request)) {}

// On the loop's thread only does anybody else hold the connection for certain: elsewhere this could be its last owner.
ServerExchange::~ServerExchange() {
  const std::shared_ptr<base::EventLoop> loop = loop_.lock();
  if (loop == nullptr) return;
  if (loop->InLoopThread()) {
    if (const auto connection = connection_.lock()) connection->Abort(serial_);
    return;
  }
  try {
    static_cast<void>(loop->Post([weak = connection_, serial = serial_] {
      if (const auto connection = weak.lock()) connection->Abort(serial);
    }));
  } catch (...) {
    // For want of memory. The client waits until it gives up.
  }
}

void ServerExchange::ReadBody(BodyCallback done) {
  if (const auto connection = connection_.lock()) return connection->ReadBody(serial_, std::move(done));
  done(base::Error(Code::kCanceled, "the connection is closed"));
}

void ServerExchange::OnClientGone(std::function<void()> gone) {
  if (const auto connection = connection_.lock()) connection->OnClientGone(serial_, std::move(gone));
}

void ServerExchange::Respond(Answer answer) {
  if (const auto connection = connection_.lock()) connection->Respond(serial_, std::move(answer));
}

void ServerExchange::BeginAnswer(int status, Headers headers, uint64_t content_length) {
  if (const auto connection = connection_.lock()) connection->BeginAnswer(serial_, status, headers, content_length);
}

void ServerExchange::WriteBody(std::string piece, WriteCallback done) {
  if (const auto connection = connection_.lock())
    return connection->WriteBody(serial_, std::move(piece), std::move(done));
  done(false);
}

void ServerExchange::Abort() {
  if (const auto connection = connection_.lock()) connection->Abort(serial_);
}

}  // namespace osbx::http
