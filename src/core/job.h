// One running command: bounded queues between whoever drives it (on the event loop) and whoever consumes it (any
// thread). Whether the command is reached by a plain engine exec or by an agent's channel does not show here.
#ifndef OSBX_CORE_JOB_H_
#define OSBX_CORE_JOB_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/mutex.h"
#include "core/result.h"

namespace osbx::core {

// The driver's ear. Called on any thread, without a lock held; must not block (it posts to its loop). It is kept alive
// during a call, so that a consumer's thread can be the one that destroys it.
class JobDriver {
 public:
  virtual ~JobDriver() = default;
  virtual void OnOutputRoom() = 0;                  // the consumer made room after a Push that filled the queue
  virtual void OnInput() = 0;                       // stdin has bytes, or was closed
  virtual void OnStopRequested(EndReason why) = 0;  // end the command's whole tree; asked at most once
};

class Job {
 public:
  // Bytes that each direction may hold; one chunk may exceed it once.
  static constexpr size_t kQueueBytes = size_t{256} << 10;

  // --- consumer ---
  struct Ready {
    bool output = false;      // TakeOutput() has something
    bool input_room = false;  // Write() will take bytes
    bool ended = false;       // end() is known; output may still be there to take
  };
  // Blocks until output is there, or (if `want_input_room`) stdin can take bytes, or the job has ended, or `context`
  // gives up (its status is returned; the job is not touched).
  absl::StatusOr<Ready> Await(bool want_input_room, const base::Context& context);

  struct Chunk {
    uint32_t stream = kStdout;
    std::string bytes;
  };
  std::optional<Chunk> TakeOutput();

  // Queues stdin bytes, all of them; false when stdin was closed or nobody reads it any more (the bytes are dropped).
  bool WriteInput(std::string_view bytes);
  void CloseInput();
  // Asks that the whole tree be ended. The first reason counts; a job that has ended keeps its end.
  void RequestStop(EndReason why);

  std::optional<JobEnd> end() const;

  // --- driver ---
  void SetDriver(std::shared_ptr<JobDriver> driver);  // before anyone else sees the job
  // False when the queue is now full: push no more until OnOutputRoom.
  bool PushOutput(uint32_t stream, std::string_view bytes);
  bool HasOutputRoom() const;
  // Up to `limit` bytes of stdin, empty when there are none now; `*closed` is set when none will ever come again.
  std::string TakeInput(size_t limit, bool* closed);
  // Nobody reads stdin any more: what is queued is dropped, what comes is refused.
  void DropInput();
  // The end; only the first counts. Drops the driver, which may be destroyed by it, and the job with it when the driver
  // held the last reference. What is pushed afterwards is dropped.
  void Finish(const JobEnd& end);
  // The reason of a stop that was requested.
  std::optional<EndReason> stop_reason() const;

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::shared_ptr<JobDriver> driver_ ABSL_GUARDED_BY(mutex_);
  std::deque<Chunk> output_ ABSL_GUARDED_BY(mutex_);
  size_t output_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool output_was_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::string input_ ABSL_GUARDED_BY(mutex_);
  bool input_closed_ ABSL_GUARDED_BY(mutex_) = false;   // by the consumer
  bool input_dropped_ ABSL_GUARDED_BY(mutex_) = false;  // by the driver
  std::optional<EndReason> stop_reason_ ABSL_GUARDED_BY(mutex_);
  std::optional<JobEnd> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace osbx::core

#endif  // OSBX_CORE_JOB_H_
