// osbx.h for tests in C++: handles that free themselves, results as values, and how long each call took.
#ifndef OSBX_TESTS_FAULT_FAULT_SUPPORT_H_
#define OSBX_TESTS_FAULT_FAULT_SUPPORT_H_

#include <gtest/gtest.h>
#include <osbx.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "support/process_facts.h"
}

namespace osbx::testing {

// A sanitizer keeps what is freed, to catch its use: resident memory tells nothing then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Backend = std::unique_ptr<osbx_backend, Freer<&osbx_backend_free>>;
using Sandbox = std::unique_ptr<osbx_sandbox, Freer<&osbx_sandbox_free>>;
using Spec = std::unique_ptr<osbx_spec, Freer<&osbx_spec_free>>;
using Cancel = std::unique_ptr<osbx_cancel, Freer<&osbx_cancel_free>>;

struct Status {
  osbx_status code = OSBX_OK;
  std::string message;
  int64_t ms = 0;  // how long the call took
  bool ok() const { return code == OSBX_OK; }
};
std::ostream& operator<<(std::ostream& stream, const Status& status);

// What a command came to; `status` is OSBX_OK as soon as there is a result.
struct Ended {
  Status status;
  uint32_t reason = 0;
  int32_t exit_code = -1;
  std::string out, err;
  bool out_truncated = false;
};
std::ostream& operator<<(std::ostream& stream, const Ended& ended);

// The environment of the test, which ends when it is not there: nothing is skipped in silence.
std::string EngineHost();    // DOCKER_HOST
std::string EngineSocket();  // its path
std::string TestRuntime();   // OSBX_TEST_RUNTIME, runsc
std::string BusyboxImage();  // OSBX_TEST_BUSYBOX, osbx/busybox:latest
// One that no other test and no other run uses.
std::string UniqueName(const std::string& base);

Backend NewBackend(const std::string& host = "", const std::string& cert_path = "");
Spec NewSpec();
Cancel NewCancel(int64_t timeout_ms = -1);

Status Create(osbx_backend* backend, const std::string& name, Sandbox* out, osbx_cancel* cancel = nullptr,
              const osbx_spec* spec = nullptr);
Status Open(osbx_backend* backend, const std::string& name, Sandbox* out, osbx_cancel* cancel = nullptr);
Status List(osbx_backend* backend, size_t* count, osbx_cancel* cancel = nullptr);
Status Destroy(osbx_backend* backend, const std::string& name, osbx_cancel* cancel = nullptr);

struct ExecOptions {
  osbx_cancel* cancel = nullptr;
  int64_t timeout_ms = 0;
  int64_t output_limit = -1;
  std::function<int64_t(uint8_t* buffer, size_t capacity)> input;
  std::function<int32_t(uint32_t stream, const uint8_t* data, size_t size)> output;
};
Ended Exec(osbx_sandbox* sandbox, const std::vector<std::string>& argv, const ExecOptions& options = {});
inline Ended Shell(osbx_sandbox* sandbox, const std::string& script, const ExecOptions& options = {}) {
  return Exec(sandbox, {"/bin/sh", "-c", script}, options);
}

using Reader = std::function<int64_t(uint8_t* buffer, size_t capacity)>;
using Writer = std::function<int32_t(const uint8_t* data, size_t size)>;
Status Put(osbx_sandbox* sandbox, const std::string& path, const std::string& bytes, osbx_cancel* cancel = nullptr);
Status PutStream(osbx_sandbox* sandbox, const std::string& path, const Reader& reader, osbx_cancel* cancel = nullptr);
Status Get(osbx_sandbox* sandbox, const std::string& path, std::string* bytes, osbx_cancel* cancel = nullptr,
           size_t max = size_t{64} << 20);
Status GetStream(osbx_sandbox* sandbox, const std::string& path, const Writer& writer, osbx_cancel* cancel = nullptr);

// Waits for a condition, with a bound; for what is in /proc or in another process and offers nothing to wait on.
bool WaitUntil(const std::function<bool()>& condition, int64_t bound_ms = 30000);

// The descriptors and threads of this process, compared with what they were.
class LeakCheck {
 public:
  LeakCheck();
  // Fails the test unless both come back within ten seconds.
  void ExpectNoLeak() const;

 private:
  const int fds_;
  const int threads_;
};

// Fires a token from another thread, `ms` from now. Joined at the end.
class FireLater {
 public:
  FireLater(osbx_cancel* cancel, int64_t ms);
  ~FireLater() { thread_.join(); }
  // When it was fired, on monotonic_ms().
  int64_t fired_at() const { return fired_at_; }

 private:
  int64_t fired_at_ = 0;
  std::thread thread_;
};

// Line of figures in the test's output.
void Figure(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A sandbox for the length of a test, removed in the end with all of its name.
class SandboxForTest {
 public:
  explicit SandboxForTest(const std::string& base, const osbx_spec* spec = nullptr);
  ~SandboxForTest();
  const std::string& name() const { return name_; }
  // Handles of its own, made when they are needed.
  osbx_backend* backend();
  osbx_sandbox* get();
  std::string id() { return osbx_info_id(osbx_sandbox_info(get())); }
  // Gives the handles up, so that they do not stand in the way where descriptors and threads are counted.
  void Rest();
  // Whatever became of it, it runs afterwards.
  void Mend();
  // Whether a process runs inside whose command line has `text` in it.
  bool Runs(const std::string& text);

 private:
  const std::string name_;
  Backend backend_;
  Sandbox sandbox_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_FAULT_FAULT_SUPPORT_H_
