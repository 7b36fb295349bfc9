// The contract server whole: an event loop, the HTTP server on it, and what its routes need.
#ifndef OSBX_CONTRACT_CONTRACT_SERVER_H_
#define OSBX_CONTRACT_CONTRACT_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "contract/configuration.h"

namespace osbx::contract {

// Whose process the server runs in.
enum class ProcessOwner {
  kHost,    // somebody else's: SIGCHLD, the subreaper flag and waitpid(-1) are left alone
  kServer,  // its own: it reaps every orphan. SIGCHLD is blocked in every thread, and dispositions stay as they are
};

class ContractServer {
 public:
  // Checks the configuration, opens the workspace and listens: kInvalid, kNotFound, kPermission, kConflict (the port is
  // taken). `log` may be called on any thread.
  static absl::StatusOr<std::unique_ptr<ContractServer>> Start(const Configuration& configuration, ProcessOwner owner,
                                                               base::LogFunction log);

  // Stop() without a grace.
  ~ContractServer();
  ContractServer(const ContractServer&) = delete;
  ContractServer& operator=(const ContractServer&) = delete;

  // Where it listens: "127.0.0.1:3000", "[::]:3000".
  const std::string& address() const;

  // Takes no new request and lets those under way end for `grace`; then the running command is killed with its tree and
  // answered with 503. Returns when nothing of it runs any more. Not on a thread of the server's. Idempotent.
  void Stop(std::chrono::milliseconds grace);
  // Ends the grace of a Stop() on another thread now. Any thread.
  void Hurry();

 private:
  struct Impl;
  explicit ContractServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_CONTRACT_SERVER_H_
