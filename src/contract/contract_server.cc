#include "contract/contract_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/await.h"
#include "base/child_waiter.h"
#include "base/event_loop.h"
#include "base/spawn.h"
#include "base/worker_pool.h"
#include "contract/error_answer.h"
#include "contract/execute_handler.h"
#include "contract/files_handler.h"
#include "contract/leftover_pipes.h"
#include "contract/routes.h"
#include "contract/unsent_answers.h"
#include "http/server.h"

namespace osbx::contract {
namespace {

using base::Code;
using base::Error;

constexpr int kWorkers = 2;                             // for system calls on files, which no loop can wait for
constexpr std::chrono::milliseconds kKillTime(7000);    // for a command's tree
constexpr std::chrono::milliseconds kAnswerTime(1500);  // for the answer that tells of it: its connection lingers
constexpr const char* kPathRule = "an absolute path without a NUL of at most 4095 bytes";

absl::Status CheckPath(const char* what, const std::string& path) {
  if (!path.empty() && path.front() == '/' && path.size() <= 4095 && path.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return Error(Code::kInvalid, std::string(what) + " must be " + kPathRule);
}

// Half of the descriptors are kept for files, commands and the scan that finds a command's processes.
http::ServerOptions Options() {
  http::ServerOptions options;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const rlim_t half = std::max<rlim_t>(limit.rlim_cur / 2, 1);
    options.max_connections = static_cast<size_t>(std::min<rlim_t>(options.max_connections, half));
  }
  return options;
}

absl::Status Check(const Configuration& configuration) {
  OSBX_RETURN_IF_ERROR(CheckPath("the workspace", configuration.workspace));
  OSBX_RETURN_IF_ERROR(CheckPath("the shell", configuration.shell));
  if (::access(configuration.shell.c_str(), X_OK) != 0) {
    return Error(Code::kNotFound, "the shell " + configuration.shell + " is missing or cannot be executed");
  }
  return absl::OkStatus();
}

}  // namespace

// Members are destroyed from the last to the first: the HTTP server before what its handlers use, the loop last.
struct ContractServer::Impl {
  explicit Impl(Configuration given) : configuration(std::move(given)) {}

  const Configuration configuration;
  std::shared_ptr<base::EventLoop> loop = base::EventLoop::Create();
  std::shared_ptr<base::WorkerPool> workers = std::make_shared<base::WorkerPool>(kWorkers);
  std::optional<ExecuteHandler> execute;
  std::optional<Routes> routes;
  std::unique_ptr<http::Server> http;
  std::string address;

  const std::shared_ptr<base::CancelToken> hurry = std::make_shared<base::CancelToken>();
  base::Mutex mutex;
  base::CondVar changed;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  bool drained ABSL_GUARDED_BY(mutex) = false;
  bool seat_free ABSL_GUARDED_BY(mutex) = false;

  absl::Status Prepare(Workspace workspace, ProcessOwner owner, base::LogFunction log) {
    // A command that has used up every process must find a thread that can kill it.
    OSBX_RETURN_IF_ERROR(workers->Run([] {}));
    ExecutionServices services;
    services.loop = loop;
    services.pool = workers;
    services.leftovers = std::make_shared<LeftoverPipes>(loop);
    services.environment = base::CurrentEnvironment();
    services.waiter = base::NewChildWaiter(loop);
    if (owner == ProcessOwner::kServer) {
      OSBX_ASSIGN_OR_RETURN(services.waiter, base::NewReapingChildWaiter(loop));
      services.not_default = base::SignalsNotDefault();
    }
    const auto unsent = std::make_shared<UnsentAnswers>();
    execute.emplace(std::move(services), configuration, unsent, std::move(log));
    const Workers for_files = {loop.get(), workers.get()};
    routes.emplace(*execute, std::make_shared<FilesContext>(std::move(workspace), for_files, unsent));
    return absl::OkStatus();
  }

  absl::Status AwaitDrained(const base::Context& context) {
    return base::Await(mutex, changed, context, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return drained; });
  }

  // Kills the running command, and lets its client read the answer. A slow upload or download gets no more time for it.
  void EndCommand() {
    bool ran = false;
    const absl::Status asked = loop->RunAndWait([&] {
      ran = execute->running();
      execute->Stop([this] {
        base::MutexLock lock(mutex);
        seat_free = true;
        changed.NotifyAll();
      });
    });
    if (!asked.ok() || !ran) return;
    (void)base::Await(mutex, changed, base::Context().WithTimeout(kKillTime),
                      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return seat_free || drained; });
    (void)AwaitDrained(base::Context().WithTimeout(kAnswerTime));
  }
};

absl::StatusOr<std::unique_ptr<ContractServer>> ContractServer::Start(const Configuration& configuration,
                                                                      ProcessOwner owner, base::LogFunction log) {
  OSBX_RETURN_IF_ERROR(Check(configuration));
  auto impl = std::make_unique<Impl>(configuration);
  Impl& made = *impl;
  OSBX_ASSIGN_OR_RETURN(Workspace workspace, Workspace::Open(configuration.workspace));
  // Handlers belong to the loop's thread, from their making on.
  absl::Status prepared;
  OSBX_RETURN_IF_ERROR(
      made.loop->RunAndWait([&] { prepared = made.Prepare(std::move(workspace), owner, std::move(log)); }));
  OSBX_RETURN_IF_ERROR(prepared);
  OSBX_ASSIGN_OR_RETURN(
      made.http, http::Server::Listen(
                     made.loop, configuration.host, configuration.port, Options(),
                     [&made](std::shared_ptr<http::Exchange> exchange) { made.routes->Handle(std::move(exchange)); },
                     [](int status, const std::string& what) { return ErrorAnswer(status, what); }));
  made.address = made.http->address();
  return std::unique_ptr<ContractServer>(new ContractServer(std::move(impl)));
}

ContractServer::ContractServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ContractServer::~ContractServer() { Stop(std::chrono::milliseconds(0)); }

const std::string& ContractServer::address() const { return impl_->address; }

void ContractServer::Stop(std::chrono::milliseconds grace) {
  Impl& impl = *impl_;
  {
    base::MutexLock lock(impl.mutex);
    if (std::exchange(impl.stopped, true)) return;
  }
  impl.http->Drain([&impl] {
    base::MutexLock lock(impl.mutex);
    impl.drained = true;
    impl.changed.NotifyAll();
  });
  if (!impl.AwaitDrained(base::Context(impl.hurry).WithTimeout(grace)).ok()) {
    impl.EndCommand();
  }
  impl.http.reset();
  // What is left belongs to the loop's thread as well.
  (void)impl.loop->RunAndWait([&impl] {
    impl.routes.reset();
    impl.execute.reset();
  });
}

void ContractServer::Hurry() { impl_->hurry->Fire(); }

}  // namespace osbx::contract
