// Servers that the cases talk to: one that runs already (CONFORMANCE_ADDRESS), and those that the suite starts itself
// from CONFORMANCE_PROGRAM.
#ifndef OSBX_TESTS_CONFORMANCE_SERVER_UNDER_TEST_H_
#define OSBX_TESTS_CONFORMANCE_SERVER_UNDER_TEST_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "http_client.h"

namespace osbx::conformance {

// CONFORMANCE_PROGRAM; null when it is not set.
const char* Program();
// CONFORMANCE_FORM=library: the program is a small host of the C API.
bool IsLibrary();

// This program's own file, as a word of the shell: the cases' commands are modes of it (case_helper.cc), since an image
// may have no more than a shell.
std::string Helper(const std::string& arguments);

struct StartOptions {
  std::map<std::string, std::string>
      variables;  // SANDBOX_PORT is 0 and the workspace a new directory unless named here
  std::vector<std::string> arguments;
  uid_t uid = 0;           // another user, without HOME, where the suite is root
  int disk_mebibytes = 0;  // a workspace of that size, or CONFORMANCE_SMALL_DISK
  bool pid_1 = false;
  unsigned descriptors = 0;  // at most so many; 0: as this process
};

// A server of its own, as a child. It starts with some signals ignored or blocked and a descriptor open, so that what a
// command inherits shows.
class OwnServer {
 public:
  explicit OwnServer(const StartOptions& options = {});
  // Kills it and removes the workspace that it made.
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  // It has printed its address.
  bool listening() const { return address_.port != 0; }
  const Address& address() const { return address_; }
  const std::string& workspace() const { return workspace_; }
  pid_t pid() const { return pid_; }
  const std::string& first_line() const { return first_line_; }

  void Signal(int signal) const;
  // Waits for its end: the exit code, 128 + n for a signal, nothing when it goes on.
  std::optional<int> Wait();
  bool Ended();  // without waiting
  // All that it printed, once it has ended.
  std::string Stdout();
  std::string Stderr() const;

 private:
  bool Collect(int options);
  void ReadFirstLine();

  Address address_;
  std::string workspace_;
  bool made_workspace_ = false;
  std::string directory_;  // for what it prints
  std::string first_line_;
  std::string out_;
  pid_t pid_ = -1;
  pid_t child_ = -1;  // the same, or the one that waits for it in its namespace
  int output_ = -1;
  std::optional<int> end_;
};

class ServerUnderTest {
 public:
  ServerUnderTest(Address address, std::string workspace, pid_t pid)
      : address_(std::move(address)), workspace_(std::move(workspace)), pid_(pid) {}
  const Address& address() const { return address_; }
  const std::string& workspace() const { return workspace_; }
  pid_t pid() const { return pid_; }  // 0: unknown

 private:
  Address address_;
  std::string workspace_;
  pid_t pid_;
};

// The server that all cases share. ConnectShared says what is wrong with the environment.
std::optional<std::string> ConnectShared();
void StopShared();
const ServerUnderTest& SharedServer();

// Whether this process may make namespaces of its own: to mount in, to be PID 1 in.
bool CanMount();
bool CanBePid1();

}  // namespace osbx::conformance

#endif  // OSBX_TESTS_CONFORMANCE_SERVER_UNDER_TEST_H_
