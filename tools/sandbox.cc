// The program that runs inside a sandbox: the contract server, alone or as process 1.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "contract/contract_server.h"

namespace {

using osbx::contract::Configuration;
using osbx::contract::ContractServer;

constexpr int kFailed = 1;
constexpr int kBadUse = 2;
constexpr std::chrono::milliseconds kGrace(5000);

const char kHelp[] =
    "usage: sandbox [--help | --version]\n"
    "\n"
    "Serves POST /execute, /files/{path} and GET /healthz over HTTP: a shell and the files of the\n"
    "workspace, for whoever can reach the port. Ends on SIGTERM or SIGINT, answering what is under\n"
    "way for up to five seconds; at once on a second one. Good as process 1.\n"
    "\n"
    "Environment:\n"
    "  SANDBOX_WORKSPACE  directory of commands and files (default /workspace)\n"
    "  SANDBOX_PORT       port on all interfaces, 0 for any free one (default 3000)\n"
    "  SANDBOX_SHELL      shell that runs commands (default /bin/sh)\n";

int Complain(int exit_code, const std::string& what) {
  std::fprintf(stderr, "sandbox: %s\n", what.c_str());
  return exit_code;
}

// A variable that is set, also to nothing, is meant.
void Take(const char* name, std::string& value) {
  if (const char* given = std::getenv(name)) value = given;
}

std::optional<std::string> ReadConfiguration(Configuration& configuration) {
  Take("SANDBOX_WORKSPACE", configuration.workspace);
  Take("SANDBOX_SHELL", configuration.shell);
  std::string port = "3000";
  Take("SANDBOX_PORT", port);
  const std::optional<int64_t> number = osbx::base::ParseDecimal(port, 0, 65535);
  if (!number.has_value()) return "SANDBOX_PORT must be a number from 0 to 65535";
  configuration.port = static_cast<uint16_t>(*number);
  for (const auto& [name, value] :
       {std::pair("SANDBOX_WORKSPACE", &configuration.workspace), std::pair("SANDBOX_SHELL", &configuration.shell)}) {
    if (value->empty() || value->front() != '/') return std::string(name) + " must be an absolute path";
  }
  return std::nullopt;
}

void Nothing(int) {}

// The signals that are waited for. Blocked before any thread starts, and with a handler that is never run: without one
// process 1 would not get them.
sigset_t BlockSignals() {
  sigset_t waited;
  ::sigemptyset(&waited);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) {
    ::sigaddset(&waited, signal);
    struct sigaction action = {};
    action.sa_handler = Nothing;
    ::sigaction(signal, &action, nullptr);
  }
  ::sigprocmask(SIG_BLOCK, &waited, nullptr);
  ::sigdelset(&waited, SIGCHLD);  // the server's
  // A client that goes away is told by the write's own error.
  ::signal(SIGPIPE, SIG_IGN);
  return waited;
}

void Log(osbx::base::LogLevel level, std::string_view message) {
  if (level <= osbx::base::LogLevel::kWarning) {
    std::fprintf(stderr, "sandbox: %.*s\n", static_cast<int>(message.size()), message.data());
  }
}

int Serve(const Configuration& configuration) {
  const sigset_t waited = BlockSignals();
  // Whoever is orphaned below us comes to us to be reaped. gVisor before 2023 does not know this: only process 1 gets
  // orphans there.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  auto server = ContractServer::Start(configuration, osbx::contract::ProcessOwner::kServer, Log);
  if (!server.ok()) return Complain(kFailed, std::string(server.status().message()));
  std::printf("listening on %s\n", (*server)->address().c_str());
  std::fflush(stdout);

  int signal = 0;
  while (::sigwait(&waited, &signal) != 0 || signal == SIGUSR1) {
  }
  std::thread second([&] {
    int again = 0;
    while (::sigwait(&waited, &again) != 0) {
    }
    if (again != SIGUSR1) (*server)->Hurry();
  });
  (*server)->Stop(kGrace);
  ::kill(::getpid(), SIGUSR1);  // nobody waits for a second one any more
  second.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) return std::fputs(kHelp, stdout) < 0 ? kFailed : 0;
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::printf("sandbox %s\n", OSBX_VERSION) < 0;
  if (argc != 1) return Complain(kBadUse, "takes no arguments but --help and --version; configured by SANDBOX_*");
  Configuration configuration;
  if (const auto problem = ReadConfiguration(configuration)) return Complain(kBadUse, *problem);
  return Serve(configuration);
}
