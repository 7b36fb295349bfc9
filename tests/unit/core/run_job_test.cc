#include "core/run_job.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace osbx::core {
namespace {

JobEnd ExitedZero() { return {EndReason::kExited, 0, 0}; }

// Plays the guest inside the driver's callbacks, which run on the thread of RunToEnd: no race, every step in order.
class ScriptedDriver : public JobDriver {
 public:
  std::function<void()> on_room, on_input;
  std::function<void(EndReason)> on_stop;

  void OnOutputRoom() override {
    if (on_room) on_room();
  }
  void OnInput() override {
    if (on_input) on_input();
  }
  void OnStopRequested(EndReason why) override {
    if (on_stop) on_stop(why);
  }
};

class RunToEndTest : public testing::Test {
 protected:
  RunToEndTest() {
    job_.SetDriver(driver_);
    command_.argv = {"cat"};
    driver_->on_stop = [this](EndReason why) { job_.Finish({why, -1, 0}); };
  }

  // The guest: takes all of its stdin as it comes, and ends at the end of it.
  void ReadStdin() {
    driver_->on_input = [this] {
      bool closed = false;
      const std::string bytes = job_.TakeInput(SIZE_MAX, &closed);
      largest_write_ = std::max(largest_write_, bytes.size());
      input_ += bytes;
      if (closed) job_.Finish(ExitedZero());
    };
  }

  std::shared_ptr<ScriptedDriver> driver_ = std::make_shared<ScriptedDriver>();
  Job job_;
  Command command_;
  std::string input_;
  size_t largest_write_ = 0;
};

TEST_F(RunToEndTest, NoStdinIsAnEndAtOnce) {
  ReadStdin();
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.end.reason, EndReason::kExited);
  EXPECT_EQ(result.end.exit_code, 0);
  EXPECT_EQ(input_, "");
}

TEST_F(RunToEndTest, BytesArriveWholeAndInPieces) {
  ReadStdin();
  for (int i = 0; i < 300000; ++i) command_.stdin_bytes += static_cast<char>(i * 7);
  RunToEnd(job_, command_);
  EXPECT_EQ(input_, command_.stdin_bytes);
  EXPECT_LE(largest_write_, size_t{64} << 10);
}

TEST_F(RunToEndTest, ReaderIsAskedUntilItsEnd) {
  ReadStdin();
  int calls = 0;
  command_.stdin_reader = [&](uint8_t* buffer, size_t capacity) -> int64_t {
    EXPECT_EQ(capacity, size_t{64} << 10);
    if (++calls == 4) return 0;
    buffer[0] = static_cast<uint8_t>('a' + calls);
    return 1;
  };
  RunToEnd(job_, command_);
  EXPECT_EQ(input_, "bcd");
  EXPECT_EQ(calls, 4);
}

TEST_F(RunToEndTest, ReaderIsCalledOnlyWhenThereIsRoom) {
  // The guest reads nothing until the queue is full, then everything.
  size_t queued = 0;
  size_t calls = 0;
  command_.stdin_reader = [&](uint8_t* buffer, size_t capacity) -> int64_t {
    ++calls;
    EXPECT_LT(queued, Job::kQueueBytes);
    std::fill(buffer, buffer + capacity, 'x');
    queued += capacity;
    return static_cast<int64_t>(capacity);
  };
  driver_->on_input = [&] {
    if (queued >= Job::kQueueBytes) job_.Finish(ExitedZero());
  };
  RunToEnd(job_, command_);
  EXPECT_EQ(calls, Job::kQueueBytes / (size_t{64} << 10));
}

TEST_F(RunToEndTest, ReaderIsNotCalledOnceNobodyReads) {
  int calls = 0;
  command_.stdin_reader = [&](uint8_t* buffer, size_t) -> int64_t {
    ++calls;
    buffer[0] = 'x';
    return 1;
  };
  command_.output = [&](uint32_t, const uint8_t*, size_t) {
    job_.Finish(ExitedZero());
    return true;
  };
  driver_->on_input = [&] {
    job_.DropInput();
    job_.PushOutput(kStdout, "no more");
  };
  RunToEnd(job_, command_);
  EXPECT_EQ(calls, 1);
}

TEST_F(RunToEndTest, OutputIsDeliveredBeforeAReaderThatMayBlock) {
  std::string order;
  job_.PushOutput(kStdout, "1");
  job_.PushOutput(kStderr, "2");
  job_.PushOutput(kStdout, "3");
  command_.output = [&](uint32_t stream, const uint8_t* data, size_t size) {
    order += std::to_string(stream) + std::string(data, data + size) + " ";
    return true;
  };
  command_.stdin_reader = [&](uint8_t*, size_t) -> int64_t {
    order += "read ";
    return 0;
  };
  ReadStdin();
  RunToEnd(job_, command_);
  EXPECT_EQ(order, "11 22 13 read ");
}

TEST_F(RunToEndTest, EndlessOutputDoesNotStarveInput) {
  // The guest prints as long as it has room, until its input ends.
  const std::string piece(100000, 'y');
  bool closed = false;
  const auto print = [&] {
    if (closed) return job_.Finish(ExitedZero());
    while (job_.PushOutput(kStdout, piece)) {
    }
  };
  driver_->on_room = print;
  driver_->on_input = [&] { job_.TakeInput(SIZE_MAX, &closed); };
  print();
  command_.stdin_bytes = "stop";
  command_.output_limit = 10;
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.end.reason, EndReason::kExited);
  EXPECT_TRUE(result.out_truncated);
}

TEST_F(RunToEndTest, BufferedOutputIsCutPerStreamAndDrained) {
  command_.output_limit = 5;
  job_.PushOutput(kStdout, "12345");
  job_.PushOutput(kStderr, "123");
  job_.PushOutput(kStderr, "456");
  job_.PushOutput(kStderr, "789");
  job_.Finish({EndReason::kExited, 3, 0});
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.out.view(), "12345");
  EXPECT_FALSE(result.out_truncated);
  EXPECT_EQ(result.err.view(), "12345");
  EXPECT_TRUE(result.err_truncated);
  EXPECT_EQ(result.end.exit_code, 3);
  EXPECT_FALSE(job_.TakeOutput().has_value());
}

TEST_F(RunToEndTest, LimitOfZeroKeepsNothing) {
  command_.output_limit = 0;
  job_.PushOutput(kStdout, "x");
  job_.Finish(ExitedZero());
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.out.size(), 0u);
  EXPECT_TRUE(result.out_truncated);
  EXPECT_FALSE(result.err_truncated);
}

TEST_F(RunToEndTest, StreamedOutputIsNotKept) {
  std::string seen;
  command_.output = [&](uint32_t, const uint8_t* data, size_t size) {
    seen.append(data, data + size);
    return true;
  };
  job_.PushOutput(kStdout, "abc");
  job_.Finish(ExitedZero());
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(seen, "abc");
  EXPECT_EQ(result.out.size(), 0u);
}

TEST_F(RunToEndTest, WriterThatGivesUpEndsTheTreeAndIsNotCalledAgain) {
  int writes = 0;
  int reads = 0;
  command_.output = [&](uint32_t, const uint8_t*, size_t) {
    ++writes;
    return false;
  };
  command_.stdin_reader = [&](uint8_t*, size_t) -> int64_t {
    ++reads;
    return 0;
  };
  job_.PushOutput(kStdout, "1");
  job_.PushOutput(kStderr, "2");
  std::optional<EndReason> asked;
  driver_->on_stop = [&](EndReason why) {
    asked = why;
    job_.PushOutput(kStdout, "output of a tree that is being killed");
    job_.Finish({why, -1, 0});
  };
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(asked, EndReason::kCallbackAborted);
  EXPECT_EQ(result.end.reason, EndReason::kCallbackAborted);
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(reads, 0);
  EXPECT_FALSE(job_.TakeOutput().has_value());
}

TEST_F(RunToEndTest, ReaderThatGivesUpEndsTheTreeAndKeepsTheOutputSoFar) {
  command_.stdin_reader = [&](uint8_t*, size_t) -> int64_t { return -1; };
  job_.PushOutput(kStdout, "so far");
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.end.reason, EndReason::kCallbackAborted);
  EXPECT_EQ(result.out.view(), "so far");
}

TEST_F(RunToEndTest, ReaderThatClaimsMoreThanTheCapacityGaveUp) {
  command_.stdin_reader = [&](uint8_t*, size_t capacity) { return static_cast<int64_t>(capacity) + 1; };
  EXPECT_EQ(RunToEnd(job_, command_).end.reason, EndReason::kCallbackAborted);
}

TEST_F(RunToEndTest, EndThatCameFirstStays) {
  command_.output = [&](uint32_t, const uint8_t*, size_t) { return false; };
  job_.PushOutput(kStdout, "x");
  job_.Finish({EndReason::kExited, 7, 0});
  const Result result = RunToEnd(job_, command_);
  EXPECT_EQ(result.end.reason, EndReason::kExited);
  EXPECT_EQ(result.end.exit_code, 7);
}

TEST_F(RunToEndTest, ExceptionOfACallbackEndsTheTree) {
  command_.output = [&](uint32_t, const uint8_t*, size_t) -> bool { throw std::runtime_error("not allowed"); };
  job_.PushOutput(kStdout, "x");
  EXPECT_EQ(RunToEnd(job_, command_).end.reason, EndReason::kCallbackAborted);
}

// A start whose first `full` jobs find no free place.
class StartAndRunTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<Job>> Start() {
    ++started_;
    auto job = std::make_shared<Job>();
    JobEnd end = ExitedZero();
    if (started_ <= full_) end.not_started = base::Error(base::Code::kAtCapacity, "full");
    if (started_ > full_) job->PushOutput(kStdout, "ran");
    job->Finish(end);
    return job;
  }
  absl::StatusOr<Result> Run(const base::Context& context = {}) {
    return StartAndRun([this] { return Start(); }, command_, context);
  }

  Command command_;
  int full_ = 0;
  int started_ = 0;
};

TEST_F(StartAndRunTest, AFullProcessTableIsTriedAgain) {
  full_ = 3;
  command_.stdin_bytes = "bytes can be given twice";
  const absl::StatusOr<Result> result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->end.not_started.ok());
  EXPECT_EQ(result->out.view(), "ran");
  EXPECT_EQ(started_, 4);
}

TEST_F(StartAndRunTest, WhatAReaderGaveCannotBeHadTwice) {
  full_ = 1;
  command_.stdin_reader = [](uint8_t*, size_t) -> int64_t { return 0; };
  const absl::StatusOr<Result> result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(base::CodeOf(result->end.not_started), base::Code::kAtCapacity);
  EXPECT_EQ(started_, 1);
}

TEST_F(StartAndRunTest, AttemptsEndWithTheContext) {
  full_ = 1 << 30;
  auto token = std::make_shared<base::CancelToken>();
  command_.output = [](uint32_t, const uint8_t*, size_t) { return true; };
  const absl::StatusOr<Result> result = StartAndRun(
      [&] {
        if (started_ == 2) token->Fire();
        return Start();
      },
      command_, base::Context(token));
  EXPECT_EQ(base::CodeOf(result.status()), base::Code::kCanceled);
  EXPECT_EQ(started_, 3);
}

TEST_F(StartAndRunTest, AStartThatFailsIsNotRepeated) {
  const absl::StatusOr<Result> result = StartAndRun(
      [&]() -> absl::StatusOr<std::shared_ptr<Job>> {
        ++started_;
        return base::Error(base::Code::kNotRunning, "gone");
      },
      command_, {});
  EXPECT_EQ(base::CodeOf(result.status()), base::Code::kNotRunning);
  EXPECT_EQ(started_, 1);
}

}  // namespace
}  // namespace osbx::core
