#include "docker/create_sandbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/wall_clock.h"
#include "docker/create_payload.h"
#include "docker/image_reference.h"
#include "docker/init_output.h"
#include "engine/system_calls.h"

namespace osbx::docker {
namespace {

using base::Code;
using std::chrono::milliseconds;

constexpr milliseconds kCleanupTime(5000);
constexpr milliseconds kFirstPause(5);
constexpr milliseconds kLongestPause(250);
// Rounds through the state machine; each is an event of some other process that got in between.
constexpr int kMostRounds = 200;

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool GaveUp(const absl::Status& status) {
  return base::CodeOf(status) == Code::kCanceled || base::CodeOf(status) == Code::kTimeout;
}

// A start that the runtime refused, in terms of what the caller can change.
absl::Status ExplainStartFailure(const absl::Status& status) {
  const std::string text(status.message());
  if (Contains(text, "/bin/sh")) return base::Error(Code::kUnsupported, "the image has no usable /bin/sh", 0);
  if (Contains(text, "workspace")) {
    return base::Error(Code::kUnsupported, "/workspace is not a directory in the image", base::HttpStatusOf(status));
  }
  if (base::HttpStatusOf(status) == 0) return status;
  return base::Error(Code::kRuntimeUnavailable, "the sandbox could not be started: " + text,
                     base::HttpStatusOf(status));
}

}  // namespace

absl::StatusOr<std::optional<FoundSandbox>> FindSandbox(engine::Client& client, const std::string& name,
                                                        const base::Context& context) {
  const std::string container = ContainerName(name);
  absl::StatusOr<engine::ContainerDetails> details = client.Run(engine::InspectContainer(container), context);
  if (!details.ok()) {
    if (base::CodeOf(details.status()) == Code::kNotFound) return std::nullopt;
    return details.status();
  }
  absl::StatusOr<SandboxRecord> record = ReadRecord(details->name, details->config.labels);
  if (!record.ok() && base::CodeOf(record.status()) == Code::kNotFound) {
    return base::Error(Code::kConflict,
                       "the container " + container + " is not a sandbox, but has the name of this one");
  }
  if (!record.ok()) return record.status();
  return FoundSandbox{*std::move(details), *std::move(record)};
}

absl::StatusOr<FoundSandbox> SandboxCreation::Run(const base::Context& context) {
  milliseconds pause = kFirstPause;
  for (int round = 0; round < kMostRounds; ++round) {
    OSBX_ASSIGN_OR_RETURN(std::optional<FoundSandbox> found, FindSandbox(*engine_->client, name_, context));
    if (found.has_value() && found->record.newer_format()) {
      return base::Error(Code::kUnsupported, "the sandbox was made by a newer version of this library");
    }
    bool changed = false;
    if (!found.has_value()) {
      OSBX_ASSIGN_OR_RETURN(changed, Make(context));
    } else if (found->details.status != "running") {
      OSBX_ASSIGN_OR_RETURN(changed, Mend(*found, context));
    } else {
      OSBX_ASSIGN_OR_RETURN(RuntimeEntry runtime, engine_->runtimes.Find(found->details.config.runtime, context));
      absl::Status verified = engine_->runtimes.Verify(runtime, found->details.id, context);
      if (verified.ok()) return *std::move(found);
      const Code code = base::CodeOf(verified);
      if (code == Code::kRuntimeUnavailable) return Discard(found->details.id, true, verified);
      if (code != Code::kNotFound && code != Code::kConflict) return verified;
      changed = true;  // it ended meanwhile
    }
    if (changed) continue;
    // Somebody else is in the middle of something that the engine offers no way to wait for.
    OSBX_RETURN_IF_ERROR(base::Pause(pause, context));
    pause = std::min(pause * 2, kLongestPause);
  }
  return base::Error(Code::kConflict, "the sandbox does not come to rest: others keep changing it");
}

// True when the container is there now, made by us or by whoever was faster.
absl::StatusOr<bool> SandboxCreation::Make(const base::Context& context) {
  engine::Client& client = *engine_->client;
  OSBX_ASSIGN_OR_RETURN(RuntimeEntry runtime, engine_->runtimes.Find(options_.runtime, context));
  if (options_.egress == core::Egress::kUnrestricted && runtime.network_disabled()) {
    return base::Error(Code::kRuntimeUnavailable, "egress is unrestricted, but the runtime \"" + runtime.name +
                                                      "\" is registered without network (--network=none)");
  }
  if (options_.egress == core::Egress::kUnrestricted) {
    // A daemon without a bridge would make a container without network, and say nothing.
    const absl::Status bridge = client.Run(engine::FindNetwork("bridge"), context).status();
    if (base::CodeOf(bridge) == Code::kNotFound) {
      return base::Error(Code::kRuntimeUnavailable,
                         "egress is unrestricted, but the Docker daemon has no bridge network");
    }
    OSBX_RETURN_IF_ERROR(bridge);
  }
  CreateInput input;
  input.name = name_;
  input.gvisor = runtime.gvisor;
  input.now_ms = base::UnixMilliseconds();
  OSBX_ASSIGN_OR_RETURN(input.image, FindImage(context));
  OSBX_ASSIGN_OR_RETURN(input.user, users_.Resolve(client, options_.user, input.image.id, context));

  const engine::ContainerConfig payload = MakeCreatePayload(options_, input);
  absl::StatusOr<engine::CreatedContainer> created =
      client.Run(engine::CreateContainer(ContainerName(name_), payload), context);
  if (!created.ok()) {
    const Code code = base::CodeOf(created.status());
    if (code == Code::kConflict) return false;  // somebody is making it
    if (code == Code::kNotFound) return true;   // the image went away in between
    if (GaveUp(created.status())) return Discard(ContainerName(name_), false, created.status());
    if (base::HttpStatusOf(created.status()) == 400) {  // well-formed as it is, it asks for more than this host has
      return base::Error(Code::kRuntimeUnavailable, std::string(created.status().message()), 400);
    }
    return created.status();
  }
  OSBX_ASSIGN_OR_RETURN(bool kept, CheckMade(payload, input.image.id, *created, context));
  if (!kept) return true;
  return Start(created->id, true, context);
}

// False when it is not what was asked for any more: the container has gone, or its tag names another image by now.
absl::StatusOr<bool> SandboxCreation::CheckMade(const engine::ContainerConfig& asked, const std::string& image_id,
                                                const engine::CreatedContainer& made, const base::Context& context) {
  for (const std::string& warning : made.warnings) {
    if (Contains(warning, "iscard") || Contains(warning, "limited without")) {
      return Discard(made.id, false, base::Error(Code::kRuntimeUnavailable, "the Docker daemon: " + warning));
    }
  }
  absl::StatusOr<engine::ContainerDetails> details = engine_->client->Run(engine::InspectContainer(made.id), context);
  if (!details.ok()) {
    if (base::CodeOf(details.status()) == Code::kNotFound) return false;
    return Discard(made.id, false, details.status());
  }
  if (details->image_id != image_id) {
    (void)Discard(made.id, false, absl::OkStatus());
    return false;
  }
  // A mount over a link would land elsewhere, one over a file fails or hides it, each runtime in its own way.
  absl::StatusOr<std::optional<engine::PathStat>> workspace =
      engine_->client->Run(engine::StatArchive(made.id, "/workspace"), context);
  if (!workspace.ok()) return Discard(made.id, false, workspace.status());
  if (workspace->has_value() && !(*workspace)->directory) {
    return Discard(made.id, false,
                   base::Error(Code::kUnsupported, "/workspace is not a directory in the image, but a file or a link"));
  }
  absl::Status same = CheckCreated(asked, *details);
  if (!same.ok()) return Discard(made.id, false, same);
  return true;
}

// Anything but running, towards running.
absl::StatusOr<bool> SandboxCreation::Mend(const FoundSandbox& found, const base::Context& context) {
  engine::Client& client = *engine_->client;
  const std::string& id = found.details.id;
  const std::string& status = found.details.status;
  absl::Status done;
  if (status == "created" || status == "exited") return Start(id, false, context);
  if (status == "paused") {
    done = client.Run(engine::UnpauseContainer(id), context).status();
  } else if (status == "removing") {
    done = client.Run(engine::WaitContainer(id, engine::WaitCondition::kRemoved), context).status();
  } else if (status == "dead") {
    done = client.Run(engine::RemoveContainer(id, true), context).status();
  } else {
    return false;
  }
  if (done.ok()) return true;
  const Code code = base::CodeOf(done);
  if (code == Code::kNotFound) return true;
  if (code == Code::kConflict) return false;
  return done;
}

absl::StatusOr<bool> SandboxCreation::Start(const std::string& id, bool made, const base::Context& context) {
  engine::Client& client = *engine_->client;
  absl::StatusOr<std::unique_ptr<base::DuplexStream>> attached = engine::AttachContainer(client, id, context);
  if (!attached.ok()) {
    const Code code = base::CodeOf(attached.status());
    if (code == Code::kNotFound || code == Code::kConflict) return false;
    if (made) return Discard(id, false, attached.status());
    return attached.status();
  }
  OSBX_ASSIGN_OR_RETURN(std::shared_ptr<InitOutput> output, InitOutput::Listen(client.loop(), *std::move(attached)));
  absl::StatusOr<bool> started = client.Run(engine::StartContainer(id), context);
  if (!started.ok()) {
    const Code code = base::CodeOf(started.status());
    // From here on a running container stays: Discard does not force.
    const bool racing = (code == Code::kNotFound || code == Code::kConflict) &&
                        !Contains(std::string(started.status().message()), "network");
    if (racing) return false;
    if (GaveUp(started.status())) return started.status();
    absl::Status failure = ExplainStartFailure(started.status());
    if (made || base::CodeOf(failure) == Code::kUnsupported) return Discard(id, false, failure);
    return failure;
  }
  if (!*started) return true;  // somebody else did, and hears init
  absl::Status verdict = output->AwaitVerdict(context);
  if (verdict.ok()) return true;
  if (base::CodeOf(verdict) == Code::kUnsupported) return Discard(id, true, verdict);
  if (GaveUp(verdict)) return verdict;
  engine_->Log(base::LogLevel::kWarning, std::string(verdict.message()));
  return false;  // it ended; what is there now is looked at again
}

absl::StatusOr<engine::ImageDetails> SandboxCreation::FindImage(const base::Context& context) {
  engine::Client& client = *engine_->client;
  OSBX_ASSIGN_OR_RETURN(ImageReference reference, ParseImageReference(options_.image));
  absl::StatusOr<engine::ImageDetails> image = client.Run(engine::InspectImage(options_.image), context);
  if (image.ok() || base::CodeOf(image.status()) != Code::kNotFound) return image;
  if (reference.is_id()) {
    return base::Error(Code::kImageUnavailable, "the Docker daemon has no image " + options_.image);
  }
  engine_->Log(base::LogLevel::kInfo, "pulling " + options_.image);
  OSBX_RETURN_IF_ERROR(
      engine::PullImage(client, reference.PullName(), reference.PullTag(), /*registry_auth=*/"", context));
  image = client.Run(engine::InspectImage(options_.image), context);
  if (!image.ok() && base::CodeOf(image.status()) == Code::kNotFound) {
    return base::Error(Code::kImageUnavailable, "the image " + options_.image + " is not there after its pull");
  }
  return image;
}

// Removes what this call made and gives `why` back. A caller that gave up is not kept waiting: the removal goes on
// without it.
absl::Status SandboxCreation::Discard(const std::string& id, bool force, absl::Status why) {
  engine::Client& client = *engine_->client;
  if (GaveUp(why)) {
    auto call = std::make_shared<std::unique_ptr<engine::PendingCall>>();
    (void)client.loop()->Post([engine = engine_, id, force, call] {
      *call =
          engine->client->Start<engine::Nothing>(engine::RemoveContainer(id, force), base::Clock::now() + kCleanupTime,
                                                 [call](absl::StatusOr<engine::Nothing>) { call->reset(); });
    });
    return why;
  }
  absl::Status removed = client.Run(engine::RemoveContainer(id, force), base::Context::Detached(kCleanupTime)).status();
  if (!removed.ok() && base::CodeOf(removed) != Code::kNotFound) {
    engine_->Log(base::LogLevel::kWarning, "a container could not be removed: " + std::string(removed.message()));
  }
  return why;
}

}  // namespace osbx::docker
