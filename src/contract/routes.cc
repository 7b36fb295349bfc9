#include "contract/routes.h"

#include <string>
#include <string_view>
#include <utility>

#include "contract/error_answer.h"

namespace osbx::contract {
namespace {

void HandleHealth(http::Exchange& exchange) {
  const std::string& method = exchange.request().method;
  if (method != "GET" && method != "HEAD") {
    return exchange.Respond(MethodNotAllowed("GET, HEAD"));
  }
  http::Answer answer;
  answer.headers = {{"Content-Type", "application/json"}};
  answer.body = R"({"status":"ok"})";
  exchange.Respond(std::move(answer));
}

}  // namespace

void Routes::Handle(std::shared_ptr<http::Exchange> exchange) {
  const std::string_view target = exchange->request().target;
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/execute") return execute_.Handle(std::move(exchange));
  if (path == "/healthz") return HandleHealth(*exchange);
  if (path == "/files" || path.substr(0, 7) == "/files/") return HandleFiles(files_, std::move(exchange));
  exchange->Respond(ErrorAnswer(404, "no such route: there are /execute, /files/{path} and /healthz"));
}

}  // namespace osbx::contract
