// Jobs driven and consumed by different threads, for the thread sanitizer and for lost wake-ups.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/run_job.h"

namespace osbx::core {
namespace {

// A guest on a thread of its own, as a loop would drive it: echoes stdin to both streams in pieces of random size, and
// then ends. Heeds back-pressure and stops.
class EchoDriver : public JobDriver {
 public:
  ~EchoDriver() override { alive_ = false; }

  void OnOutputRoom() override { Signal(); }
  void OnInput() override { Signal(); }
  void OnStopRequested(EndReason why) override {
    EXPECT_TRUE(alive_);
    EXPECT_EQ(stops_++, 0) << "asked twice";
    why_ = why;
    stop_ = true;
    Signal();
    std::this_thread::yield();  // the driver may be dropped meanwhile
    EXPECT_TRUE(alive_);
  }

  static std::thread Start(const std::shared_ptr<Job>& job, unsigned seed) {
    auto driver = std::make_shared<EchoDriver>();
    job->SetDriver(driver);
    return std::thread([job, driver = std::move(driver), seed] { driver->Run(*job, seed); });
  }

 private:
  void Signal() {
    const std::lock_guard<std::mutex> lock(mutex_);
    signalled_ = true;
    changed_.notify_all();
  }

  void WaitSignal() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return signalled_; });
    signalled_ = false;
  }

  void Run(Job& job, unsigned seed) {
    std::minstd_rand random(seed);
    bool closed = false;
    while (!closed && !stop_) {
      if (!job.HasOutputRoom()) {
        WaitSignal();
        continue;
      }
      const std::string bytes = job.TakeInput(1 + random() % 5000, &closed);
      if (bytes.empty()) {
        if (!closed) WaitSignal();
        continue;
      }
      job.PushOutput(kStdout, bytes);
      job.PushOutput(kStderr, bytes);
    }
    if (stop_) {
      job.Finish({why_, -1, 0});
    } else {
      job.Finish({EndReason::kExited, 0, 0});
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool signalled_ = false;
  std::atomic<int> stops_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> alive_{true};
  EndReason why_ = EndReason::kOutcomeUnknown;
};

TEST(JobStress, EveryByteComesBackOnBothStreams) {
  for (unsigned round = 0; round < 5; ++round) {
    auto job = std::make_shared<Job>();
    std::thread guest = EchoDriver::Start(job, round + 1);
    Command command;
    command.argv = {"echo"};
    std::minstd_rand random(round + 100);
    for (size_t i = 0; i < (size_t{2} << 20); ++i) command.stdin_bytes += static_cast<char>(random());
    std::string out, err;
    command.output = [&](uint32_t stream, const uint8_t* data, size_t size) {
      (stream == kStderr ? err : out).append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    const Result result = RunToEnd(*job, command);
    guest.join();
    EXPECT_EQ(result.end.reason, EndReason::kExited);
    EXPECT_TRUE(out == command.stdin_bytes) << out.size();
    EXPECT_TRUE(err == command.stdin_bytes) << err.size();
  }
}

TEST(JobStress, StopsRaceWithTheEnd) {
  constexpr int kRounds = 300;
  int exited = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto job = std::make_shared<Job>();
    std::thread guest = EchoDriver::Start(job, round + 1);
    std::vector<std::thread> stoppers;
    for (const EndReason why : {EndReason::kCancelled, EndReason::kTimedOut, EndReason::kSandboxGone}) {
      stoppers.emplace_back([job, why, round] {
        for (volatile int spin = 0; spin < round * 20;) spin = spin + 1;
        job->RequestStop(why);
      });
    }
    Command command;
    command.argv = {"echo"};
    command.stdin_bytes.assign(1000, 'x');
    const Result result = RunToEnd(*job, command);
    guest.join();
    for (std::thread& stopper : stoppers) stopper.join();
    if (result.end.reason == EndReason::kExited) {
      ++exited;
      EXPECT_EQ(result.out.size(), 1000u);
    } else {
      EXPECT_EQ(result.end.reason, job->stop_reason());
    }
  }
  RecordProperty("exited", exited);
}

TEST(JobStress, ManyConsumersShareOneJob) {
  auto job = std::make_shared<Job>();
  std::thread guest = EchoDriver::Start(job, 1);
  std::atomic<size_t> taken{0};
  std::vector<std::thread> consumers;
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back([&] {
      for (;;) {
        const auto ready = job->Await(false, base::Context());
        ASSERT_TRUE(ready.ok());
        if (const auto chunk = job->TakeOutput()) {
          taken += chunk->bytes.size();
        } else if (ready->ended && !ready->output) {
          return;
        }
      }
    });
  }
  const std::string piece(10000, 'x');
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(job->Await(true, base::Context()).ok());
    ASSERT_TRUE(job->WriteInput(piece));
  }
  job->CloseInput();
  guest.join();
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(taken, 2 * 100 * piece.size());
}

}  // namespace
}  // namespace osbx::core
