#include "engine/container_calls.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/container_json.h"
#include "engine/engine_error.h"
#include "engine/json_reading.h"

namespace osbx::engine {
namespace {

using base::Code;

// About 3 KiB a row for ten thousand containers.
constexpr size_t kMaxList = size_t{32} << 20;
constexpr size_t kMaxErrorBody = size_t{64} << 10;

std::string Path(const std::string& id, std::string_view action) {
  return "/containers/" + base::PercentEncode(id) + std::string(action);
}

transport::Request Post(std::string target) {
  transport::Request request;
  request.method = "POST";
  request.target = std::move(target);
  return request;
}

transport::Request Get(std::string target) {
  transport::Request request;
  request.target = std::move(target);
  request.idempotent = true;
  return request;
}

// `what` has static storage.
Call<Nothing> WithoutAnswer(transport::Request request, const char* what) {
  Call<Nothing> call;
  call.request = std::move(request);
  call.parse = [what](const transport::Response& response) -> absl::StatusOr<Nothing> {
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, what));
    return Nothing{};
  };
  return call;
}

// True for a 2xx, false for 304: it was so already.
Call<bool> Changing(transport::Request request, const char* what) {
  Call<bool> call;
  call.request = std::move(request);
  call.parse = [what](const transport::Response& response) -> absl::StatusOr<bool> {
    if (response.status == 304) return false;
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, what));
    return true;
  };
  return call;
}

const char* Spelling(WaitCondition condition) {
  switch (condition) {
    case WaitCondition::kNextExit:
      return "next-exit";
    case WaitCondition::kRemoved:
      return "removed";
    case WaitCondition::kNotRunning:
      break;
  }
  return "not-running";
}

// A 500 whose text says what another engine, or a later version, says with a 409.
absl::Status ConflictIfSaid(absl::Status status, std::string_view phrase) {
  if (base::HttpStatusOf(status) != 500) return status;
  const std::string message(status.message());
  if (message.find(phrase) == std::string::npos) return status;
  return base::Error(Code::kConflict, message, 500);
}

}  // namespace

Call<CreatedContainer> CreateContainer(const std::string& name, const ContainerConfig& config) {
  Call<CreatedContainer> call;
  call.request = Post("/containers/create?name=" + base::PercentEncode(name));
  call.request.content_type = "application/json";
  call.request.body = WriteContainerConfig(config);
  call.parse = [](const transport::Response& response) -> absl::StatusOr<CreatedContainer> {
    constexpr std::string_view kWhat = "create container";
    const absl::Status success = CheckSuccess(response, kWhat);
    if (!success.ok()) return ConflictIfSaid(success, "already in use");
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    CreatedContainer created;
    OSBX_ASSIGN_OR_RETURN(created.id, ReadId(document.root()["Id"], kWhat, "Id"));
    created.warnings = Strings(document.root()["Warnings"]);
    return created;
  };
  return call;
}

Call<ContainerDetails> InspectContainer(const std::string& id_or_name) {
  Call<ContainerDetails> call;
  call.request = Get(Path(id_or_name, "/json"));
  call.parse = [](const transport::Response& response) -> absl::StatusOr<ContainerDetails> {
    constexpr std::string_view kWhat = "inspect container";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    return ReadContainerDetails(document.root(), kWhat);
  };
  return call;
}

Call<std::vector<ContainerSummary>> ListContainers(const std::vector<std::string>& labels) {
  const std::string filters = base::JsonBuilder::Object().Set("label", labels).Print();
  Call<std::vector<ContainerSummary>> call;
  call.request = Get("/containers/json?all=1&filters=" + base::PercentEncode(filters));
  call.request.max_response = kMaxList;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<std::vector<ContainerSummary>> {
    constexpr std::string_view kWhat = "list containers";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadArray(response, kWhat, kMaxList));
    std::vector<ContainerSummary> summaries;
    for (const base::JsonValue& row : document.root().Items()) {
      OSBX_ASSIGN_OR_RETURN(ContainerSummary summary, ReadContainerSummary(row, kWhat));
      summaries.push_back(std::move(summary));
    }
    return summaries;
  };
  return call;
}

Call<bool> StartContainer(const std::string& id) { return Changing(Post(Path(id, "/start")), "start container"); }

Call<bool> StopContainer(const std::string& id, int timeout_seconds) {
  return Changing(Post(Path(id, "/stop?t=" + std::to_string(timeout_seconds))), "stop container");
}

Call<Nothing> KillContainer(const std::string& id, const std::string& signal) {
  return WithoutAnswer(Post(Path(id, "/kill?signal=" + base::PercentEncode(signal))), "kill container");
}

Call<Nothing> UnpauseContainer(const std::string& id) {
  return WithoutAnswer(Post(Path(id, "/unpause")), "unpause container");
}

Call<Nothing> RemoveContainer(const std::string& id, bool force) {
  transport::Request request = Post(Path(id, force ? "?force=1&v=1" : "?v=1"));
  request.method = "DELETE";
  return WithoutAnswer(std::move(request), "remove container");
}

Call<int64_t> WaitContainer(const std::string& id, WaitCondition condition) {
  Call<int64_t> call;
  call.request = Post(Path(id, std::string("/wait?condition=") + Spelling(condition)));
  call.parse = [](const transport::Response& response) -> absl::StatusOr<int64_t> {
    constexpr std::string_view kWhat = "wait for container";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    const base::JsonValue root = document.root();
    // "Error" tells that the engine's own waiting failed; the code beside it means nothing then.
    const std::string error = root["Error"]["Message"].StringOr("");
    if (!error.empty()) return base::Error(Code::kBackend, std::string(kWhat) + ": " + error);
    const std::optional<int64_t> code = root["StatusCode"].AsInt();
    if (!code) return BadField(kWhat, "StatusCode");
    return *code;
  };
  return call;
}

absl::StatusOr<std::unique_ptr<base::DuplexStream>> AttachContainer(Client& client, const std::string& id,
                                                                    const base::Context& context) {
  return client.Hijack(Post(Path(id, "/attach?stream=1&stdout=1&stderr=1")), context, "attach container");
}

Call<std::optional<PathStat>> StatArchive(const std::string& id, const std::string& path) {
  Call<std::optional<PathStat>> call;
  call.request = Get(Path(id, "/archive?path=" + base::PercentEncode(path)));
  call.request.method = "HEAD";
  call.parse = [](const transport::Response& response) -> absl::StatusOr<std::optional<PathStat>> {
    constexpr std::string_view kWhat = "stat archive";
    if (response.status == 404) return std::optional<PathStat>();
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, kWhat));
    // Base64 of JSON; `mode` is Go's os.FileMode, whose highest bit marks a directory.
    const std::optional<std::string> text = base::Base64Decode(response.Header("X-Docker-Container-Path-Stat"));
    if (!text.has_value()) return base::Error(Code::kBackend, std::string(kWhat) + ": the answer has no stat");
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, base::ParseJson(*text));
    const std::optional<int64_t> mode = document.root()["mode"].AsInt();
    if (!mode.has_value()) return base::Error(Code::kBackend, std::string(kWhat) + ": the stat has no mode");
    return std::optional<PathStat>(PathStat{(*mode & (int64_t{1} << 31)) != 0});
  };
  return call;
}

Call<std::string> GetArchive(const std::string& id, const std::string& path, size_t max_bytes) {
  Call<std::string> call;
  call.request = Get(Path(id, "/archive?path=" + base::PercentEncode(path)));
  // An error's text may be longer than the archive that is asked for.
  call.request.max_response = max_bytes < kMaxErrorBody ? kMaxErrorBody : max_bytes;
  call.parse = [max_bytes](const transport::Response& response) -> absl::StatusOr<std::string> {
    constexpr std::string_view kWhat = "get archive";
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, kWhat));
    if (response.body.size() > max_bytes) {
      return base::Error(Code::kTooLarge, std::string(kWhat) + ": more than " + std::to_string(max_bytes) + " bytes");
    }
    return response.body;
  };
  return call;
}

}  // namespace osbx::engine
