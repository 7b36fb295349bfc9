// A case of the contract: a test that says which sentences of docs/contract.md it checks.
//
//   CONTRACT(Execute, TheShellsCode, "`exitCode` is the shell's.") {
//     EXPECT_EQ(Shell("exit 3").exit_code, 3);
//   }
//
// At its end the program lists every sentence with what became of it.
#ifndef OSBX_TESTS_CONFORMANCE_CONTRACT_CASE_H_
#define OSBX_TESTS_CONFORMANCE_CONTRACT_CASE_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "flat_json.h"
#include "http_client.h"
#include "server_under_test.h"

namespace osbx::conformance {

// What not every way of running offers; the table of reasons is in contract_case.cc.
enum class Need {
  kOwnServer,     // starts servers of its own
  kProgram,       // the program, not the C API
  kProcess,       // sees the server's /proc/PID
  kSmallDisk,     // a workspace that can be filled
  kUnprivileged,  // a server that is not root
  kAnotherUid,    // may become another user
  kDevices,       // may make device files
  kDescriptors,   // thousands of descriptors
  kPid1,          // a server that is PID 1
  kPidNamespace,  // may start a server as PID 1
  kLarge,         // several GiB of space and minutes of time
  kSoak,          // minutes of time
  kTimed,         // a release build on a quiet machine
};

// Why there is no such thing here; null: there is.
const char* Missing(Need need);

// A directory of its own in the workspace of a server that all cases share.
class Case : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static const Address& server() { return SharedServer().address(); }
  // /files path of `name` in the case's directory, and where that is on the disk.
  std::string Url(const std::string& name) const { return "/files/" + place_ + "/" + name; }
  std::string Disk(const std::string& name) const { return SharedServer().workspace() + "/" + place_ + "/" + name; }
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};

// What /execute answered.
struct Ran {
  Response response;
  bool complete = false;  // 200, and the five fields and their types are right
  int64_t exit_code = -1;
  std::string out;
  std::string err;
  bool truncated = false;
};
std::ostream& operator<<(std::ostream& out, const Ran& ran);

// A request to /execute; `more` are further members of the body, `, "timeoutSeconds": 1`.
std::string ExecuteBody(const std::string& command, const std::string& more = "");
std::string ExecuteMessage(const std::string& command, const std::string& more = "");
Ran ParseRan(const Response& response);
Ran ShellOn(const Address& server, const std::string& command, const std::string& more = "");
// On the shared server.
Ran Shell(const std::string& command, const std::string& more = "");

// An answer with that status whose body is {"error": "..."}.
testing::AssertionResult Refused(const Response& response, int status);
// Names in a listing, in its order; a null is listed as "?".
std::string Names(const Response& listing);

std::string ReadDisk(const std::string& path);
void WriteDisk(const std::string& path, const std::string& content);

// Remembers the sentences of a case.
bool Quote(const char* suite, const char* name, std::initializer_list<const char*> sentences);
void NotHere(const char* reason);
// Prints the list at the end of the run. True: every skipped case gave a reason of the table.
void ListSentences();
bool EverySkipHasAReason();

}  // namespace osbx::conformance

#define CONTRACT(suite, name, ...)                                                                    \
  static const bool quoted_##suite##_##name = osbx::conformance::Quote(#suite, #name, {__VA_ARGS__}); \
  TEST_F(suite, name)

#define NEEDS(need)                                                                                        \
  if (const char* reason = osbx::conformance::Missing(osbx::conformance::Need::need); reason != nullptr) { \
    osbx::conformance::NotHere(reason);                                                                    \
    GTEST_SKIP() << reason;                                                                                \
  }                                                                                                        \
  static_assert(true)

#endif  // OSBX_TESTS_CONFORMANCE_CONTRACT_CASE_H_
