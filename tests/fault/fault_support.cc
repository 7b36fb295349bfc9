#include "fault/fault_support.h"

#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#ifdef __SANITIZE_ADDRESS__
// In a forked child the memory that the parent's other threads hold has no owner any more; that is no leak.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier): LeakSanitizer's name
  static const pid_t first = getpid();
  return getpid() != first ? 1 : 0;
}
// Asked once in the parent, so that it is known which process that is.
static const int asked_in_parent = __lsan_is_turned_off();
#endif

namespace osbx::testing {
namespace {

// Takes what a call left, and how long it took.
class Call {
 public:
  osbx_error** err() { return &error_; }
  Status Done(osbx_status code) {
    Status status;
    status.code = code;
    status.message = osbx_error_message(error_);
    status.ms = monotonic_ms() - started_;
    EXPECT_EQ(osbx_error_code(error_), code);
    osbx_error_free(error_);
    return status;
  }

 private:
  osbx_error* error_ = nullptr;
  const int64_t started_ = monotonic_ms();
};

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

int64_t CallInput(void* user_data, uint8_t* buffer, size_t capacity) {
  return (*static_cast<const Reader*>(user_data))(buffer, capacity);
}

int32_t CallOutput(void* user_data, uint32_t stream, const uint8_t* data, size_t size) {
  return static_cast<const ExecOptions*>(user_data)->output(stream, data, size);
}

int32_t CallWriter(void* user_data, uint32_t, const uint8_t* data, size_t size) {
  return (*static_cast<const Writer*>(user_data))(data, size);
}

std::string OutputOf(const osbx_result* result, uint32_t stream) {
  size_t size = 0;
  const uint8_t* bytes = osbx_result_output(result, stream, &size);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Status& status) {
  return stream << osbx_status_name(status.code) << " \"" << status.message << "\" after " << status.ms << " ms";
}

std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
  return stream << ended.status << ", " << osbx_end_reason_name(ended.reason) << " " << ended.exit_code << ", stdout \""
                << ended.out.substr(0, 200) << "\", stderr \"" << ended.err.substr(0, 200) << "\"";
}

std::string EngineHost() {
  const std::string host = FromEnvironment("DOCKER_HOST", "");
  if (host.empty()) {
    std::fprintf(stderr, "DOCKER_HOST is not set: this test needs an engine (scripts/engine env)\n");
    std::abort();
  }
  return host;
}

std::string EngineSocket() {
  const std::string host = EngineHost();
  const std::string prefix = "unix://";
  if (host.compare(0, prefix.size(), prefix) != 0) {
    std::fprintf(stderr, "this test needs an engine on a unix socket, not at %s\n", host.c_str());
    std::abort();
  }
  return host.substr(prefix.size());
}

std::string TestRuntime() { return FromEnvironment("OSBX_TEST_RUNTIME", "runsc"); }

std::string BusyboxImage() { return FromEnvironment("OSBX_TEST_BUSYBOX", "osbx/busybox:latest"); }

std::string UniqueName(const std::string& base) {
  static int count = 0;
  return "fault-" + base + "-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

Backend NewBackend(const std::string& host, const std::string& cert_path) {
  osbx_config* config = osbx_config_new();
  if (!host.empty()) osbx_config_set_docker_host(config, host.c_str());
  if (!cert_path.empty()) osbx_config_set_docker_cert_path(config, cert_path.c_str());
  if (std::getenv("OSBX_TEST_LOG") != nullptr) {
    osbx_config_set_log(
        config, OSBX_LOG_DEBUG,
        [](void*, uint32_t level, const char* message) { std::fprintf(stderr, "[log %u] %s\n", level, message); },
        nullptr, nullptr);
  }
  osbx_backend* backend = nullptr;
  Call call;
  const Status status = call.Done(osbx_backend_new(config, &backend, call.err()));
  osbx_config_free(config);
  EXPECT_TRUE(status.ok()) << status;
  return Backend(backend);
}

Spec NewSpec() {
  Spec spec(osbx_spec_new());
  osbx_spec_set_image(spec.get(), BusyboxImage().c_str());
  osbx_spec_set_runtime(spec.get(), TestRuntime().c_str());
  return spec;
}

Cancel NewCancel(int64_t timeout_ms) {
  Cancel cancel(osbx_cancel_new());
  if (timeout_ms >= 0) osbx_cancel_set_timeout_ms(cancel.get(), timeout_ms);
  return cancel;
}

Status Create(osbx_backend* backend, const std::string& name, Sandbox* out, osbx_cancel* cancel,
              const osbx_spec* spec) {
  Spec own;
  if (spec == nullptr) {
    own = NewSpec();
    spec = own.get();
  }
  osbx_sandbox* sandbox = nullptr;
  Call call;
  const Status status = call.Done(osbx_create(backend, name.c_str(), spec, cancel, &sandbox, call.err()));
  EXPECT_EQ(sandbox != nullptr, status.ok());
  out->reset(sandbox);
  return status;
}

Status Open(osbx_backend* backend, const std::string& name, Sandbox* out, osbx_cancel* cancel) {
  osbx_sandbox* sandbox = nullptr;
  Call call;
  const Status status = call.Done(osbx_open(backend, name.c_str(), 0, cancel, &sandbox, call.err()));
  EXPECT_EQ(sandbox != nullptr, status.ok());
  out->reset(sandbox);
  return status;
}

Status List(osbx_backend* backend, size_t* count, osbx_cancel* cancel) {
  osbx_list* list = nullptr;
  Call call;
  const Status status = call.Done(osbx_list_sandboxes(backend, 0, cancel, &list, call.err()));
  EXPECT_EQ(list != nullptr, status.ok());
  if (count != nullptr && list != nullptr) *count = osbx_list_size(list);
  osbx_list_free(list);
  return status;
}

Status Destroy(osbx_backend* backend, const std::string& name, osbx_cancel* cancel) {
  Call call;
  return call.Done(osbx_destroy(backend, name.c_str(), 0, cancel, call.err()));
}

Ended Exec(osbx_sandbox* sandbox, const std::vector<std::string>& argv, const ExecOptions& options) {
  std::vector<const char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(argument.c_str());
  osbx_command* command = osbx_command_new(pointers.data(), pointers.size());
  if (options.timeout_ms > 0) osbx_command_set_timeout_ms(command, options.timeout_ms);
  if (options.output_limit >= 0) osbx_command_set_output_limit(command, static_cast<size_t>(options.output_limit));
  Reader input = options.input;
  if (input) osbx_command_set_stdin_reader(command, &CallInput, &input, nullptr);
  if (options.output) osbx_command_set_output(command, &CallOutput, const_cast<ExecOptions*>(&options), nullptr);

  osbx_result* result = nullptr;
  Call call;
  Ended ended;
  ended.status = call.Done(osbx_exec(sandbox, command, options.cancel, &result, call.err()));
  osbx_command_free(command);
  EXPECT_EQ(result != nullptr, ended.status.ok());
  if (result == nullptr) return ended;
  ended.reason = osbx_result_reason(result);
  ended.exit_code = osbx_result_exit_code(result);
  ended.out = OutputOf(result, OSBX_STDOUT);
  ended.err = OutputOf(result, OSBX_STDERR);
  ended.out_truncated = osbx_result_truncated(result, OSBX_STDOUT) != 0;
  osbx_result_free(result);
  const bool has_code = ended.reason == OSBX_END_EXITED || ended.reason == OSBX_END_SIGNALLED;
  EXPECT_EQ(ended.exit_code >= 0, has_code) << ended;
  return ended;
}

Status Put(osbx_sandbox* sandbox, const std::string& path, const std::string& bytes, osbx_cancel* cancel) {
  Call call;
  return call.Done(osbx_file_put(sandbox, path.c_str(), 0, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 0, cancel, call.err()));
}

Status PutStream(osbx_sandbox* sandbox, const std::string& path, const Reader& reader, osbx_cancel* cancel) {
  Reader copy = reader;
  Call call;
  return call.Done(osbx_file_put_stream(sandbox, path.c_str(), 0, &CallInput, &copy, nullptr, 0, cancel, call.err()));
}

Status Get(osbx_sandbox* sandbox, const std::string& path, std::string* bytes, osbx_cancel* cancel, size_t max) {
  osbx_buffer* buffer = nullptr;
  Call call;
  const Status status = call.Done(osbx_file_get(sandbox, path.c_str(), max, 0, cancel, &buffer, call.err()));
  EXPECT_EQ(buffer != nullptr, status.ok());
  if (buffer != nullptr && bytes != nullptr) {
    size_t size = 0;
    const uint8_t* data = osbx_buffer_data(buffer, &size);
    bytes->assign(reinterpret_cast<const char*>(data), size);
  }
  osbx_buffer_free(buffer);
  return status;
}

Status GetStream(osbx_sandbox* sandbox, const std::string& path, const Writer& writer, osbx_cancel* cancel) {
  Writer copy = writer;
  Call call;
  return call.Done(osbx_file_get_stream(sandbox, path.c_str(), &CallWriter, &copy, nullptr, 0, cancel, call.err()));
}

bool WaitUntil(const std::function<bool()>& condition, int64_t bound_ms) {
  const int64_t until = monotonic_ms() + bound_ms;
  while (!condition()) {
    if (monotonic_ms() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

LeakCheck::LeakCheck() : fds_(process_fd_count()), threads_(process_thread_count()) {}

void LeakCheck::ExpectNoLeak() const {
  // Not "equal": an earlier test's loop may have been on its way out when the counts were taken.
  WaitUntil([this] { return process_fd_count() <= fds_ && process_thread_count() <= threads_; }, 20000);
  EXPECT_LE(process_fd_count(), fds_) << "descriptors were left open";
  EXPECT_LE(process_thread_count(), threads_) << "threads were left";
}

FireLater::FireLater(osbx_cancel* cancel, int64_t ms)
    : thread_([this, cancel, ms] {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        fired_at_ = monotonic_ms();
        osbx_cancel_fire(cancel);
      }) {}

void Figure(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::printf("  figure: ");
  std::vprintf(format, arguments);
  std::printf("\n");
  std::fflush(stdout);
  va_end(arguments);
}

SandboxForTest::SandboxForTest(const std::string& base, const osbx_spec* spec) : name_(UniqueName(base)) {
  const Status status = Create(backend(), name_, &sandbox_, nullptr, spec);
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) std::abort();  // nothing that follows would mean anything
}

SandboxForTest::~SandboxForTest() {
  const Status status = Destroy(backend(), name_);
  EXPECT_TRUE(status.ok()) << status;
}

osbx_backend* SandboxForTest::backend() {
  if (backend_ == nullptr) backend_ = NewBackend(EngineHost());
  return backend_.get();
}

osbx_sandbox* SandboxForTest::get() {
  if (sandbox_ == nullptr) {
    const Status status = Open(backend(), name_, &sandbox_);
    EXPECT_TRUE(status.ok()) << status;
  }
  return sandbox_.get();
}

void SandboxForTest::Rest() {
  sandbox_.reset();
  backend_.reset();
}

void SandboxForTest::Mend() {
  const Status status = Create(backend(), name_, &sandbox_);
  EXPECT_TRUE(status.ok()) << "create does not mend it: " << status;
}

bool SandboxForTest::Runs(const std::string& text) {
  // The pattern does not match itself: its first letter stands in brackets.
  const std::string pattern = "[" + text.substr(0, 1) + "]" + text.substr(1);
  const Ended found = Shell(get(), "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -q '" + pattern + "'");
  EXPECT_TRUE(found.status.ok() && found.reason == OSBX_END_EXITED) << found;
  return found.exit_code == 0;
}

}  // namespace osbx::testing
