// Pipes of commands that are over while a background child still holds the other end. They go on being read, so that
// the child neither blocks nor gets SIGPIPE; what it writes is dropped.
#ifndef OSBX_CONTRACT_LEFTOVER_PIPES_H_
#define OSBX_CONTRACT_LEFTOVER_PIPES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/event_loop.h"
#include "base/unique_fd.h"

namespace osbx::contract {

// Loop thread only, its destructor as well. All pipes together are read at some 6 MiB a second at most.
class LeftoverPipes : public std::enable_shared_from_this<LeftoverPipes> {
 public:
  // With one more than these the oldest is closed: its writer gets SIGPIPE.
  static constexpr size_t kMostPipes = 256;

  explicit LeftoverPipes(const std::shared_ptr<base::EventLoop>& loop) : loop_(loop) {}

  // Takes over the reading end of a pipe, non-blocking.
  void Add(base::UniqueFd pipe);
  size_t size() const { return pipes_.size(); }

 private:
  struct Pipe {
    base::UniqueFd fd;
    std::unique_ptr<base::EventLoop::FdWatcher> watcher;  // destroyed before its descriptor
    std::unique_ptr<base::EventLoop::Timer> pause;
    uint64_t id = 0;
  };
  void Wait(Pipe* pipe);
  void OnReadable(uint64_t id);
  std::list<Pipe>::iterator Find(uint64_t id);

  const std::weak_ptr<base::EventLoop> loop_;
  uint64_t next_id_ = 1;
  std::list<Pipe> pipes_;  // the oldest first
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_LEFTOVER_PIPES_H_
