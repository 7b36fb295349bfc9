#include "contract/unsent_answers.h"

#include <utility>

#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

constexpr size_t kSmallBytes = size_t{64} << 10;  // the connection's own bound covers these

}  // namespace

http::Answer UnsentAnswers::Refusal() {
  return ErrorAnswer(503, "too many large answers wait for their clients to read them: try again");
}

void UnsentAnswers::Send(const std::shared_ptr<http::Exchange>& exchange, http::Answer answer) {
  const size_t size = answer.body.size();
  if (size <= kSmallBytes || exchange->request().method == "HEAD") return exchange->Respond(std::move(answer));
  *bytes_ += size;
  exchange->BeginAnswer(answer.status, std::move(answer.headers), size);
  exchange->WriteBody(std::move(answer.body), [exchange, size, bytes = bytes_](bool) { *bytes -= size; });
}

}  // namespace osbx::contract
