// What a handler holds of a request. It may be held longer than its connection, and its server, live.
#ifndef OSBX_HTTP_SERVER_EXCHANGE_H_
#define OSBX_HTTP_SERVER_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "http/exchange.h"
#include "http/server_connection.h"

namespace osbx::http {

class ServerExchange final : public Exchange {
 public:
  ServerExchange(const std::shared_ptr<base::EventLoop>& loop, std::weak_ptr<ServerConnection> connection,
                 uint64_t serial, Request request);
  // Any thread.
  ~ServerExchange() override;
  ServerExchange(const ServerExchange&) = delete;
  ServerExchange& operator=(const ServerExchange&) = delete;

  const Request& request() const override { return request_; }
  void ReadBody(BodyCallback done) override;
  void OnClientGone(std::function<void()> gone) override;
  void Respond(Answer answer) override;
  void BeginAnswer(int status, Headers headers, uint64_t content_length) override;
  void WriteBody(std::string piece, WriteCallback done) override;
  void Abort() override;

 private:
  const std::weak_ptr<base::EventLoop> loop_;  // weak: a task on the loop may hold this
  const std::weak_ptr<ServerConnection> connection_;
  const uint64_t serial_;
  const Request request_;
};

}  // namespace osbx::http

#endif  // OSBX_HTTP_SERVER_EXCHANGE_H_
