// Files over the plain path: a script at the guest's end of an engine exec.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/crypto.h"
#include "core/run_job.h"
#include "docker/guest_scripts.h"
#include "docker/plain_guest.h"

namespace osbx::docker {
namespace {

using base::Code;

constexpr size_t kPiece = size_t{64} << 10;
constexpr size_t kMostErrorText = 4096;
// How long a put whose source failed may take to clean up behind itself before its script is killed.
constexpr std::chrono::milliseconds kCleanupTime(3000);

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string Octal(uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%03o", mode);
  return text;
}

struct ErrorSign {
  const char* text;
  Code code;
};
// The scripts set LC_ALL=C, so these are the texts of strerror(3) in every image, and a shell's own for what it opens
// itself. Compared in lower case: shells differ there.
constexpr ErrorSign kErrorSigns[] = {
    {"no space left on device", Code::kNoSpace},
    {"disk quota exceeded", Code::kNoSpace},
    {"read-only file system", Code::kPermission},
    {"permission denied", Code::kPermission},
    {"operation not permitted", Code::kPermission},
    {"cannot fork", Code::kAtCapacity},
    {"can't fork", Code::kAtCapacity},
    {"fork:", Code::kAtCapacity},
    {"resource temporarily unavailable", Code::kAtCapacity},
    {"not a directory", Code::kInvalid},
    {"file exists", Code::kInvalid},
    {"nonexistent", Code::kInvalid},
    {"name too long", Code::kInvalid},
    {"levels of symbolic links", Code::kInvalid},
    {"is a directory", Code::kInvalid},
    {"no such file", Code::kNotFound},
};

Code CodeFromErrorText(const std::string& text) {
  std::string lower = text;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const ErrorSign& sign : kErrorSigns) {
    if (Contains(lower, sign.text)) return sign.code;
  }
  return Code::kBackend;
}

absl::Status FailureOf(const core::JobEnd& end, const std::string& error_text, const std::string& path) {
  OSBX_RETURN_IF_ERROR(end.not_started);
  switch (end.reason) {
    case core::EndReason::kExited:
      switch (end.exit_code) {
        case 0:
          return absl::OkStatus();
        case kFileIsDirectory:
          return base::Error(Code::kInvalid, path + " is a directory");
        case kFileNotRegular:
          return base::Error(Code::kInvalid, path + " is not a regular file");
        case kFileIncomplete:
          return base::Error(Code::kBackend, path + " did not arrive whole; the old file is untouched");
        case 126:
        case 127:
          if (end.unstartable) {
            return base::Error(Code::kUnsupported, "the image has no usable /bin/sh");
          }
          break;
        default:
          break;
      }
      return base::Error(
          CodeFromErrorText(error_text),
          path + ": " + (error_text.empty() ? "exit code " + std::to_string(end.exit_code) : error_text));
    case core::EndReason::kTimedOut:
      return base::Error(Code::kTimeout, "the deadline passed while " + path + " was transferred");
    case core::EndReason::kCancelled:
      return base::Error(Code::kCanceled, "the transfer of " + path + " was cancelled");
    case core::EndReason::kOutOfMemory:
      return base::Error(Code::kNotRunning, "the sandbox ran out of memory while " + path + " was transferred");
    case core::EndReason::kSandboxGone:
      return base::Error(Code::kNotRunning, "the sandbox ended while " + path + " was transferred");
    case core::EndReason::kCallbackAborted:
      return base::Error(Code::kCallback, "the callback ended the transfer of " + path);
    case core::EndReason::kSignalled:
      return base::Error(Code::kBackend,
                         "the transfer of " + path + " was killed by signal " + std::to_string(end.signal));
    case core::EndReason::kOutcomeUnknown:
      break;
  }
  return base::Error(Code::kBackend, "the daemon went away while " + path + " was transferred");
}

// Keeps the first of what a script says on standard error.
void KeepErrorText(std::string& kept, std::string_view bytes) {
  kept.append(bytes.substr(0, kMostErrorText - std::min(kept.size(), kMostErrorText)));
}

// Feeds a put's script from its source. A put that is given up is not killed: its input ends without the commit, and
// the script removes what it had written. Nobody waits for that, but it is bounded.
class Upload {
 public:
  Upload(core::Job& job, base::CancelToken& job_bound, const core::ReadFunction& source, std::string token,
         std::optional<uint64_t> size)
      : job_(job), job_bound_(job_bound), source_(source), token_(std::move(token)), declared_(size) {}

  absl::Status Run(const std::string& path, const base::Context& context) {
    for (;;) {
      absl::StatusOr<core::Job::Ready> ready = job_.Await(open_, context);
      if (!ready.ok()) return Abandon(ready.status());
      while (std::optional<core::Job::Chunk> chunk = job_.TakeOutput()) KeepErrorText(errors_, chunk->bytes);
      if (ready->ended) return FailureOf(*job_.end(), errors_, path);
      // A source that is always slower than the guest never leaves anything to wait for.
      if (absl::Status allowed = context.Check(); !allowed.ok()) return Abandon(std::move(allowed));
      if (open_ && ready->input_room && !Feed()) {
        return Abandon(base::Error(Code::kCallback, "the source of the file ended the call"));
      }
    }
  }

 private:
  absl::Status Abandon(absl::Status why) {
    job_bound_.SetDeadline(base::Clock::now() + kCleanupTime);
    job_.CloseInput();
    return why;
  }

  // One piece, or the commit and the end. False when the source gave up.
  bool Feed() {
    buffer_.resize(kPiece);
    const int64_t count = source_(reinterpret_cast<uint8_t*>(buffer_.data()), buffer_.size());
    if (count < 0 || static_cast<uint64_t>(count) > kPiece) return false;
    buffer_.resize(static_cast<size_t>(count));
    sent_ += buffer_.size();
    if (count > 0) {
      open_ = job_.WriteInput(buffer_);
      return true;
    }
    if (!declared_.has_value()) {
      std::string size = std::to_string(sent_);
      job_.WriteInput(token_ + std::string(20 - size.size(), '0') + size);
    }
    open_ = false;
    job_.CloseInput();
    return true;
  }

  core::Job& job_;
  base::CancelToken& job_bound_;
  const core::ReadFunction& source_;
  const std::string token_;
  const std::optional<uint64_t> declared_;
  bool open_ = true;
  uint64_t sent_ = 0;
  std::string buffer_;
  std::string errors_;
};

}  // namespace

absl::Status PlainGuest::PutFile(const std::string& path, uint32_t mode, std::optional<uint64_t> size,
                                 const core::ReadFunction& source, const base::Context& context) {
  OSBX_RETURN_IF_ERROR(core::ValidateFilePath(path));
  const std::string token = base::RandomHex(16);
  std::string change = mode == 0 ? "keep" : "";
  std::string mask = "022";
  if (mode != 0 && ((mode & 0111) != 0 || (mode & 0400) == 0)) {
    change = Octal(mode);  // no umask gives an execute bit, and the script must be able to read what came
    mask = "077";
  } else if (mode != 0) {
    mask = Octal(0666 & ~mode);
  }

  core::Command command;
  command.argv = {
      "/bin/sh", "-c", kPutFileScript, "sh", path, token, change, mask, size.has_value() ? std::to_string(*size) : ""};
  command.directory = "/";
  command.stdin_reader = source;  // tells that there is a standard input; it is fed below
  // The caller's context is not the running script's: giving up means an end of its input first.
  auto job_bound = std::make_shared<base::CancelToken>();
  ExecTarget target = target_;
  target.leftover = path.substr(0, path.rfind('/') + 1) + ".osbx-put-" + token;
  OSBX_ASSIGN_OR_RETURN(std::shared_ptr<core::Job> job,
                        ExecSession::StartExec(engine_, target, command, context, base::Context(job_bound)));
  return Upload(*job, *job_bound, source, token, size).Run(path, context);
}

absl::Status PlainGuest::GetFile(const std::string& path, const core::WriteFunction& sink,
                                 const base::Context& context) {
  OSBX_RETURN_IF_ERROR(core::ValidateFilePath(path));
  core::Command command;
  command.argv = {"/bin/sh", "-c", kGetFileScript, "sh", path};
  command.directory = "/";
  std::string errors;
  command.output = [&sink, &errors](uint32_t stream, const uint8_t* data, size_t size) {
    if (stream == core::kStdout) return sink(stream, data, size);
    KeepErrorText(errors, {reinterpret_cast<const char*>(data), size});
    return true;
  };
  const auto start = [&] { return ExecSession::StartExec(engine_, target_, command, context, context); };
  OSBX_ASSIGN_OR_RETURN(const core::Result result, core::StartAndRun(start, command, context));
  return FailureOf(result.end, errors, path);
}

}  // namespace osbx::docker
