// Tells when a container ends, without relying on its streams: under gVisor they may stay open after its death.
#ifndef OSBX_DOCKER_EXIT_WATCH_H_
#define OSBX_DOCKER_EXIT_WATCH_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/process_id.h"
#include "engine/client.h"

namespace osbx::docker {

// One `/wait?condition=next-exit` for a container, shared by everything of it that runs in this process.
class ExitWatch : public std::enable_shared_from_this<ExitWatch> {
 public:
  ExitWatch(std::shared_ptr<engine::Client> client, std::string container);
  ~ExitWatch();

  // Waits until the engine is watching, so that nothing that ends later is missed. kNotRunning when the container has
  // ended already; the engine's error when it cannot be watched.
  absl::Status AwaitOpen(const base::Context& context);

  // `listener` runs once on the loop when the container has ended; at once if it has. Loop thread only, as Remove.
  uint64_t AddListener(std::function<void()> listener);
  void RemoveListener(uint64_t id);

 private:
  friend class ExitWatches;
  enum class Phase { kOpening, kOpen, kExited, kFailed };

  absl::Status Begin();
  void OnHead(int status);
  void OnDone(absl::StatusOr<int64_t> code);

  const std::shared_ptr<engine::Client> client_;
  const std::string container_;
  const base::ProcessId creator_;
  std::unique_ptr<engine::PendingCall> call_;            // loop thread only
  std::map<uint64_t, std::function<void()>> listeners_;  // loop thread only
  uint64_t next_id_ = 1;                                 // loop thread only

  base::Mutex mutex_;
  base::CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kOpening;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// The watches of one backend: one a container while anybody holds it.
class ExitWatches {
 public:
  // The container's watch, opened now if there is none; does not wait.
  absl::StatusOr<std::shared_ptr<ExitWatch>> Acquire(const std::shared_ptr<engine::Client>& client,
                                                     const std::string& container);

 private:
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<ExitWatch>> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_EXIT_WATCH_H_
