#include "contract_case.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "observation.h"

namespace osbx::conformance {
namespace {

struct Quoting {
  std::string test;  // Suite.Name
  std::string sentence;
};

std::vector<Quoting>& Quotings() {
  static std::vector<Quoting> quotings;
  return quotings;
}

std::map<std::string, std::string>& ReasonsOfTests() {
  static std::map<std::string, std::string> reasons;
  return reasons;
}

bool Set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

bool CanMakeDevices() {
  const std::string path = SharedServer().workspace() + "/.conformance-device";
  const bool made = mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  unlink(path.c_str());
  return made;
}

bool HasDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 4096;
}

// The table: what a case may need, whether it is here, and why not.
const char* Reason(Need need) {
  const bool own = Program() != nullptr;
  const auto unless = [](bool here, const char* reason) { return here ? nullptr : reason; };
  switch (need) {
    case Need::kOwnServer:
      return unless(own, "only a running server is given (CONFORMANCE_PROGRAM is not set)");
    case Need::kProgram:
      return unless(own && !IsLibrary(), "it is the program's alone, or the program is not given");
    case Need::kProcess:
      return unless(SharedServer().pid() > 0, "the server's pid is not known (CONFORMANCE_PID)");
    case Need::kSmallDisk:
      return unless(own && (CanMount() || std::getenv("CONFORMANCE_SMALL_DISK") != nullptr),
                    "no small file system: neither CONFORMANCE_SMALL_DISK nor the right to mount one");
    case Need::kUnprivileged:
      return unless(geteuid() != 0 || own, "the server is root, and no other can be started");
    case Need::kAnotherUid:
      return unless(own && geteuid() == 0, "only root can start a server as another user");
    case Need::kDevices:
      return unless(CanMakeDevices(), "device files cannot be made here");
    case Need::kDescriptors:
      return unless(HasDescriptors(), "the limit of descriptors is below 4096");
    case Need::kPid1:
      return unless(SharedServer().pid() == 1, "the server is not PID 1");
    case Need::kPidNamespace:
      return unless(own && CanBePid1(), "no new PID namespace can be made here");
    case Need::kLarge:
      return unless(Set("CONFORMANCE_LARGE"), "several GiB (CONFORMANCE_LARGE=1)");
    case Need::kSoak:
      return unless(Set("CONFORMANCE_SOAK"), "takes minutes (CONFORMANCE_SOAK=1)");
    case Need::kTimed:
      return unless(Set("CONFORMANCE_TIMED"), "measures time (CONFORMANCE_TIMED=1)");
  }
  return "unknown need";
}

}  // namespace

const char* Missing(Need need) {
  static std::map<Need, const char*> known;
  const auto [found, is_new] = known.emplace(need, nullptr);
  if (is_new) found->second = Reason(need);
  return found->second;
}

void Case::SetUp() {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  place_ = std::string("conformance-") + info->test_suite_name() + "-" + info->name();
  std::filesystem::remove_all(Disk(""));
  std::error_code error;
  std::filesystem::create_directories(Disk(""), error);
  ASSERT_FALSE(error) << Disk("") << ": " << error.message();
}

void Case::TearDown() {
  std::error_code error;
  std::filesystem::remove_all(SharedServer().workspace() + "/" + place_, error);
  // No case may hand a busy seat to the next one.
  EXPECT_TRUE(Eventually([] { return Shell(":").response.status != 409; })) << "the seat is still taken";
}

std::string ExecuteBody(const std::string& command, const std::string& more) {
  return "{\"command\": " + Quoted(command) + more + "}";
}

std::string ExecuteMessage(const std::string& command, const std::string& more) {
  return Message("POST", "/execute", ExecuteBody(command, more));
}

Ran ParseRan(const Response& response) {
  Ran ran;
  ran.response = response;
  const std::optional<Json> json = ParseJson(response.body);
  if (response.status != 200 || !json) return ran;
  const Json& answer = *json;
  using Kind = Json::Kind;
  ran.complete = answer.is(Kind::kObject) && answer.members.size() == 5 && answer["exitCode"].is(Kind::kInteger) &&
                 answer["stdout"].is(Kind::kString) && answer["stderr"].is(Kind::kString) &&
                 answer["durationMillis"].is(Kind::kInteger) && answer["durationMillis"].number >= 0 &&
                 answer["truncated"].is(Kind::kBool) && response.Field("Content-Type") == "application/json";
  if (!ran.complete) return ran;
  ran.exit_code = answer["exitCode"].number;
  ran.out = answer["stdout"].text;
  ran.err = answer["stderr"].text;
  ran.truncated = answer["truncated"].truth;
  return ran;
}

Ran ShellOn(const Address& server, const std::string& command, const std::string& more) {
  return ParseRan(Call(server, "POST", "/execute", ExecuteBody(command, more)));
}

Ran Shell(const std::string& command, const std::string& more) {
  return ShellOn(SharedServer().address(), command, more);
}

std::ostream& operator<<(std::ostream& out, const Ran& ran) { return out << ran.response; }

testing::AssertionResult Refused(const Response& response, int status) {
  if (response.status != status) return testing::AssertionFailure() << "not " << status << ": " << response;
  const std::optional<Json> json = ParseJson(response.body);
  if (!json || json->members.size() != 1 || (*json)["error"].text.empty() ||
      response.Field("Content-Type") != "application/json") {
    return testing::AssertionFailure() << "not a JSON error: " << response;
  }
  return testing::AssertionSuccess();
}

std::string Names(const Response& listing) {
  const std::optional<Json> json = ParseJson(listing.body);
  if (listing.status != 200 || !json || !(*json)["entries"].is(Json::Kind::kArray)) return "no listing";
  std::string names;
  for (const Json& entry : (*json)["entries"].items) {
    if (!names.empty()) names += ' ';
    names += entry["name"].is(Json::Kind::kString) ? entry["name"].text : "?";
  }
  return names;
}

std::string ReadDisk(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "(no such file)";
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteDisk(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  ASSERT_TRUE(file.flush().good()) << path;
}

bool Quote(const char* suite, const char* name, std::initializer_list<const char*> sentences) {
  for (const char* sentence : sentences) Quotings().push_back({std::string(suite) + "." + name, sentence});
  return true;
}

void NotHere(const char* reason) {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  ReasonsOfTests()[std::string(info->test_suite_name()) + "." + info->name()] = reason;
}

namespace {

// Of a sentence, by all cases that quote it.
struct Verdict {
  int cases = 0;
  int skipped = 0;
  std::string failed;  // a case that failed
  std::string reason;  // of a case that could not be run

  std::string Text() const {
    if (!failed.empty()) return "FAILED (" + failed + ")";
    if (skipped == 0) return "ok";
    return (skipped == cases ? "not in this mode (" : "ok, but for a case that is not in this mode (") + reason + ")";
  }
};

std::map<std::string, const testing::TestInfo*> TestsByName() {
  std::map<std::string, const testing::TestInfo*> tests;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      tests[std::string(suite.name()) + "." + suite.GetTestInfo(j)->name()] = suite.GetTestInfo(j);
    }
  }
  return tests;
}

}  // namespace

bool EverySkipHasAReason() {
  bool all = true;
  for (const auto& [name, info] : TestsByName()) {
    if (!info->should_run() || !info->result()->Skipped() || ReasonsOfTests().count(name) != 0) continue;
    printf("%s was skipped without a reason of the table\n", name.c_str());
    all = false;
  }
  return all;
}

void ListSentences() {
  const std::map<std::string, const testing::TestInfo*> tests = TestsByName();
  std::map<std::string, Verdict> verdicts;
  std::vector<std::string> order;
  for (const Quoting& quoting : Quotings()) {
    const testing::TestInfo& info = *tests.at(quoting.test);
    if (!info.should_run()) continue;
    Verdict& verdict = verdicts[quoting.sentence];
    if (verdict.cases++ == 0) order.push_back(quoting.sentence);
    if (info.result()->Failed()) verdict.failed = quoting.test;
    if (info.result()->Skipped()) {
      ++verdict.skipped;
      verdict.reason = ReasonsOfTests()[quoting.test];
    }
  }
  printf("\nThe contract, sentence by sentence:\n");
  for (const std::string& sentence : order) printf("  %s -> %s\n", sentence.c_str(), verdicts[sentence].Text().c_str());
  fflush(stdout);
}

}  // namespace osbx::conformance
