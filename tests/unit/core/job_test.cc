#include "core/job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace osbx::core {
namespace {

using base::Code;
using base::CodeOf;
using base::Context;

JobEnd ExitedZero() { return {EndReason::kExited, 0, 0}; }

// Counts what it hears.
class CountingDriver : public JobDriver {
 public:
  void OnOutputRoom() override { ++rooms; }
  void OnInput() override { ++inputs; }
  void OnStopRequested(EndReason why) override { stops.push_back(why); }

  int rooms = 0;
  int inputs = 0;
  std::vector<EndReason> stops;
};

struct DrivenJob {
  std::shared_ptr<CountingDriver> driver = std::make_shared<CountingDriver>();
  std::shared_ptr<Job> job = std::make_shared<Job>();
  DrivenJob() { job->SetDriver(driver); }
};

// A context whose time is over: Await() gives what is there, or fails.
Context Now() { return Context::Detached(std::chrono::milliseconds(0)); }

TEST(Job, OutputComesInOrderAndSmallWritesArePutTogether) {
  DrivenJob driven;
  EXPECT_TRUE(driven.job->PushOutput(kStdout, "a"));
  EXPECT_TRUE(driven.job->PushOutput(kStdout, "b"));
  EXPECT_TRUE(driven.job->PushOutput(kStderr, "c"));
  EXPECT_TRUE(driven.job->PushOutput(kStdout, "d"));
  EXPECT_TRUE(driven.job->PushOutput(kStdout, ""));
  std::string seen;
  while (const auto chunk = driven.job->TakeOutput()) seen += std::to_string(chunk->stream) + chunk->bytes + " ";
  EXPECT_EQ(seen, "1ab 2c 1d ");
}

TEST(Job, FullQueueIsToldAndRoomIsToldOnce) {
  DrivenJob driven;
  const std::string piece(Job::kQueueBytes / 4, 'x');
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(driven.job->PushOutput(i % 2 + 1, piece));
  EXPECT_TRUE(driven.job->HasOutputRoom());
  EXPECT_FALSE(driven.job->PushOutput(kStderr, piece));
  EXPECT_FALSE(driven.job->HasOutputRoom());
  EXPECT_EQ(driven.driver->rooms, 0);
  while (driven.job->TakeOutput().has_value()) {
  }
  EXPECT_EQ(driven.driver->rooms, 1);
  EXPECT_TRUE(driven.job->HasOutputRoom());

  EXPECT_TRUE(driven.job->PushOutput(kStdout, "more"));
  driven.job->TakeOutput();
  EXPECT_EQ(driven.driver->rooms, 1) << "the queue had not been full";
}

TEST(Job, OneChunkMayExceedTheQueue) {
  DrivenJob driven;
  EXPECT_FALSE(driven.job->PushOutput(kStdout, std::string(3 * Job::kQueueBytes, 'x')));
  EXPECT_EQ(driven.job->TakeOutput()->bytes.size(), 3 * Job::kQueueBytes);
  EXPECT_EQ(driven.driver->rooms, 1);
}

TEST(Job, InputIsTakenInPiecesAndItsEndIsSeenOnlyBehindTheBytes) {
  DrivenJob driven;
  bool closed = true;
  EXPECT_EQ(driven.job->TakeInput(10, &closed), "");
  EXPECT_FALSE(closed);
  EXPECT_TRUE(driven.job->WriteInput("hello"));
  driven.job->CloseInput();
  driven.job->CloseInput();
  EXPECT_EQ(driven.driver->inputs, 2);
  EXPECT_FALSE(driven.job->WriteInput("late"));
  EXPECT_EQ(driven.job->TakeInput(3, &closed), "hel");
  EXPECT_FALSE(closed);
  EXPECT_EQ(driven.job->TakeInput(3, &closed), "lo");
  EXPECT_TRUE(closed);
  EXPECT_EQ(driven.job->TakeInput(3, &closed), "");
  EXPECT_TRUE(closed);
}

TEST(Job, DroppedInputIsRefused) {
  DrivenJob driven;
  EXPECT_TRUE(driven.job->WriteInput("bytes"));
  driven.job->DropInput();
  EXPECT_FALSE(driven.job->WriteInput("more"));
  bool closed = false;
  EXPECT_EQ(driven.job->TakeInput(10, &closed), "");
  EXPECT_TRUE(closed);
}

TEST(Job, FirstStopReasonCounts) {
  DrivenJob driven;
  EXPECT_FALSE(driven.job->stop_reason().has_value());
  driven.job->RequestStop(EndReason::kCancelled);
  driven.job->RequestStop(EndReason::kTimedOut);
  EXPECT_EQ(driven.driver->stops, std::vector<EndReason>{EndReason::kCancelled});
  EXPECT_EQ(driven.job->stop_reason(), EndReason::kCancelled);
}

TEST(Job, EndedJobKeepsItsEnd) {
  DrivenJob driven;
  const std::weak_ptr<CountingDriver> driver = driven.driver;
  driven.job->Finish({EndReason::kSignalled, 137, 9});
  driven.job->Finish(ExitedZero());
  driven.job->RequestStop(EndReason::kCancelled);
  EXPECT_TRUE(driven.driver->stops.empty());
  EXPECT_EQ(driven.job->end()->reason, EndReason::kSignalled);
  EXPECT_EQ(driven.job->end()->exit_code, 137);
  EXPECT_EQ(driven.job->end()->signal, 9);
  EXPECT_FALSE(driven.job->WriteInput("x"));
  EXPECT_TRUE(driven.job->PushOutput(kStdout, "late"));
  EXPECT_FALSE(driven.job->TakeOutput().has_value());
  driven.driver.reset();
  EXPECT_TRUE(driver.expired()) << "the end drops the driver";
}

TEST(Job, OutputBeforeTheEndIsStillThereAfterIt) {
  DrivenJob driven;
  driven.job->PushOutput(kStdout, "out");
  driven.job->Finish(ExitedZero());
  const auto ready = driven.job->Await(true, Now());
  ASSERT_TRUE(ready.ok());
  EXPECT_TRUE(ready->output);
  EXPECT_TRUE(ready->ended);
  EXPECT_FALSE(ready->input_room);
  EXPECT_EQ(driven.job->TakeOutput()->bytes, "out");
}

// A driver that holds the last reference to its job, as one on a loop does.
class OwningDriver : public CountingDriver {
 public:
  std::shared_ptr<Job> job;
};

TEST(Job, FinishMayDestroyDriverAndJob) {
  auto job = std::make_shared<Job>();
  const std::weak_ptr<Job> seen = job;
  auto driver = std::make_shared<OwningDriver>();
  driver->job = job;
  job->SetDriver(driver);
  Job* const raw = job.get();
  job.reset();
  driver.reset();
  ASSERT_FALSE(seen.expired());
  raw->Finish(ExitedZero());
  EXPECT_TRUE(seen.expired());
}

// Ends its job from inside a call, and says whether it was alive to the end of the call.
class FinishingDriver : public JobDriver {
 public:
  FinishingDriver(Job* job, bool* destroyed) : job_(job), destroyed_(destroyed) {}
  ~FinishingDriver() override { *destroyed_ = true; }
  void OnOutputRoom() override {}
  void OnInput() override {}
  void OnStopRequested(EndReason why) override {
    job_->Finish({why, -1, 0});
    EXPECT_FALSE(*destroyed_);
  }

 private:
  Job* job_;
  bool* destroyed_;
};

TEST(Job, DriverIsAliveDuringItsCallback) {
  Job job;
  bool destroyed = false;
  job.SetDriver(std::make_shared<FinishingDriver>(&job, &destroyed));
  job.RequestStop(EndReason::kCancelled);
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(job.end()->reason, EndReason::kCancelled);
}

TEST(JobAwait, GivesUpAtTheDeadlineWithoutTouchingTheJob) {
  DrivenJob driven;
  EXPECT_EQ(CodeOf(driven.job->Await(false, Now()).status()), Code::kTimeout);
  EXPECT_EQ(CodeOf(driven.job->Await(false, Context::Detached(std::chrono::milliseconds(20))).status()),
            Code::kTimeout);
  EXPECT_FALSE(driven.job->end().has_value());
  EXPECT_TRUE(driven.driver->stops.empty());
}

TEST(JobAwait, ReportsInputRoomOnlyToWhomItWaitsFor) {
  DrivenJob driven;
  EXPECT_FALSE(driven.job->Await(false, Now()).ok());
  ASSERT_TRUE(driven.job->Await(true, Now()).ok());
  EXPECT_TRUE(driven.job->Await(true, Now())->input_room);
  driven.job->WriteInput(std::string(Job::kQueueBytes, 'x'));
  EXPECT_FALSE(driven.job->Await(true, Now()).ok());
  bool closed = false;
  driven.job->TakeInput(1, &closed);
  EXPECT_TRUE(driven.job->Await(true, Now()).ok());
  driven.job->DropInput();
  EXPECT_FALSE(driven.job->Await(true, Now()).ok());
}

// Whatever is awaited wakes the waiter; a lost wake-up would be a hang, which the test's time limit turns red. The
// waiter announces itself before it waits, so that both orders of the race are met over the rounds.
template <typename Event>
void ExpectWakes(bool want_input_room, Code expected, Event event) {
  for (int round = 0; round < 200; ++round) {
    DrivenJob driven;
    if (want_input_room) driven.job->WriteInput(std::string(Job::kQueueBytes, 'x'));
    const auto token = std::make_shared<base::CancelToken>();
    std::promise<void> about_to_wait;
    auto waiter = std::async(std::launch::async, [&] {
      about_to_wait.set_value();
      return driven.job->Await(want_input_room, Context(token)).status();
    });
    about_to_wait.get_future().wait();
    event(*driven.job, *token);
    EXPECT_EQ(CodeOf(waiter.get()), expected);
  }
}

TEST(JobAwait, WakesForOutput) {
  ExpectWakes(false, Code::kOk, [](Job& job, base::CancelToken&) { job.PushOutput(kStdout, "x"); });
}

TEST(JobAwait, WakesForInputRoom) {
  ExpectWakes(true, Code::kOk, [](Job& job, base::CancelToken&) {
    bool closed = false;
    job.TakeInput(1, &closed);
  });
}

TEST(JobAwait, WakesForTheEnd) {
  ExpectWakes(false, Code::kOk, [](Job& job, base::CancelToken&) { job.Finish(ExitedZero()); });
}

TEST(JobAwait, WakesForACancel) {
  ExpectWakes(false, Code::kCanceled, [](Job&, base::CancelToken& token) { token.Fire(); });
}

TEST(JobAwait, WakesForADeadlineThatIsMovedNearer) {
  ExpectWakes(false, Code::kTimeout, [](Job&, base::CancelToken& token) { token.SetDeadline(base::Clock::now()); });
}

}  // namespace
}  // namespace osbx::core
