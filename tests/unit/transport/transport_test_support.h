// A connection with its loop, and a stream driven on it from the test's thread. Every wait here is bounded.
#ifndef OSBX_TESTS_UNIT_TRANSPORT_TRANSPORT_TEST_SUPPORT_H_
#define OSBX_TESTS_UNIT_TRANSPORT_TRANSPORT_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "support/fake_daemon.h"
#include "transport/connection.h"

namespace osbx::transport {

inline Request NewRequest(std::string method, std::string target, bool idempotent = false) {
  Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.idempotent = idempotent;
  return request;
}

// Long enough that only a hang reaches it.
inline base::Context Bounded() { return base::Context().WithTimeout(std::chrono::seconds(20)); }
inline base::Context Bounded(std::shared_ptr<base::CancelToken> token) {
  return base::Context(std::move(token)).WithTimeout(std::chrono::seconds(20));
}

class Client {
 public:
  explicit Client(const Endpoint& endpoint)
      : loop_(base::EventLoop::Create()), connection_(NewConnection(endpoint, loop_)) {}

  absl::StatusOr<Response> Get(std::string target, bool idempotent = true) {
    return connection_->Call(NewRequest("GET", std::move(target), idempotent), Bounded());
  }
  absl::StatusOr<HijackResult> Hijack(std::string target = "/exec/1/start") {
    return connection_->Hijack(NewRequest("POST", std::move(target)), Bounded());
  }
  Connection& operator*() { return *connection_; }
  Connection* operator->() { return connection_.get(); }
  base::EventLoop& loop() { return *loop_; }
  void DropConnection() { connection_.reset(); }
  void OnLoop(std::function<void()> task) { ASSERT_TRUE(loop_->RunAndWait(std::move(task)).ok()); }

 private:
  std::shared_ptr<base::EventLoop> loop_;
  std::shared_ptr<Connection> connection_;
};

// Reads everything that a stream brings, and writes what the test hands over.
class StreamDriver {
 public:
  StreamDriver(base::EventLoop& loop, std::unique_ptr<base::DuplexStream> stream)
      : loop_(loop), stream_(std::move(stream)) {
    EXPECT_TRUE(loop_
                    .RunAndWait([this] {
                      stream_->Attach(loop_);
                      ReadMore();
                    })
                    .ok());
  }
  ~StreamDriver() { Close(); }

  // Returns when all is written, or at the stream's first error, which it returns.
  absl::Status Write(std::string bytes) {
    (void)loop_.RunAndWait([&] {
      unsent_ = std::move(bytes);
      sent_ = 0;
      BeginWriting();
      WriteMore();
    });
    base::MutexLock lock(mutex_);
    Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return write_done_; });
    return write_status_;
  }

  absl::Status ShutdownWrite() {
    (void)loop_.RunAndWait([&] {
      BeginWriting();
      EndWriting();
    });
    base::MutexLock lock(mutex_);
    Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return write_done_; });
    return write_status_;
  }

  // What has been read once it is `size` bytes, or the stream has ended.
  std::string ReadAtLeast(size_t size) {
    base::MutexLock lock(mutex_);
    Await([this, size]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return received_.size() >= size || ended_; });
    return received_;
  }
  std::string ReadUntilEnd() {
    base::MutexLock lock(mutex_);
    Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ended_; });
    return received_;
  }
  // OK after a clean end.
  absl::Status end_status() {
    base::MutexLock lock(mutex_);
    return ended_ ? end_status_ : absl::UnavailableError("the stream has not ended");
  }

  void Close() {
    (void)loop_.RunAndWait([this] { stream_.reset(); });
  }

 private:
  template <typename Condition>
  void Await(Condition condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "the stream stands still";
        return;
      }
      changed_.WaitUntil(mutex_, deadline);
    }
  }

  void ReadMore() {
    uint8_t buffer[4096];
    for (;;) {
      const base::IoResult result = stream_->Read(buffer, sizeof(buffer));
      if (result.state == base::IoResult::State::kWouldBlock) {
        stream_->WaitReadable([this] { ReadMore(); });
        return;
      }
      base::MutexLock lock(mutex_);
      changed_.NotifyAll();
      if (result.state == base::IoResult::State::kDone) {
        received_.append(reinterpret_cast<const char*>(buffer), result.bytes);
        continue;
      }
      ended_ = true;
      end_status_ = result.status;
      return;
    }
  }

  void BeginWriting() {
    base::MutexLock lock(mutex_);
    write_done_ = false;
  }

  void WriteMore() {
    while (sent_ < unsent_.size()) {
      const base::IoResult result =
          stream_->Write(reinterpret_cast<const uint8_t*>(unsent_.data()) + sent_, unsent_.size() - sent_);
      if (result.state == base::IoResult::State::kWouldBlock) {
        // From another address next time, as a queue that has grown would.
        unsent_ = std::string(unsent_, sent_);
        sent_ = 0;
        stream_->WaitWritable([this] { WriteMore(); });
        return;
      }
      if (result.state != base::IoResult::State::kDone) return Written(result.status);
      sent_ += result.bytes;
    }
    Written(absl::OkStatus());
  }

  void EndWriting() {
    const base::IoResult result = stream_->ShutdownWrite();
    if (result.state == base::IoResult::State::kWouldBlock) {
      stream_->WaitWritable([this] { EndWriting(); });
    } else {
      Written(result.status);
    }
  }

  void Written(absl::Status status) {
    base::MutexLock lock(mutex_);
    write_done_ = true;
    write_status_ = std::move(status);
    changed_.NotifyAll();
  }

  base::EventLoop& loop_;
  std::unique_ptr<base::DuplexStream> stream_;
  std::string unsent_;
  size_t sent_ = 0;

  base::Mutex mutex_;
  base::CondVar changed_;
  std::string received_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
  bool write_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status write_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace osbx::transport

#endif  // OSBX_TESTS_UNIT_TRANSPORT_TRANSPORT_TEST_SUPPORT_H_
