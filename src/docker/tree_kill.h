// Kills every process of one command inside a sandbox, through an engine exec of its own.
#ifndef OSBX_DOCKER_TREE_KILL_H_
#define OSBX_DOCKER_TREE_KILL_H_

#include <functional>
#include <memory>
#include <string>

#include "engine/client.h"

namespace osbx::docker {

// Loop thread only. Destroying it gives up; `done` does not run then.
class TreeKill : public std::enable_shared_from_this<TreeKill> {
 public:
  struct Target {
    std::string container;
    std::string user;    // uid:gid
    std::string marker;  // "OSBX_EXEC=..."
    base::TimePoint started;
    std::string leftover;  // a file that goes with the tree; "" for none
  };

  // Tries until the script has seen that none is left, or `deadline`. `done` gets OK in the first case; kNotFound or
  // kNotRunning when the container is gone (and its processes with it).
  static std::shared_ptr<TreeKill> Start(std::shared_ptr<engine::Client> client, Target target,
                                         base::TimePoint deadline, std::function<void(absl::Status)> done);

 private:
  TreeKill(std::shared_ptr<engine::Client> client, Target target, base::TimePoint deadline,
           std::function<void(absl::Status)> done);
  void Attempt();
  void OnAnswer(absl::StatusOr<std::string> output);
  void Unpause();
  void RetryAfter(absl::Status failure);
  void Finish(absl::Status status);

  const std::shared_ptr<engine::Client> client_;
  const Target target_;
  const base::TimePoint deadline_;
  std::function<void(absl::Status)> done_;
  std::unique_ptr<engine::PendingCall> call_;
  std::unique_ptr<base::EventLoop::Timer> timer_;
  std::chrono::milliseconds pause_{50};
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_TREE_KILL_H_
