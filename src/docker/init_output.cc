#include "docker/init_output.h"

#include <utility>

#include "base/await.h"
#include "docker/guest_scripts.h"

namespace osbx::docker {
namespace {

constexpr size_t kMostText = 4096;

}  // namespace

absl::StatusOr<std::shared_ptr<InitOutput>> InitOutput::Listen(std::shared_ptr<base::EventLoop> loop,
                                                               std::unique_ptr<base::DuplexStream> stream) {
  std::shared_ptr<InitOutput> output(new InitOutput(loop, std::move(stream)));
  OSBX_RETURN_IF_ERROR(loop->Post([output] {
    output->stream_->Attach(*output->loop_);
    output->Read();
  }));
  return output;
}

InitOutput::InitOutput(std::shared_ptr<base::EventLoop> loop, std::unique_ptr<base::DuplexStream> stream)
    : loop_(std::move(loop)), stream_(std::move(stream)) {}

InitOutput::~InitOutput() {
  // The stream's waits belong to the loop.
  if (stream_ == nullptr || loop_->InLoopThread()) return;
  (void)loop_->Post([stream = std::move(stream_)]() mutable { stream.reset(); });
}

void InitOutput::Read() {
  for (;;) {
    std::string heard;
    const base::IoResult result =
        reader_.Read(*stream_, [&heard](uint32_t /*stream*/, std::string_view bytes) { heard += bytes; });
    if (result.state == base::IoResult::State::kWouldBlock) {
      std::weak_ptr<InitOutput> weak = weak_from_this();
      stream_->WaitReadable([weak] {
        if (auto self = weak.lock()) self->Read();
      });
      return;
    }
    base::MutexLock lock(mutex_);
    text_ += heard;
    ended_ = result.state != base::IoResult::State::kDone || text_.size() > kMostText;
    changed_.NotifyAll();
    if (ended_ || HasVerdict()) {
      stream_->Close();
      return;
    }
  }
}

bool InitOutput::HasVerdict() const {
  if (text_.find(kInitReady) != std::string::npos) return true;
  const size_t refused = text_.find(kInitRefused);
  return refused != std::string::npos && text_.find('\n', refused) != std::string::npos;
}

absl::Status InitOutput::AwaitVerdict(const base::Context& context) {
  OSBX_RETURN_IF_ERROR(base::Await(mutex_, changed_, context,
                                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || HasVerdict(); }));
  base::MutexLock lock(mutex_);
  if (text_.find(kInitReady) != std::string::npos) return absl::OkStatus();
  const size_t refused = text_.find(kInitRefused);
  if (refused == std::string::npos) {
    return base::Error(base::Code::kBackend, "the sandbox's init ended at once: " + text_);
  }
  const size_t begin = refused + sizeof(kInitRefused) - 1;
  return base::Error(base::Code::kUnsupported, text_.substr(begin, text_.find('\n', begin) - begin));
}

}  // namespace osbx::docker
