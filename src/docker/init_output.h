// Hears whether a sandbox's init program is ready, through the attached output of its container.
#ifndef OSBX_DOCKER_INIT_OUTPUT_H_
#define OSBX_DOCKER_INIT_OUTPUT_H_

#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/duplex_stream.h"
#include "base/mutex.h"
#include "engine/output_reader.h"

namespace osbx::docker {

class InitOutput : public std::enable_shared_from_this<InitOutput> {
 public:
  // Listens on `stream`, which was attached before the container is started.
  static absl::StatusOr<std::shared_ptr<InitOutput>> Listen(std::shared_ptr<base::EventLoop> loop,
                                                            std::unique_ptr<base::DuplexStream> stream);
  ~InitOutput();

  // OK when init said that it is ready; kUnsupported with its reason when it refused the image; kBackend when its
  // output ended without a word.
  absl::Status AwaitVerdict(const base::Context& context);

 private:
  InitOutput(std::shared_ptr<base::EventLoop> loop, std::unique_ptr<base::DuplexStream> stream);
  void Read();
  bool HasVerdict() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<base::EventLoop> loop_;
  std::shared_ptr<base::DuplexStream> stream_;  // loop thread only
  engine::OutputReader reader_;                 // loop thread only
  base::Mutex mutex_;
  base::CondVar changed_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_INIT_OUTPUT_H_
