// What the server holds: at rest, with idle connections, and after many requests.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/contract_parts.h"
#include "bench/kept_connection.h"

namespace osbx::bench {
namespace {

constexpr size_t kConnections = 1000;
constexpr int kFirst = 1000;
constexpr int kAll = 10000;
// A few pages are chance; some bytes of each request that are never given back are not.
constexpr double kChanceKib = 64;

void SendRequests(KeptConnection& connection, int count) {
  const std::string body(1024, 'x');
  for (int i = 0; i < count; ++i) {
    switch (i % 4) {
      case 0:
        connection.Request("PUT", "/files/file", 2, body);
        break;
      case 1:
        connection.Request("GET", "/files/file", 2);
        break;
      case 2:
        connection.Request("GET", "/healthz", 2);
        break;
      default:
        connection.Request("POST", "/execute", 4, "{}");
        break;
    }
  }
}

// Opens connections, calls `meanwhile`, and returns when the server has seen them go.
void ConnectAndClose(const SandboxProgram& sandbox, const std::function<void()>& meanwhile) {
  const size_t before = sandbox.program().Descriptors();
  std::vector<std::unique_ptr<KeptConnection>> connections;
  for (size_t i = 0; i < kConnections; ++i) {
    // Idle as a client's pool leaves them: each has had its request.
    connections.push_back(std::make_unique<KeptConnection>(sandbox.port()));
    connections.back()->Request("GET", "/healthz", 2);
  }
  meanwhile();
  connections.clear();
  Await("the server closes its connections", [&] { return sandbox.program().Descriptors() == before; });
}

}  // namespace

void MeasureMemory(const Setting& setting, Report& report) {
  const SandboxProgram sandbox(setting, "sandbox-memory");
  const ChildProgram& program = sandbox.program();
  const auto add = [&](const std::string& when, std::optional<Goal> goal = std::nullopt) {
    report.AddValue("resident, " + when, program.StatusKib("VmRSS"), "KiB", std::move(goal));
  };
  add("after start");
  ConnectAndClose(sandbox, [&] { add("with 1,000 idle connections"); });
  add("after they closed");
  const double once = program.StatusKib("VmRSS");
  ConnectAndClose(sandbox, [] {});
  add("after 1,000 more came and went", Goal{"flat", program.StatusKib("VmRSS") <= once + kChanceKib});

  KeptConnection connection(sandbox.port());
  SendRequests(connection, kFirst);
  add("after 1,000 requests");
  const double first = program.StatusKib("VmRSS");
  SendRequests(connection, kAll - kFirst);
  add("after 10,000 requests", Goal{"flat", program.StatusKib("VmRSS") <= first + kChanceKib});
}

}  // namespace osbx::bench
