#include "core/run_job.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>

namespace osbx::core {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr std::chrono::milliseconds kCapacityPatience(5000);
constexpr std::chrono::milliseconds kCapacityPause(20);  // an attempt costs the engine more than that

// Where the output goes: to the callback until it gives up, or into the result up to the limit.
class OutputSink {
 public:
  OutputSink(const Command& command, Result& result) : command_(command), result_(result) {}

  // False when the callback gave up.
  bool Take(const Job::Chunk& chunk) {
    if (command_.output != nullptr) {
      return command_.output(chunk.stream, reinterpret_cast<const uint8_t*>(chunk.bytes.data()), chunk.bytes.size());
    }
    const bool is_stderr = chunk.stream == kStderr;
    Keep(chunk.bytes, is_stderr ? result_.err : result_.out, is_stderr ? result_.err_truncated : result_.out_truncated);
    return true;
  }

  bool streams() const { return command_.output != nullptr; }

 private:
  void Keep(const std::string& bytes, base::ByteBuffer& kept, bool& truncated) {
    if (truncated) return;
    const size_t count = std::min(bytes.size(), command_.output_limit - kept.size());
    truncated = count < bytes.size();
    try {
      kept.Append(bytes.data(), count);
    } catch (const std::bad_alloc&) {
      // The command has run and its end must be told; what this process cannot hold is cut like what it must not.
      truncated = true;
    }
  }

  const Command& command_;
  Result& result_;
};

// Where the input comes from, piece by piece.
class InputSource {
 public:
  explicit InputSource(const Command& command) : command_(command), open_(command.has_stdin()) {}

  bool open() const { return open_; }
  void Abandon() { open_ = false; }

  // Passes one piece, or the end, to the job. False when the reader gave up.
  bool Feed(Job& job) {
    const std::string_view piece = Next();
    if (gave_up_) return open_ = false;
    if (piece.empty()) job.CloseInput();
    open_ = !piece.empty() && job.WriteInput(piece);
    return true;
  }

 private:
  std::string_view Next() {
    if (command_.stdin_reader == nullptr) {
      const std::string_view piece = std::string_view(command_.stdin_bytes).substr(position_, kPieceBytes);
      position_ += piece.size();
      return piece;
    }
    if (buffer_ == nullptr) buffer_ = std::make_unique<uint8_t[]>(kPieceBytes);
    const int64_t count = command_.stdin_reader(buffer_.get(), kPieceBytes);
    gave_up_ = count < 0 || static_cast<uint64_t>(count) > kPieceBytes;
    return {reinterpret_cast<const char*>(buffer_.get()), gave_up_ ? 0 : static_cast<size_t>(count)};
  }

  const Command& command_;
  bool open_;
  bool gave_up_ = false;
  size_t position_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;
};

// Runs one callback step. Whatever is thrown out of it (want of memory, or by a callback, which it may not do) must not
// leave the command running with nobody to read it.
template <typename Step>
bool Succeeds(Step&& step) {
  try {
    return step();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Result RunToEnd(Job& job, const Command& command) {
  Result result;
  OutputSink sink(command, result);
  InputSource source(command);
  bool aborted = false;
  const auto abort = [&] {
    aborted = true;
    source.Abandon();
    job.RequestStop(EndReason::kCallbackAborted);
  };

  if (!source.open()) job.CloseInput();
  for (;;) {
    // Without a token or a deadline the wait cannot be given up.
    const absl::StatusOr<Job::Ready> ready = job.Await(source.open(), base::Context());
    if (!ready.ok()) continue;
    // All the output that is there comes before a reader that may block, but never more than one queue of it: a guest
    // that prints without end must not starve its own input.
    for (size_t delivered = 0; delivered < Job::kQueueBytes;) {
      const std::optional<Job::Chunk> chunk = job.TakeOutput();
      if (!chunk.has_value()) break;
      delivered += chunk->bytes.size();
      if (aborted && sink.streams()) continue;
      if (!Succeeds([&] { return sink.Take(*chunk); })) abort();
    }
    if (ready->ended && !ready->output) break;
    if (source.open() && ready->input_room && !job.end().has_value()) {
      if (!Succeeds([&] { return source.Feed(job); })) abort();
    }
  }
  result.end = *job.end();
  return result;
}

absl::StatusOr<Result> StartAndRun(const std::function<absl::StatusOr<std::shared_ptr<Job>>()>& start,
                                   const Command& command, const base::Context& context) {
  const base::TimePoint give_up = base::Clock::now() + kCapacityPatience;
  for (;;) {
    OSBX_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, start());
    Result result = RunToEnd(*job, command);
    const bool again = base::CodeOf(result.end.not_started) == base::Code::kAtCapacity &&
                       command.stdin_reader == nullptr && base::Clock::now() < give_up;
    if (!again) return result;
    OSBX_RETURN_IF_ERROR(base::Pause(kCapacityPause, context));
  }
}

}  // namespace osbx::core
