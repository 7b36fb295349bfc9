// Measures the program `sandbox`: commands, files, start, size and memory. Started by scripts/bench.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "bench/child_program.h"
#include "bench/contract_parts.h"
#include "bench/kept_connection.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/sample.h"

namespace osbx::bench {

SandboxProgram::SandboxProgram(const Setting& setting, const std::string& name) {
  const std::string workspace = setting.directory + "/" + name;
  mkdir(workspace.c_str(), 0755);
  program_ = std::make_unique<ChildProgram>(
      std::vector<std::string>{setting.sandbox},
      std::vector<std::string>{"PATH=/usr/bin:/bin", "SANDBOX_PORT=0", "SANDBOX_WORKSPACE=" + workspace,
                               std::string("SANDBOX_SHELL=") + kShell});
  port_ = program_->ReadPort();
  start_time_ = NowMicroseconds() - program_->exec_time();
}

namespace {

constexpr double kSpawnGoal = 0.85;
constexpr double kMib = 1 << 20;
constexpr double kSizeGoalMib = 3;

void MeasureExecute(const Setting& setting, Report& report) {
  const SandboxProgram sandbox(setting, "sandbox-execute");
  KeptConnection connection(sandbox.port());
  const auto execute = [&connection] {
    const double time =
        Microseconds([&connection] { connection.Request("POST", "/execute", 2, R"({"command":"true"})"); });
    if (connection.body_begin().find("\"exitCode\":0") == std::string::npos) Fail("true failed");
    return time;
  };
  Pair pair = Interleave(50, 1500, execute, [] { return Microseconds([] { RunPlainly(kShell, "true"); }); });
  const bool met = pair.Speed() >= kSpawnGoal;
  report.AddPair("/execute of true", "posix_spawn", std::move(pair), Goal{">= 85 %", met});
}

void MeasureSize(const Setting& setting, Report& report) {
  struct stat info {};
  if (stat(setting.sandbox.c_str(), &info) != 0) FailWithErrno(setting.sandbox);
  const double mib = static_cast<double>(info.st_size) / kMib;
  report.AddValue("size of the program", mib, "MiB", Goal{"<= 3 MiB", mib <= kSizeGoalMib});
}

// A thousand connections and their like.
void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 4096));
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Main(int argc, char** argv) {
  Setting setting;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      json = true;
      continue;
    }
    std::string* const value = name == "--sandbox"       ? &setting.sandbox
                               : name == "--listen-only" ? &setting.listen_only
                               : name == "--nginx"       ? &setting.nginx
                               : name == "--directory"   ? &setting.directory
                                                         : nullptr;
    if (value == nullptr || ++i == argc) Fail("bad argument " + name);
    *value = argv[i];
  }
  for (const std::string* value : {&setting.sandbox, &setting.listen_only, &setting.nginx, &setting.directory}) {
    if (value->empty()) Fail("wants --sandbox, --listen-only, --nginx and --directory; see scripts/bench");
  }
  RaiseDescriptorLimit();

  Report report;
  AddMachine(report);
  report.AddFact("ours", FirstLine(setting.sandbox + " --version"));
  report.AddFact("nginx", FirstLine(setting.nginx + " -v"));
  report.AddFact("shell", FirstLine(std::string("readlink -f ") + kShell));
  MeasureExecute(setting, report);
  MeasureFiles(setting, report);
  MeasureStart(setting, report);
  MeasureSize(setting, report);
  MeasureMemory(setting, report);
  std::fputs((json ? report.Json() : report.Table()).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace osbx::bench

int main(int argc, char** argv) { return osbx::bench::Main(argc, argv); }
