#include "contract/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/crypto.h"
#include "base/process_scan.h"
#include "base/spawn.h"

namespace osbx::contract {
namespace {

using base::Clock;
using base::Code;
using std::chrono::milliseconds;

constexpr std::string_view kMarkerName = "SANDBOX_EXECUTION=";
constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kBytesPerTurn = 4 * kReadBytes;
// A pipe holds this much at most, whatever its writer asked for: what a shell wrote is out of it then.
constexpr size_t kDrainBytes = size_t{1} << 20;
// For output of children that end right behind the shell. Whoever starts a server in the background waits for it.
constexpr milliseconds kSilence{100};
constexpr milliseconds kGrace{1000};
constexpr milliseconds kKillTime{5000};
constexpr milliseconds kKillOverdue{6000};  // should a worker hang on a process's /proc entry

// The child gets the writing end, which must block as programs expect; CLOEXEC keeps both from other children.
absl::Status MakePipe(base::UniqueFd* reading, base::UniqueFd* writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return base::Error(errno == EMFILE || errno == ENFILE ? Code::kAtCapacity : Code::kInternal,
                       "cannot make a pipe for a command (errno " + std::to_string(errno) + ")");
  }
  reading->Reset(ends[0]);
  writing->Reset(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

}  // namespace

Execution::Execution(const ExecutionServices& services, Done done)
    : loop_(services.loop), pool_(services.pool), leftovers_(services.leftovers), done_(std::move(done)) {}

Execution::~Execution() {
  // Until its exit is known its pid is nobody else's.
  const bool runs = tree_.root > 1 && state_ != State::kOver && !exit_.has_value();
  if (runs && base::CurrentProcess() == creator_) kill(-tree_.root, SIGKILL);
}

absl::StatusOr<std::shared_ptr<Execution>> Execution::Start(const ExecutionServices& services, Options options,
                                                            Done done) {
  const std::shared_ptr<Execution> execution(new Execution(services, std::move(done)));
  OSBX_RETURN_IF_ERROR(execution->Begin(services, std::move(options)));
  return execution;
}

absl::Status Execution::Begin(const ExecutionServices& services, Options options) {
  base::UniqueFd stdout_end;
  base::UniqueFd stderr_end;
  OSBX_RETURN_IF_ERROR(MakePipe(&stdout_.fd, &stdout_end));
  OSBX_RETURN_IF_ERROR(MakePipe(&stderr_.fd, &stderr_end));

  tree_.marker = std::string(kMarkerName) + base::RandomHex(16);
  tree_.adopts_orphans = services.waiter->adopts_orphans();
  base::SpawnOptions spawn;
  spawn.program = options.shell;
  spawn.arguments = {std::move(options.shell), "-c", std::move(options.command)};
  spawn.environment.reserve(services.environment.size() + 1);
  spawn.environment.push_back(tree_.marker);
  for (const std::string& entry : services.environment) {
    if (entry.compare(0, kMarkerName.size(), kMarkerName) != 0) spawn.environment.push_back(entry);
  }
  spawn.directory = std::move(options.workspace);
  spawn.stdout_fd = stdout_end.get();
  spawn.stderr_fd = stderr_end.get();
  spawn.not_default = services.not_default;

  timer_ = services.loop->NewTimer();
  started_ = Clock::now();
  OSBX_ASSIGN_OR_RETURN(tree_.root, base::Spawn(spawn));
  if (const auto root = base::ReadProcess(tree_.root)) tree_.root_start = root->start;
  services.waiter->Watch(tree_.root, [self = shared_from_this()](base::ChildExit exit) { self->OnExit(exit); });
  BeginRead(&stdout_);
  BeginRead(&stderr_);
  if (options.timeout.has_value()) {
    timer_->ExpireAt(base::SaturatingAdd(started_, *options.timeout), [self = shared_from_this()] {
      self->result_.exit_code = kTimeoutExitCode;
      self->Kill();
    });
  }
  return absl::OkStatus();
}

void Execution::BeginRead(Stream* stream) {
  const std::shared_ptr<base::EventLoop> loop = loop_.lock();
  if (loop == nullptr) return;
  if (stream->watcher == nullptr) stream->watcher = loop->WatchFd(stream->fd.get());
  stream->watcher->WaitReadable([self = shared_from_this(), stream] { self->OnReadable(stream); });
}

void Execution::OnReadable(Stream* stream) {
  const bool some = ReadSome(stream, kBytesPerTurn);
  if (stream->open()) BeginRead(stream);
  if (state_ != State::kGrace) return;
  if (!stdout_.open() && !stderr_.open()) {
    Finish();
  } else if (some) {
    ExtendGrace();
  }
}

bool Execution::ReadSome(Stream* stream, size_t most) {
  char buffer[kReadBytes];
  bool some = false;
  for (size_t total = 0; stream->open() && total < most;) {
    const ssize_t count = read(stream->fd.get(), buffer, sizeof(buffer));
    if (count > 0) {
      some = true;
      total += static_cast<size_t>(count);
      stream->capture.Append(buffer, static_cast<size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      break;
    } else if (count == 0 || errno != EINTR) {
      CloseStream(stream);
    }
  }
  return some;
}

void Execution::OnExit(base::ChildExit exit) {
  exit_ = exit;
  if (state_ == State::kKilling) {
    FinishIfOver();
  } else if (state_ == State::kRunning) {
    ended_ = Clock::now();
    timer_->Cancel();
    BeginGrace();
  }
}

void Execution::BeginGrace() {
  result_.exit_code = exit_->code;
  result_.exit_known = exit_->known;
  if (!exit_->known) {
    result_.problem = base::Error(Code::kInternal,
                                  "the exit code of a command is not known: this process ignores "
                                  "SIGCHLD, or something else in it waits for any child");
  }
  ReadSome(&stdout_, kDrainBytes);
  ReadSome(&stderr_, kDrainBytes);
  state_ = State::kGrace;
  grace_end_ = ended_ + kGrace;
  if (!stdout_.open() && !stderr_.open()) {
    Finish();
  } else {
    ExtendGrace();
  }
}

void Execution::ExtendGrace() {
  timer_->ExpireAt(std::min(Clock::now() + kSilence, grace_end_), [self = shared_from_this()] { self->Finish(); });
}

void Execution::Cancel() {
  if (state_ != State::kRunning && state_ != State::kGrace) return;
  result_.exit_code = 128 + SIGKILL;
  Kill();
}

void Execution::Kill() {
  state_ = State::kKilling;
  timer_->ExpireAt(Clock::now() + kKillOverdue, [self = shared_from_this()] { self->OnKillOverdue(); });
  // The worker holds nothing of this loop's that it could be the last to let go of.
  auto work = [tree = tree_, weak_loop = loop_, weak = weak_from_this()] {
    absl::Status status = base::KillProcessTree(tree, Clock::now() + kKillTime);
    const std::shared_ptr<base::EventLoop> loop = weak_loop.lock();
    if (loop == nullptr) return;
    static_cast<void>(loop->Post([weak, status = std::move(status)] {
      if (const auto self = weak.lock()) self->OnKilled(status);
    }));
  };
  const std::shared_ptr<base::WorkerPool> pool = pool_.lock();
  const absl::Status started =
      pool != nullptr ? pool->Run(std::move(work)) : base::Error(Code::kCanceled, "the workers have ended");
  if (started.ok()) return;
  kill(-tree_.root, SIGKILL);
  if (const std::shared_ptr<base::EventLoop> loop = loop_.lock()) {
    static_cast<void>(loop->Post([self = shared_from_this(), started] { self->OnKilled(started); }));
  }
}

void Execution::OnKilled(absl::Status status) {
  if (state_ != State::kKilling) return;
  killed_ = true;
  if (!status.ok()) result_.problem = std::move(status);
  FinishIfOver();
}

void Execution::OnKillOverdue() {
  if (result_.problem.ok()) {
    result_.problem = base::Error(Code::kTimeout, "a command's processes did not end in time after SIGKILL");
  }
  Finish();
}

void Execution::FinishIfOver() {
  if (killed_ && exit_.has_value()) Finish();
}

void Execution::Finish() {
  if (state_ == State::kOver) return;
  const bool was_killed = state_ == State::kKilling;
  state_ = State::kOver;
  if (was_killed) {
    ended_ = Clock::now();
    ReadSome(&stdout_, kDrainBytes);
    ReadSome(&stderr_, kDrainBytes);
  }
  result_.stdout_text = stdout_.capture.Text();
  result_.stderr_text = stderr_.capture.Text();
  result_.truncated = stdout_.capture.truncated() || stderr_.capture.truncated();
  result_.duration = std::chrono::duration_cast<milliseconds>(ended_ - started_);
  const auto self = shared_from_this();  // what ends here can hold the last reference
  timer_.reset();
  for (Stream* const stream : {&stdout_, &stderr_}) {
    stream->watcher.reset();
    // A background child lives on, and must be able to write.
    if (stream->open() && !was_killed) leftovers_->Add(std::move(stream->fd));
    CloseStream(stream);
    stream->capture = OutputCapture();
  }
  const Done done = std::exchange(done_, nullptr);
  done(std::move(result_));
}

void Execution::CloseStream(Stream* stream) {
  stream->watcher.reset();
  stream->fd.Reset();
}

}  // namespace osbx::contract
