// The engine's API by hand, for what is done behind the library's back, and disposable engines that may be killed.
#ifndef OSBX_TESTS_FAULT_ENGINE_API_H_
#define OSBX_TESTS_FAULT_ENGINE_API_H_

#include <sys/types.h>

#include <string>

namespace osbx::testing {

struct ApiAnswer {
  int status = 0;  // 0: no answer
  std::string body;
};

// One request over a unix socket; nothing of the library is used.
ApiAnswer CallEngine(const std::string& socket, const std::string& method, const std::string& target,
                     const std::string& json = "");

// The number of containers whose name has `part` in it, helper containers included.
int CountContainers(const std::string& socket, const std::string& part);

// `scripts/engine up NAME OPTIONS`, and `down NAME --purge` in the end. Ends the test when it does not come up.
class DisposableEngine {
 public:
  explicit DisposableEngine(const std::string& name, const std::string& options = "");
  ~DisposableEngine();
  const std::string& socket() const { return socket_; }
  std::string host() const { return "unix://" + socket_; }
  // As `scripts/engine env` says: where a client with certificates connects.
  std::string tls_host() const;
  std::string cert_path() const;
  pid_t daemon_pid() const;
  void KillDaemon() const;

 private:
  const std::string name_;
  std::string socket_;
};

// The first line of what a shell command prints.
std::string FirstLineOf(const std::string& command);

}  // namespace osbx::testing

#endif  // OSBX_TESTS_FAULT_ENGINE_API_H_
