#include "engine/exec_calls.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "engine/engine_error.h"
#include "engine/json_reading.h"
#include "transport/demultiplexer.h"

namespace osbx::engine {
namespace {

// What RunExec gives, and what it takes to hold it: every byte in a frame of its own would need nine times as much.
constexpr size_t kRunExecOutput = size_t{64} << 10;
constexpr size_t kRunExecResponse = size_t{1} << 20;

transport::Request StartRequest(const std::string& exec, bool tty) {
  transport::Request request;
  request.method = "POST";
  request.target = "/exec/" + base::PercentEncode(exec) + "/start";
  request.content_type = "application/json";
  request.body = base::JsonBuilder::Object().Set("Detach", false).Set("Tty", tty).Print();
  return request;
}

}  // namespace

Call<std::string> CreateExec(const std::string& container, const ExecConfig& config) {
  Call<std::string> call;
  call.request.method = "POST";
  call.request.target = "/containers/" + base::PercentEncode(container) + "/exec";
  call.request.content_type = "application/json";
  base::JsonBuilder body = base::JsonBuilder::Object();
  body.Set("AttachStdin", config.attach_stdin).Set("AttachStdout", true).Set("AttachStderr", true);
  body.Set("Tty", config.tty).Set("Privileged", false).Set("Cmd", config.argv).Set("Env", config.env);
  body.Set("User", config.user).Set("WorkingDir", config.working_dir);
  call.request.body = body.Print();
  call.parse = [](const transport::Response& response) -> absl::StatusOr<std::string> {
    constexpr std::string_view kWhat = "create exec";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    return ReadId(document.root()["Id"], kWhat, "Id");
  };
  return call;
}

absl::StatusOr<std::unique_ptr<base::DuplexStream>> StartExec(Client& client, const std::string& exec,
                                                              const base::Context& context, bool tty) {
  return client.Hijack(StartRequest(exec, tty), context, "start exec");
}

Call<std::string> RunExec(const std::string& exec) {
  Call<std::string> call;
  call.request = StartRequest(exec, false);
  call.request.max_response = kRunExecResponse;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<std::string> {
    constexpr std::string_view kWhat = "run exec";
    OSBX_RETURN_IF_ERROR(CheckSuccess(response, kWhat));
    std::string output;
    transport::Demultiplexer demultiplexer;
    // A stream that ends inside a frame is one whose command or container was killed: what came is still its output, so
    // Finish() is not asked.
    const absl::Status status =
        demultiplexer.Feed(response.body, [&output](transport::Demultiplexer::Stream, std::string_view bytes) {
          output.append(bytes.substr(0, kRunExecOutput - output.size()));
        });
    if (!status.ok()) return base::Annotate(status, kWhat);
    return output;
  };
  return call;
}

Call<ExecState> InspectExec(const std::string& exec) {
  Call<ExecState> call;
  call.request.target = "/exec/" + base::PercentEncode(exec) + "/json";
  call.request.idempotent = true;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<ExecState> {
    constexpr std::string_view kWhat = "inspect exec";
    OSBX_ASSIGN_OR_RETURN(const base::JsonDocument document, ReadObject(response, kWhat));
    const base::JsonValue root = document.root();
    const std::optional<bool> running = root["Running"].AsBool();
    if (!running) return BadField(kWhat, "Running");
    ExecState state;
    state.running = *running;
    state.exit_code = root["ExitCode"].AsInt();
    state.pid = root["Pid"].IntOr(-1);
    return state;
  };
  return call;
}

}  // namespace osbx::engine
