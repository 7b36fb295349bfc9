#include "engine/client.h"

#include <utility>

#include "base/text.h"
#include "engine/engine_error.h"
#include "transport/endpoint.h"

namespace osbx::engine {
namespace {

using base::Code;

constexpr ApiVersion kOldest{1, 41};
constexpr ApiVersion kNewest{1, 51};

absl::Status CheckOldest(const ApiVersion& version, std::string_view who) {
  if (!(version < kOldest)) return absl::OkStatus();
  std::string message(who);
  message += " " + version.ToString() + " of the engine API; the oldest supported is " + kOldest.ToString();
  return base::Error(Code::kUnsupported, message);
}

}  // namespace

std::string ApiVersion::ToString() const { return std::to_string(major) + "." + std::to_string(minor); }

bool operator<(const ApiVersion& a, const ApiVersion& b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

absl::StatusOr<ApiVersion> ParseApiVersion(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot != std::string_view::npos) {
    const std::optional<int64_t> major = base::ParseDecimal(text.substr(0, dot), 0, 9999);
    const std::optional<int64_t> minor = base::ParseDecimal(text.substr(dot + 1), 0, 9999);
    if (major && minor) return ApiVersion{static_cast<int>(*major), static_cast<int>(*minor)};
  }
  std::string message = "not a version of the engine API: \"";
  message += text;
  message += "\"";
  return base::Error(Code::kInvalid, message);
}

Client::Client(std::shared_ptr<transport::Connection> connection, std::optional<ApiVersion> fixed)
    : connection_(std::move(connection)), fixed_(fixed) {}

absl::Status Client::Negotiate(const base::Context& context) {
  {
    base::MutexLock lock(mutex_);
    if (!prefix_.empty()) return absl::OkStatus();
  }
  ApiVersion version;
  if (fixed_) {
    OSBX_RETURN_IF_ERROR(CheckOldest(*fixed_, "DOCKER_API_VERSION asks for version"));
    version = *fixed_;
  } else {
    // No lock is held over the request: callers that race here ask twice and get the same answer.
    OSBX_ASSIGN_OR_RETURN(version, AskVersion(context));
    OSBX_RETURN_IF_ERROR(CheckOldest(version, "the engine speaks version"));
    if (kNewest < version) version = kNewest;
  }
  base::MutexLock lock(mutex_);
  if (prefix_.empty()) prefix_ = "/v" + version.ToString();
  return absl::OkStatus();
}

absl::StatusOr<ApiVersion> Client::AskVersion(const base::Context& context) {
  transport::Request request;
  request.target = "/_ping";
  request.idempotent = true;
  request.max_response = size_t{64} << 10;
  OSBX_ASSIGN_OR_RETURN(const transport::Response response, connection_->Call(request, context));
  if (response.status != 200) return ErrorFromResponse(response, "ping the engine");
  const std::string_view header = response.Header("Api-Version");
  if (header.empty()) return kOldest;
  absl::StatusOr<ApiVersion> version = ParseApiVersion(header);
  if (!version.ok()) return base::Error(Code::kBackend, std::string(version.status().message()));
  return version;
}

absl::Status Client::AddPrefix(transport::Request& request, const base::Context& context) {
  OSBX_RETURN_IF_ERROR(Negotiate(context));
  AddKnownPrefix(request);
  return absl::OkStatus();
}

void Client::AddKnownPrefix(transport::Request& request) {
  base::MutexLock lock(mutex_);
  request.target.insert(0, prefix_);
}

absl::StatusOr<std::unique_ptr<base::DuplexStream>> Client::Hijack(transport::Request request,
                                                                   const base::Context& context,
                                                                   std::string_view what) {
  OSBX_RETURN_IF_ERROR(AddPrefix(request, context));
  OSBX_ASSIGN_OR_RETURN(transport::HijackResult result, connection_->Hijack(request, context));
  if (result.stream == nullptr) return ErrorFromResponse(result.response, what);
  return std::move(result.stream);
}

absl::StatusOr<std::shared_ptr<Client>> NewClient(const std::string& host, bool tls, const std::string& cert_path,
                                                  const std::string& api_version) {
  OSBX_ASSIGN_OR_RETURN(transport::Endpoint endpoint, transport::ParseEndpoint(host, tls, cert_path));
  std::optional<ApiVersion> fixed;
  if (!api_version.empty()) {
    OSBX_ASSIGN_OR_RETURN(fixed, ParseApiVersion(api_version));
  }
  return std::make_shared<Client>(transport::NewConnection(std::move(endpoint), base::EventLoop::Create()), fixed);
}

}  // namespace osbx::engine
