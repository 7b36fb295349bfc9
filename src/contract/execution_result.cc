#include "contract/execution_result.h"

#include "base/json_text.h"

namespace osbx::contract {

std::string ToJson(const ExecutionResult& result) {
  std::string json = "{\"exitCode\":" + std::to_string(result.exit_code) + ",\"stdout\":";
  base::AppendJsonString(&json, result.stdout_text);
  json += ",\"stderr\":";
  base::AppendJsonString(&json, result.stderr_text);
  json += ",\"durationMillis\":" + std::to_string(result.duration.count());
  json += result.truncated ? ",\"truncated\":true}" : ",\"truncated\":false}";
  return json;
}

}  // namespace osbx::contract
