#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <utility>

#include "http/listener.h"
#include "http/server_connection.h"

namespace osbx::http {
namespace {

using base::Clock;

constexpr int kMaxAccepts = 64;  // of one turn
constexpr std::chrono::milliseconds kMoment{100};

// What lives on the loop's thread.
class ServerCore final : public ServerConnection::Owner, public std::enable_shared_from_this<ServerCore> {
 public:
  ServerCore(std::shared_ptr<base::EventLoop> loop, base::UniqueFd socket, const ServerOptions& options,
             Handler handler, Server::Refusal refuse)
      : loop_(std::move(loop)),
        options_(options),
        handler_(std::move(handler)),
        refuse_(std::move(refuse)),
        socket_(std::move(socket)) {}

  void Start() {
    watcher_ = loop_->WatchFd(socket_.get());
    retry_ = loop_->NewTimer();
    WaitForConnections();
  }

  void Shutdown() {
    StopListening();
    draining_ = true;
    while (!connections_.empty()) connections_.front()->Close();
    handler_ = nullptr;
    refuse_ = nullptr;
    drained_ = nullptr;
  }

  void Drain(std::function<void()> drained) {
    StopListening();
    draining_ = true;
    drained_ = std::move(drained);
    const std::list<std::shared_ptr<ServerConnection>> all = connections_;
    for (const auto& connection : all) connection->Drain();
    NoteDrained();
  }

  const std::shared_ptr<base::EventLoop>& loop() const override { return loop_; }
  const ServerOptions& options() const override { return options_; }
  bool draining() const override { return draining_; }
  void Handle(std::shared_ptr<Exchange> exchange) override { handler_(std::move(exchange)); }
  Answer Refuse(int status, const std::string& what) override { return refuse_(status, what); }

  void OnIdle(ServerConnection& connection, bool idle) override {
    if (idle) {
      connection.place.idle = idle_.insert(idle_.end(), &connection);
    } else {
      idle_.erase(connection.place.idle);
    }
    // One that became idle can make room for one that waits to be accepted.
    if (idle) AcceptAgain();
  }

  void OnClosed(ServerConnection& connection) override {
    if (connection.idle()) idle_.erase(connection.place.idle);
    connections_.erase(connection.place.all);
    AcceptAgain();
    NoteDrained();
  }

 private:
  // At the limit a pause ends when a connection becomes idle or closes.
  void Pause() { paused_ = true; }
  // Descriptors, or memory, may be short for reasons that are not seen here: there it also ends in time.
  void PauseForAMoment() {
    paused_ = true;
    retry_->ExpireAt(Clock::now() + kMoment, [this] { AcceptAgain(); });
  }

  void AcceptAgain() {
    if (!paused_ || draining_) return;
    paused_ = false;
    retry_->Cancel();
    WaitForConnections();
  }

  void WaitForConnections() {
    watcher_->WaitReadable([this] {
      const auto self = shared_from_this();
      try {
        AcceptSome();
      } catch (...) {
        // For want of memory. The connection in hand is closed; the others wait.
        PauseForAMoment();
      }
    });
  }

  // Room is made only when there is a connection to take for certain: for the first one, which was announced.
  void AcceptSome() {
    int failures = 0;
    for (int i = 0; i < kMaxAccepts; ++i) {
      if (connections_.size() >= options_.max_connections) {
        if (i > 0) break;
        if (!CloseLongestIdle()) return Pause();
      }
      base::UniqueFd socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      const int error = socket.valid() ? 0 : errno;
      if (error == EAGAIN || error == EWOULDBLOCK) break;
      if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
        if (i > 0) break;
        if (!CloseLongestIdle()) return PauseForAMoment();
      } else if (error != 0) {
        ++failures;  // of one that has gone before it was taken, most likely
      } else {
        Add(std::move(socket));
      }
    }
    if (failures == kMaxAccepts) return PauseForAMoment();
    WaitForConnections();
  }

  void Add(base::UniqueFd socket) {
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    // A client whose host has vanished says nothing; a command must not run on for it.
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    const auto connection = std::make_shared<ServerConnection>(*this, std::move(socket));
    connection->place.all = connections_.insert(connections_.end(), connection);
    try {
      connection->Start();
    } catch (...) {
      connection->Close();
      throw;
    }
  }

  bool CloseLongestIdle() {
    if (idle_.empty()) return false;
    idle_.front()->Close();
    return true;
  }

  void StopListening() {
    watcher_.reset();
    retry_.reset();
    socket_.Reset();
  }

  void NoteDrained() {
    if (!draining_ || !connections_.empty() || !drained_) return;
    const auto drained = std::exchange(drained_, nullptr);
    if (!loop_->Post(drained).ok()) drained();
  }

  const std::shared_ptr<base::EventLoop> loop_;
  const ServerOptions options_;
  Handler handler_;
  Server::Refusal refuse_;
  base::UniqueFd socket_;
  std::unique_ptr<base::EventLoop::FdWatcher> watcher_;
  std::unique_ptr<base::EventLoop::Timer> retry_;
  std::list<std::shared_ptr<ServerConnection>> connections_;
  std::list<ServerConnection*> idle_;  // the longest idle one first
  bool paused_ = false;
  bool draining_ = false;
  std::function<void()> drained_;
};

class LoopServer final : public Server {
 public:
  LoopServer(std::shared_ptr<base::EventLoop> loop, std::shared_ptr<ServerCore> core, std::string address,
             uint16_t port)
      : loop_(std::move(loop)), core_(std::move(core)), address_(std::move(address)), port_(port) {}

  ~LoopServer() override {
    static_cast<void>(loop_->RunAndWait([this] {
      core_->Shutdown();
      core_.reset();
    }));
  }

  std::string address() const override { return address_; }
  uint16_t port() const override { return port_; }

  void Drain(std::function<void()> drained) override {
    static_cast<void>(loop_->Post([weak = std::weak_ptr<ServerCore>(core_), drained = std::move(drained)] {
      if (const auto core = weak.lock()) core->Drain(drained);
    }));
  }

 private:
  const std::shared_ptr<base::EventLoop> loop_;
  std::shared_ptr<ServerCore> core_;
  const std::string address_;
  const uint16_t port_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Listen(std::shared_ptr<base::EventLoop> loop, const std::string& host,
                                                       uint16_t port, const ServerOptions& options, Handler handler,
                                                       Refusal refuse) {
  OSBX_ASSIGN_OR_RETURN(Listener listener, OpenListener(host, port));
  auto core =
      std::make_shared<ServerCore>(loop, std::move(listener.socket), options, std::move(handler), std::move(refuse));
  auto server = std::make_unique<LoopServer>(loop, core, std::move(listener.address), listener.port);
  OSBX_RETURN_IF_ERROR(loop->RunAndWait([&core] { core->Start(); }));
  return server;
}

}  // namespace osbx::http
