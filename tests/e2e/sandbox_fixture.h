// What every end-to-end test begins with: the public C ABI in small owners, and sandboxes that are gone when the test
// is.
//
// The environment says where to run: DOCKER_HOST (the private engine), OSBX_TEST_BUSYBOX and OSBX_TEST_PYTHON (images),
// OSBX_TEST_RUNTIME (runsc unless set); OSBX_TEST_LOG shows the library's log. Without an engine every program here
// fails; none skips.
#ifndef OSBX_TESTS_E2E_SANDBOX_FIXTURE_H_
#define OSBX_TESTS_E2E_SANDBOX_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "osbx.h"
#include "support/docker_inspect.h"

namespace osbx::e2e {

template <typename T, void (*Free)(T*)>
struct Freer {
  void operator()(T* handle) const { Free(handle); }
};
template <typename T, void (*Free)(T*)>
using Owner = std::unique_ptr<T, Freer<T, Free>>;

using Spec = Owner<osbx_spec, osbx_spec_free>;
using Command = Owner<osbx_command, osbx_command_free>;
using CancelToken = Owner<osbx_cancel, osbx_cancel_free>;
using Backend = Owner<osbx_backend, osbx_backend_free>;
using List = Owner<osbx_list, osbx_list_free>;

// How a fallible call went.
struct Status {
  osbx_status code = OSBX_OK;
  std::string message;
  bool ok() const { return code == OSBX_OK; }
};
std::ostream& operator<<(std::ostream& stream, const Status& status);

// Checks the conventions (no error object on success, one of the same code on failure) and frees the error.
// Its second argument is the address that the call was given, since arguments are evaluated in any order.
Status TakeStatus(osbx_status code, osbx_error** filled);

// How a command ended.
struct Result {
  Status status;  // not ok: nothing ran
  uint32_t reason = 0;
  int32_t exit_code = -1;
  int32_t signal = 0;
  std::string out, err;
  bool out_truncated = false, err_truncated = false;
  std::chrono::milliseconds took{0};

  bool Exited(int32_t code) const { return status.ok() && reason == OSBX_END_EXITED && exit_code == code; }
};
std::ostream& operator<<(std::ostream& stream, const Result& result);

// ---- the environment ----------------------------------------------------------------------------------------------

const std::string& Busybox();
const std::string& Python();
const std::string& Runtime();
bool OnGvisor();
// One backend of this process, from the environment.
osbx_backend* TestBackend();
// A name that no other process uses; its sandbox is destroyed at the end of the program, whatever happened.
std::string UniqueName(const std::string& subject);

// ---- builders -----------------------------------------------------------------------------------------------------

// The image and the runtime that is tested; all else at its default.
Spec NewSpec(const std::string& image = Busybox());
// As NewSpec, with little memory: many sandboxes at once fit on a small machine.
Spec NewSmallSpec(const std::string& image = Busybox());
Command NewCommand(const std::vector<std::string>& argv);
Command NewShell(const std::string& script);

// ---- a sandbox ----------------------------------------------------------------------------------------------------

class Sandbox {
 public:
  Sandbox() = default;
  // Made, or the test fails.
  explicit Sandbox(const std::string& subject, const Spec& spec = NewSpec());
  ~Sandbox();
  Sandbox(Sandbox&& other) noexcept;
  Sandbox& operator=(Sandbox&& other) noexcept;

  // osbx_create under `name`, which the sandbox takes over; on failure it stays empty.
  Status Create(const std::string& name, const Spec& spec, osbx_cancel* cancel = nullptr);
  Status Open(const std::string& name);
  Status Stop();

  Result Run(const Command& command, osbx_cancel* cancel = nullptr) const;
  Result Run(const std::vector<std::string>& argv) const { return Run(NewCommand(argv)); }
  Result Shell(const std::string& script) const { return Run(NewShell(script)); }
  // Shell, which must exit with 0; gives its output.
  std::string Output(const std::string& script) const;
  // How many processes have `part` in their command line.
  int CountProcesses(const std::string& part) const;
  // Whether it runs commands.
  bool Works() const { return Output("echo it works") == "it works\n"; }

  Status Put(const std::string& path, const std::string& content, uint32_t mode = 0,
             osbx_cancel* cancel = nullptr) const;
  Status Get(const std::string& path, std::string* content, size_t max = size_t{64} << 20,
             osbx_cancel* cancel = nullptr) const;
  // Get, which must succeed.
  std::string Content(const std::string& path) const;

  osbx_sandbox* handle() const { return handle_.get(); }
  const osbx_info* info() const { return osbx_sandbox_info(handle_.get()); }
  const std::string& name() const { return name_; }
  std::string id() const { return osbx_info_id(info()); }

 private:
  std::string name_;
  Owner<osbx_sandbox, osbx_sandbox_free> handle_;
};

Status Destroy(const std::string& name, osbx_cancel* cancel = nullptr);
// The state in the list of all sandboxes; 0 when it is not listed.
uint32_t ListedState(const std::string& name);
// Whether anything of this name is left at the daemon.
bool Exists(const std::string& name);

// ---- waiting ------------------------------------------------------------------------------------------------------

// Asks again until `condition` holds; false after `bound`.
bool Eventually(const std::function<bool()>& condition, std::chrono::seconds bound = std::chrono::seconds(30));

// A suite that shares one sandbox of busybox with all defaults.
class SharedSandboxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new Sandbox("shared"); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(shared_->handle(), nullptr) << "the suite's sandbox could not be made"; }
  static const Sandbox& box() { return *shared_; }

 private:
  static Sandbox* shared_;
};

}  // namespace osbx::e2e

#endif  // OSBX_TESTS_E2E_SANDBOX_FIXTURE_H_
