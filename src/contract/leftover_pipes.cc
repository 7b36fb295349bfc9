#include "contract/leftover_pipes.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace osbx::contract {
namespace {

constexpr size_t kBytesPerTurn = size_t{64} << 10;
constexpr std::chrono::milliseconds kPausePerPipe{10};

}  // namespace

void LeftoverPipes::Add(base::UniqueFd pipe) {
  const std::shared_ptr<base::EventLoop> loop = loop_.lock();
  if (loop == nullptr || !pipe.valid()) return;
  while (pipes_.size() >= kMostPipes) pipes_.pop_front();
  Pipe& added = pipes_.emplace_back();
  added.fd = std::move(pipe);
  added.watcher = loop->WatchFd(added.fd.get());
  added.pause = loop->NewTimer();
  added.id = next_id_++;
  Wait(&added);
}

void LeftoverPipes::Wait(Pipe* pipe) {
  pipe->watcher->WaitReadable([weak = weak_from_this(), id = pipe->id] {
    if (const auto self = weak.lock()) self->OnReadable(id);
  });
}

void LeftoverPipes::OnReadable(uint64_t id) {
  const auto pipe = Find(id);
  if (pipe == pipes_.end()) return;
  char dropped[kBytesPerTurn];
  const ssize_t count = read(pipe->fd.get(), dropped, sizeof(dropped));
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
    pipes_.erase(pipe);
    return;
  }
  // The pause grows with the number of pipes, so that none of them can make this process busy, nor all together.
  pipe->pause->ExpireAt(base::Clock::now() + kPausePerPipe * pipes_.size(), [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const auto found = self->Find(id);
    if (found != self->pipes_.end()) self->Wait(&*found);
  });
}

std::list<LeftoverPipes::Pipe>::iterator LeftoverPipes::Find(uint64_t id) {
  return std::find_if(pipes_.begin(), pipes_.end(), [id](const Pipe& pipe) { return pipe.id == id; });
}

}  // namespace osbx::contract
