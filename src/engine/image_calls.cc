#include "engine/image_calls.h"

#include <deque>
#include <utility>

#include "base/await.h"
#include "base/mutex.h"
#include "base/text.h"
#include "engine/engine_error.h"
#include "engine/json_reading.h"
#include "engine/json_stream.h"

namespace osbx::engine {
namespace {

using base::Code;

constexpr std::string_view kPull = "pull";
constexpr size_t kMaxQueuedProgress = 256;

// One pull, shared by the waiting thread and the call on the loop: whoever comes last frees it.
class Pull {
 public:
  // --- the loop's thread ---
  void Begin(transport::Connection& connection, const transport::Request& request, const std::shared_ptr<Pull>& self) {
    transport::CallHandlers handlers;
    handlers.on_body = [self](std::string_view bytes) {
      return self->body_.OnBody(bytes, [&self](base::JsonValue object) { return self->OnObject(object); });
    };
    handlers.on_done = [self](absl::StatusOr<transport::Response> end) { self->OnDone(end); };
    // The waiting thread sees to the deadline, which the caller's token may still move.
    pending_ = connection.Start(request, base::TimePoint::max(), std::move(handlers));
  }
  void End() { pending_.reset(); }

  // --- the waiting thread ---
  absl::Status Wait(const base::Context& context, const PullProgressFunction& progress) {
    while (true) {
      const absl::Status awaited =
          base::Await(mutex_, changed_, context,
                      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_ || !progress_.empty(); });
      if (!awaited.ok()) return base::Annotate(awaited, kPull);
      std::deque<PullProgress> news;
      {
        base::MutexLock lock(mutex_);
        if (progress_.empty()) return result_;
        news.swap(progress_);
      }
      for (const PullProgress& item : news) {
        if (!progress(item)) return base::Error(Code::kCallback, "pull: ended by the progress callback");
      }
      // Await() takes what is there even when the context has given up, and a busy pull always has something.
      const absl::Status allowed = context.Check();
      if (!allowed.ok() && !done()) return base::Annotate(allowed, kPull);
    }
  }
  void WantProgress() {
    base::MutexLock lock(mutex_);
    report_progress_ = true;
  }

 private:
  bool done() {
    base::MutexLock lock(mutex_);
    return done_;
  }

  bool OnObject(base::JsonValue object) {
    const std::string error = object["error"].StringOr("");
    const std::string detail = object["errorDetail"]["message"].StringOr("");
    if (!error.empty() || !detail.empty() || object["errorDetail"].is_object()) {
      // The first one says why; the stream is read to its end all the same.
      if (error_.empty()) error_ = !detail.empty() ? detail : !error.empty() ? error : "the engine gives no reason";
      return true;
    }
    PullProgress progress;
    progress.id = object["id"].StringOr("");
    progress.status = object["status"].StringOr("");
    progress.current = object["progressDetail"]["current"].IntOr(0);
    progress.total = object["progressDetail"]["total"].IntOr(0);
    base::MutexLock lock(mutex_);
    if (!report_progress_) return true;
    if (progress_.size() == kMaxQueuedProgress) progress_.pop_front();
    progress_.push_back(std::move(progress));
    changed_.NotifyAll();
    return true;
  }

  void OnDone(const absl::StatusOr<transport::Response>& end) {
    absl::Status result = Result(end);
    base::MutexLock lock(mutex_);
    result_ = std::move(result);
    done_ = true;
    changed_.NotifyAll();
  }

  absl::Status Result(const absl::StatusOr<transport::Response>& end) const {
    if (!error_.empty()) return base::Error(Code::kImageUnavailable, std::string(kPull) + ": " + error_);
    absl::Status status = body_.Finish(end, kPull);
    if (status.ok()) return status;
    switch (base::CodeOf(status)) {
      case Code::kUnreachable:
      case Code::kTimeout:
      case Code::kCanceled:
      case Code::kNoMemory:
      case Code::kInternal:
        return status;
      default:
        return base::Error(Code::kImageUnavailable, std::string(status.message()), base::HttpStatusOf(status));
    }
  }

  // The loop's.
  std::unique_ptr<transport::PendingCall> pending_;
  JsonStreamBody body_;
  std::string error_;

  base::Mutex mutex_;
  base::CondVar changed_;
  bool report_progress_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<PullProgress> progress_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Call<ImageDetails> InspectImage(const std::string& reference) {
  Call<ImageDetails> call;
  call.request.target = "/images/" + base::PercentEncode(reference) + "/json";
  call.request.idempotent = true;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<ImageDetails> {
    constexpr std::string_view kWhat = "inspect image";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    const base::JsonValue root = document.root();
    ImageDetails image;
    // Not ReadId(): an image's id carries its algorithm, "sha256:...", and is never put into a path unescaped.
    image.id = root["Id"].StringOr("");
    if (image.id.empty() || image.id.size() > 256) return BadField(kWhat, "Id");
    image.architecture = root["Architecture"].StringOr("");
    const base::JsonValue config = root["Config"];
    // Volumes that are not seen are volumes that nothing covers, so only an engine's own "none" counts as none.
    if (!config.is_object() && !IsNull(config)) return BadField(kWhat, "Config");
    const base::JsonValue volumes = config["Volumes"];
    if (volumes.exists() && !IsNull(volumes) && !volumes.is_object()) return BadField(kWhat, "Config.Volumes");
    for (const auto& [path, unused] : volumes.Members()) image.volumes.push_back(path);
    image.env = Strings(config["Env"]);
    image.labels = StringMap(config["Labels"]);
    return image;
  };
  return call;
}

absl::Status PullImage(Client& client, const std::string& name, const std::string& tag,
                       const std::string& registry_auth, const base::Context& context,
                       const PullProgressFunction& progress) {
  // Without a tag the engine would pull all of them.
  if (name.empty() || tag.empty()) return base::Error(Code::kInvalid, "pull: a name and a tag are needed");
  OSBX_RETURN_IF_ERROR(client.Negotiate(context));
  transport::Request request;
  request.method = "POST";
  request.target = "/images/create?fromImage=" + base::PercentEncode(name) + "&tag=" + base::PercentEncode(tag);
  if (!registry_auth.empty()) request.headers.emplace_back("X-Registry-Auth", registry_auth);
  client.AddKnownPrefix(request);

  const auto pull = std::make_shared<Pull>();
  if (progress) pull->WantProgress();
  const std::shared_ptr<base::EventLoop> loop = client.loop();
  OSBX_RETURN_IF_ERROR(loop->RunAndWait([&] { pull->Begin(client.connection(), request, pull); }));
  absl::Status result = pull->Wait(context, progress);
  // No callback of the call runs once this has run, so nothing of the caller's is touched after the return.
  const absl::Status ended = loop->RunAndWait([pull] { pull->End(); });
  return result.ok() ? ended : result;
}

}  // namespace osbx::engine
