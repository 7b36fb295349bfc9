#include "core/job.h"

#include <utility>

#include "base/await.h"

namespace osbx::core {
namespace {

// Small writes of one stream are put together, so that a guest that prints byte by byte costs no chunk a byte.
constexpr size_t kChunkBytes = size_t{64} << 10;

}  // namespace

absl::StatusOr<Job::Ready> Job::Await(bool want_input_room, const base::Context& context) {
  Ready ready;
  // What is there already is given even to a caller whose time is over.
  OSBX_RETURN_IF_ERROR(base::Await(mutex_, changed_, context, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ready.output = !output_.empty();
    ready.ended = end_.has_value();
    ready.input_room = !ready.ended && !input_closed_ && !input_dropped_ && input_.size() < kQueueBytes;
    return ready.output || ready.ended || (want_input_room && ready.input_room);
  }));
  return ready;
}

std::optional<Job::Chunk> Job::TakeOutput() {
  std::optional<Chunk> chunk;
  std::shared_ptr<JobDriver> waiting;
  {
    base::MutexLock lock(mutex_);
    if (output_.empty()) return std::nullopt;
    chunk = std::move(output_.front());
    output_.pop_front();
    output_bytes_ -= chunk->bytes.size();
    // Not before half of it is free: else a full queue would cost a wake-up a chunk.
    if (output_was_full_ && output_bytes_ <= kQueueBytes / 2) {
      output_was_full_ = false;
      waiting = driver_;
    }
  }
  if (waiting != nullptr) waiting->OnOutputRoom();
  return chunk;
}

bool Job::WriteInput(std::string_view bytes) {
  std::shared_ptr<JobDriver> driver;
  {
    base::MutexLock lock(mutex_);
    if (input_closed_ || input_dropped_ || end_.has_value()) return false;
    if (bytes.empty()) return true;
    input_.append(bytes);
    driver = driver_;
  }
  if (driver != nullptr) driver->OnInput();
  return true;
}

void Job::CloseInput() {
  std::shared_ptr<JobDriver> driver;
  {
    base::MutexLock lock(mutex_);
    if (input_closed_ || end_.has_value()) return;
    input_closed_ = true;
    driver = driver_;
    changed_.NotifyAll();
  }
  if (driver != nullptr) driver->OnInput();
}

void Job::RequestStop(EndReason why) {
  std::shared_ptr<JobDriver> driver;
  {
    base::MutexLock lock(mutex_);
    if (end_.has_value() || stop_reason_.has_value()) return;
    stop_reason_ = why;
    driver = driver_;
  }
  if (driver != nullptr) driver->OnStopRequested(why);
}

std::optional<JobEnd> Job::end() const {
  base::MutexLock lock(mutex_);
  return end_;
}

void Job::SetDriver(std::shared_ptr<JobDriver> driver) {
  base::MutexLock lock(mutex_);
  driver_.swap(driver);
}

bool Job::PushOutput(uint32_t stream, std::string_view bytes) {
  base::MutexLock lock(mutex_);
  if (end_.has_value()) return true;
  if (!bytes.empty()) {
    if (!output_.empty() && output_.back().stream == stream && output_.back().bytes.size() < kChunkBytes &&
        bytes.size() <= kChunkBytes - output_.back().bytes.size()) {
      output_.back().bytes.append(bytes);
    } else {
      output_.push_back(Chunk{stream, std::string(bytes)});
    }
    output_bytes_ += bytes.size();
    changed_.NotifyAll();
  }
  if (output_bytes_ < kQueueBytes) return true;
  output_was_full_ = true;
  return false;
}

bool Job::HasOutputRoom() const {
  base::MutexLock lock(mutex_);
  return output_bytes_ < kQueueBytes;
}

std::string Job::TakeInput(size_t limit, bool* closed) {
  base::MutexLock lock(mutex_);
  std::string taken;
  if (input_.size() <= limit) {
    taken.swap(input_);
  } else {
    taken = input_.substr(0, limit);
    input_.erase(0, limit);
  }
  *closed = input_.empty() && (input_closed_ || input_dropped_ || end_.has_value());
  if (!taken.empty()) changed_.NotifyAll();
  return taken;
}

void Job::DropInput() {
  std::string dropped;  // freed after the mutex
  base::MutexLock lock(mutex_);
  input_dropped_ = true;
  dropped.swap(input_);
  changed_.NotifyAll();
}

void Job::Finish(const JobEnd& end) {
  // Destroyed last, after the mutex is free: the driver may hold the last reference to this job.
  std::shared_ptr<JobDriver> dropped_driver;
  std::string dropped_input;
  base::MutexLock lock(mutex_);
  if (end_.has_value()) return;
  end_ = end;
  dropped_driver.swap(driver_);
  dropped_input.swap(input_);
  changed_.NotifyAll();
}

std::optional<EndReason> Job::stop_reason() const {
  base::MutexLock lock(mutex_);
  return stop_reason_;
}

}  // namespace osbx::core
