#include "docker/docker_backend.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "docker/create_sandbox.h"
#include "docker/docker_engine.h"
#include "docker/docker_sandbox.h"
#include "docker/image_user.h"
#include "engine/container_calls.h"

namespace osbx::docker {
namespace {

using base::Code;

constexpr char kDefaultHost[] = "unix:///var/run/docker.sock";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class DockerBackend : public core::Backend {
 public:
  explicit DockerBackend(std::shared_ptr<DockerEngine> engine) : engine_(std::move(engine)) {}

  absl::StatusOr<std::shared_ptr<core::Sandbox>> Create(const std::string& name, const core::SpecBuilder& spec,
                                                        const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(core::ValidateSandboxName(name));
    OSBX_ASSIGN_OR_RETURN(core::Options options, spec.Resolve());
    SandboxCreation creation(engine_, users_, name, std::move(options));
    OSBX_ASSIGN_OR_RETURN(FoundSandbox found, creation.Run(context));
    return std::make_shared<DockerSandbox>(engine_, found.details, found.record);
  }

  absl::StatusOr<std::shared_ptr<core::Sandbox>> Open(const std::string& name, const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(core::ValidateSandboxName(name));
    OSBX_ASSIGN_OR_RETURN(std::optional<FoundSandbox> found, FindOurs(name, context));
    if (!found.has_value()) return base::Error(Code::kNotFound, "there is no sandbox \"" + name + "\"");
    if (found->record.newer_format()) {
      return base::Error(Code::kUnsupported, "the sandbox was made by a newer version of this library");
    }
    return std::make_shared<DockerSandbox>(engine_, found->details, found->record);
  }

  absl::StatusOr<std::vector<core::Info>> List(const base::Context& context) override {
    OSBX_ASSIGN_OR_RETURN(std::vector<engine::ContainerSummary> rows,
                          engine_->client->Run(engine::ListContainers({std::string(kManagedLabel) + "=1"}), context));
    std::vector<core::Info> sandboxes;
    for (engine::ContainerSummary& row : rows) {
      absl::StatusOr<SandboxRecord> record = ReadRecord(row.name, row.labels);
      if (!record.ok()) {
        engine_->Log(base::LogLevel::kWarning,
                     "not listed: " + row.name + ": " + std::string(record.status().message()));
        continue;
      }
      sandboxes.push_back({std::move(record->name), std::move(row.id), std::move(row.image), StateFromStatus(row.state),
                           record->created_ms, std::move(record->user_labels)});
    }
    std::sort(sandboxes.begin(), sandboxes.end(),
              [](const core::Info& a, const core::Info& b) { return a.name < b.name; });
    return sandboxes;
  }

  absl::Status Destroy(const std::string& name, const base::Context& context) override {
    OSBX_RETURN_IF_ERROR(core::ValidateSandboxName(name));
    engine::Client& client = *engine_->client;
    // The container of the name, whatever its labels have become, as long as it says that it is a sandbox.
    absl::StatusOr<engine::ContainerDetails> details =
        client.Run(engine::InspectContainer(ContainerName(name)), context);
    if (!details.ok()) return IgnoreNotFound(details.status());
    if (base::CodeOf(ReadRecord(details->name, details->config.labels).status()) == Code::kNotFound) {
      return absl::OkStatus();
    }
    absl::Status removed = client.Run(engine::RemoveContainer(details->id, true), context).status();
    if (base::CodeOf(removed) == Code::kConflict) {  // somebody else is removing it
      removed = client.Run(engine::WaitContainer(details->id, engine::WaitCondition::kRemoved), context).status();
    }
    return IgnoreNotFound(removed);
  }

 private:
  static absl::Status IgnoreNotFound(const absl::Status& status) {
    return base::CodeOf(status) == Code::kNotFound ? absl::OkStatus() : status;
  }

  // As FindSandbox, but a container that is not ours is no sandbox.
  absl::StatusOr<std::optional<FoundSandbox>> FindOurs(const std::string& name, const base::Context& context) {
    absl::StatusOr<std::optional<FoundSandbox>> found = FindSandbox(*engine_->client, name, context);
    if (!found.ok() && base::CodeOf(found.status()) == Code::kConflict) return std::nullopt;
    return found;
  }

  const std::shared_ptr<DockerEngine> engine_;
  ImageUsers users_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<core::Backend>> NewDockerBackend(const DockerConfig& config) {
  std::string host = config.host.value_or(FromEnvironment("DOCKER_HOST"));
  if (host.empty()) host = kDefaultHost;
  const bool tls = config.cert_path.has_value() || !FromEnvironment("DOCKER_TLS_VERIFY").empty();
  const std::string cert_path = config.cert_path.value_or(FromEnvironment("DOCKER_CERT_PATH"));
  const std::string version = config.api_version.value_or(FromEnvironment("DOCKER_API_VERSION"));
  OSBX_ASSIGN_OR_RETURN(std::shared_ptr<engine::Client> client, engine::NewClient(host, tls, cert_path, version));
  return std::make_shared<DockerBackend>(
      std::make_shared<DockerEngine>(std::move(client), config.log_level, config.log));
}

}  // namespace osbx::docker
