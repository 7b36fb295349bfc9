#include "contract/execute_handler.h"

#include <string>
#include <utility>

#include "contract/error_answer.h"
#include "contract/execute_request.h"

namespace osbx::contract {
namespace {

constexpr size_t kMaxHeld = 3 * kMaxExecuteBodyBytes;
const char kBusy[] = "a command is running: one at a time";
const char kTooLarge[] = "the request's body is too large: at most 16777216 bytes";
const char kStopping[] = "the server is shutting down";

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

int StatusOfFailedStart(const absl::Status& status) {
  switch (base::CodeOf(status)) {
    case base::Code::kTooLarge:  // the kernel takes 128 KiB as one argument
      return 413;
    case base::Code::kAtCapacity:
    case base::Code::kNoMemory:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

ExecuteHandler::ExecuteHandler(ExecutionServices services, const Configuration& configuration,
                               std::shared_ptr<UnsentAnswers> unsent, base::LogFunction log)
    : services_(std::move(services)), configuration_(configuration), unsent_(std::move(unsent)), log_(std::move(log)) {}

void ExecuteHandler::Handle(std::shared_ptr<http::Exchange> exchange) {
  if (exchange->request().method != "POST") {
    return exchange->Respond(MethodNotAllowed("POST"));
  }
  if (stopping_) return exchange->Respond(ErrorAnswer(503, kStopping));
  if (running_ != nullptr) return exchange->Respond(ErrorAnswer(409, kBusy));
  if (unsent_->full()) return exchange->Respond(UnsentAnswers::Refusal());
  if (exchange->request().content_length.value_or(0) > kMaxExecuteBodyBytes)
    return exchange->Respond(ErrorAnswer(413, kTooLarge));
  auto upload = std::make_shared<Upload>(held_);
  upload->exchange = std::move(exchange);
  ReadOn(upload);
}

void ExecuteHandler::ReadOn(const std::shared_ptr<Upload>& upload) {
  upload->exchange->ReadBody([this, upload](const absl::StatusOr<std::string>& piece) {
    http::Exchange& exchange = *upload->exchange;
    if (!piece.ok()) return exchange.Abort();
    if (piece->empty()) return Run(upload->exchange, upload->body);
    if (upload->body.size() + piece->size() > kMaxExecuteBodyBytes)
      return exchange.Respond(ErrorAnswer(413, kTooLarge));
    if (held_ + piece->size() > kMaxHeld) {
      return exchange.Respond(ErrorAnswer(503, "too many large requests at once: try again"));
    }
    upload->body += *piece;
    held_ += piece->size();
    ReadOn(upload);
  });
}

void ExecuteHandler::Run(const std::shared_ptr<http::Exchange>& exchange, const std::string& body) {
  absl::StatusOr<ExecuteRequest> request = ParseExecuteRequest(body);
  if (!request.ok()) return exchange->Respond(ErrorAnswer(400, MessageOf(request.status())));
  if (stopping_) return exchange->Respond(ErrorAnswer(503, kStopping));
  if (running_ != nullptr) return exchange->Respond(ErrorAnswer(409, kBusy));
  Execution::Options options;
  options.shell = configuration_.shell;
  options.workspace = configuration_.workspace;
  options.command = std::move(request->command);
  options.timeout = request->timeout;
  absl::StatusOr<std::shared_ptr<Execution>> started =
      Execution::Start(services_, std::move(options), [this](const ExecutionResult& result) { Finish(result); });
  if (!started.ok()) {
    return exchange->Respond(ErrorAnswer(StatusOfFailedStart(started.status()), MessageOf(started.status())));
  }
  running_ = *std::move(started);
  waiting_ = exchange;
  std::weak_ptr<Execution> weak = running_;
  exchange->OnClientGone([weak] {
    if (auto execution = weak.lock()) execution->Cancel();
  });
}

void ExecuteHandler::Finish(const ExecutionResult& result) {
  const std::shared_ptr<Execution> ended = std::move(running_);  // it is still on the stack
  const std::shared_ptr<http::Exchange> exchange = std::move(waiting_);
  running_ = nullptr;
  if (!result.problem.ok() && log_) log_(base::LogLevel::kError, MessageOf(result.problem));
  if (stopping_) {
    exchange->Respond(ErrorAnswer(503, kStopping));
    if (over_) over_();
    return;
  }
  if (!result.exit_known) return exchange->Respond(ErrorAnswer(500, MessageOf(result.problem)));
  http::Answer answer;
  answer.headers = {{"Content-Type", "application/json"}};
  answer.body = ToJson(result);
  unsent_->Send(exchange, std::move(answer));
}

void ExecuteHandler::Stop(std::function<void()> over) {
  stopping_ = true;
  if (running_ == nullptr) return over();
  over_ = std::move(over);
  running_->Cancel();
}

}  // namespace osbx::contract
