#include "e2e/sandbox_fixture.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace osbx::e2e {
namespace {

constexpr char kPrefix[] = "e2e-";

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::mutex names_mutex;
std::set<std::string> names;  // guarded by names_mutex

// "e2e-<pid>-...": whether the process that made it is gone.
bool IsLeftOver(const std::string& name) {
  if (name.rfind(kPrefix, 0) != 0) return false;
  const pid_t pid = std::atoi(name.c_str() + sizeof(kPrefix) - 1);
  return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

List ListAll() {
  osbx_list* list = nullptr;
  osbx_error* error = nullptr;
  const Status status = TakeStatus(osbx_list_sandboxes(TestBackend(), 0, nullptr, &list, &error), &error);
  EXPECT_TRUE(status.ok()) << status;
  return List(list);
}

class EngineEnvironment : public testing::Environment {
 public:
  // A failure here ends the program before its first test.
  void SetUp() override {
    ASSERT_FALSE(FromEnvironment("DOCKER_HOST", "").empty())
        << "DOCKER_HOST is not set: the end-to-end tests run on the private engine (scripts/test sets it up)";
    const test::Document info(test::Ask("GET", "/info").body);
    ASSERT_TRUE(info.valid()) << "no engine answers at " << std::getenv("DOCKER_HOST");
    ASSERT_TRUE(info.Has("Runtimes." + Runtime())) << "the engine has no runtime called " << Runtime();
    for (const std::string& image : {Busybox(), Python()}) {
      ASSERT_EQ(test::Ask("GET", "/images/" + image + "/json").status, 200) << "the engine has no image " << image;
    }
    const List list = ListAll();
    for (size_t i = 0; i < osbx_list_size(list.get()); ++i) {
      const std::string name = osbx_info_name(osbx_list_info(list.get(), i));
      if (IsLeftOver(name)) Destroy(name);
    }
  }

  void TearDown() override {
    std::set<std::string> left;
    {
      std::lock_guard<std::mutex> lock(names_mutex);
      left.swap(names);
    }
    for (const std::string& name : left) {
      const Status status = Destroy(name);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
};

const testing::Environment* const kEnvironment = testing::AddGlobalTestEnvironment(new EngineEnvironment);

}  // namespace

Sandbox* SharedSandboxTest::shared_ = nullptr;

std::ostream& operator<<(std::ostream& stream, const Status& status) {
  return stream << osbx_status_name(status.code) << (status.ok() ? "" : ": ") << status.message;
}

std::ostream& operator<<(std::ostream& stream, const Result& result) {
  if (!result.status.ok()) return stream << result.status;
  constexpr size_t kShown = 400;
  return stream << osbx_end_reason_name(result.reason) << ", exit code " << result.exit_code << ", after "
                << result.took.count() << " ms, stdout (" << result.out.size() << " bytes): \""
                << result.out.substr(0, kShown) << "\", stderr: \"" << result.err.substr(0, kShown) << '"';
}

Status TakeStatus(osbx_status code, osbx_error** filled) {
  osbx_error* const error = *filled;
  Status status;
  status.code = code;
  EXPECT_EQ(error == nullptr, code == OSBX_OK) << osbx_status_name(code);
  if (error == nullptr) return status;
  EXPECT_EQ(osbx_error_code(error), code);
  status.message = osbx_error_message(error);
  EXPECT_FALSE(status.message.empty()) << osbx_status_name(code);
  EXPECT_EQ(status.message.find('\n'), std::string::npos) << status.message;
  osbx_error_free(error);
  return status;
}

const std::string& Busybox() {
  static const std::string& image = *new std::string(FromEnvironment("OSBX_TEST_BUSYBOX", "osbx/busybox:latest"));
  return image;
}

const std::string& Python() {
  static const std::string& image = *new std::string(FromEnvironment("OSBX_TEST_PYTHON", "osbx/python:latest"));
  return image;
}

const std::string& Runtime() {
  static const std::string& runtime = *new std::string(FromEnvironment("OSBX_TEST_RUNTIME", "runsc"));
  return runtime;
}

bool OnGvisor() { return Runtime().rfind("runsc", 0) == 0; }

osbx_backend* TestBackend() {
  static osbx_backend* const backend = [] {
    const Owner<osbx_config, osbx_config_free> config(osbx_config_new());
    if (!FromEnvironment("OSBX_TEST_LOG", "").empty()) {
      osbx_config_set_log(
          config.get(), OSBX_LOG_DEBUG,
          [](void*, uint32_t, const char* line) { std::fprintf(stderr, "log: %s\n", line); }, nullptr, nullptr);
    }
    osbx_backend* made = nullptr;
    osbx_error* error = nullptr;
    const Status status = TakeStatus(osbx_backend_new(config.get(), &made, &error), &error);
    EXPECT_TRUE(status.ok()) << status;
    return made;
  }();
  return backend;
}

std::string UniqueName(const std::string& subject) {
  static std::atomic<int> count{0};
  std::string name = kPrefix + std::to_string(getpid()) + "-" + std::to_string(++count) + "-" + subject;
  std::lock_guard<std::mutex> lock(names_mutex);
  names.insert(name);
  return name;
}

Spec NewSpec(const std::string& image) {
  Spec spec(osbx_spec_new());
  osbx_spec_set_image(spec.get(), image.c_str());
  osbx_spec_set_runtime(spec.get(), Runtime().c_str());
  return spec;
}

Spec NewSmallSpec(const std::string& image) {
  Spec spec = NewSpec(image);
  osbx_spec_set_memory_bytes(spec.get(), int64_t{256} << 20);
  osbx_spec_set_disk_bytes(spec.get(), int64_t{64} << 20);
  return spec;
}

Command NewCommand(const std::vector<std::string>& argv) {
  std::vector<const char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(argument.c_str());
  return Command(osbx_command_new(pointers.data(), pointers.size()));
}

Command NewShell(const std::string& script) { return NewCommand({"/bin/sh", "-c", script}); }

Sandbox::Sandbox(const std::string& subject, const Spec& spec) {
  const Status status = Create(UniqueName(subject), spec);
  EXPECT_TRUE(status.ok()) << status;
}

Sandbox::Sandbox(Sandbox&& other) noexcept { *this = std::move(other); }

Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(handle_, other.handle_);
  return *this;
}

Sandbox::~Sandbox() {
  if (name_.empty()) return;
  const Status status = Destroy(name_);
  EXPECT_TRUE(status.ok()) << status;
}

Status Sandbox::Create(const std::string& name, const Spec& spec, osbx_cancel* cancel) {
  osbx_sandbox* made = nullptr;
  osbx_error* error = nullptr;
  const Status status = TakeStatus(osbx_create(TestBackend(), name.c_str(), spec.get(), cancel, &made, &error), &error);
  EXPECT_EQ(made != nullptr, status.ok());
  handle_.reset(made);
  if (status.ok()) name_ = name;
  return status;
}

Status Sandbox::Open(const std::string& name) {
  osbx_sandbox* opened = nullptr;
  osbx_error* error = nullptr;
  const Status status = TakeStatus(osbx_open(TestBackend(), name.c_str(), 0, nullptr, &opened, &error), &error);
  EXPECT_EQ(opened != nullptr, status.ok());
  handle_.reset(opened);
  if (status.ok()) name_ = name;
  return status;
}

Status Sandbox::Stop() {
  osbx_error* error = nullptr;
  return TakeStatus(osbx_stop(handle_.get(), 0, nullptr, &error), &error);
}

Result Sandbox::Run(const Command& command, osbx_cancel* cancel) const {
  osbx_result* ended = nullptr;
  osbx_error* error = nullptr;
  Result result;
  const auto start = std::chrono::steady_clock::now();
  result.status = TakeStatus(osbx_exec(handle_.get(), command.get(), cancel, &ended, &error), &error);
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  EXPECT_EQ(ended != nullptr, result.status.ok());
  if (ended == nullptr) return result;
  const Owner<osbx_result, osbx_result_free> owner(ended);
  result.reason = osbx_result_reason(ended);
  result.exit_code = osbx_result_exit_code(ended);
  result.signal = osbx_result_signal(ended);
  size_t size = 0;
  const uint8_t* bytes = osbx_result_output(ended, OSBX_STDOUT, &size);
  result.out.assign(reinterpret_cast<const char*>(bytes), size);
  bytes = osbx_result_output(ended, OSBX_STDERR, &size);
  result.err.assign(reinterpret_cast<const char*>(bytes), size);
  result.out_truncated = osbx_result_truncated(ended, OSBX_STDOUT) != 0;
  result.err_truncated = osbx_result_truncated(ended, OSBX_STDERR) != 0;
  return result;
}

std::string Sandbox::Output(const std::string& script) const {
  const Result result = Shell(script);
  EXPECT_TRUE(result.Exited(0)) << script << ": " << result;
  return result.out;
}

int Sandbox::CountProcesses(const std::string& part) const {
  // The first letter in brackets, so that the search does not find itself.
  const std::string pattern = "[" + part.substr(0, 1) + "]" + part.substr(1);
  return std::atoi(
      Output("for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$file 2>/dev/null; echo; done | grep -c '" + pattern +
             "' || true")
          .c_str());
}

Status Sandbox::Put(const std::string& path, const std::string& content, uint32_t mode, osbx_cancel* cancel) const {
  osbx_error* error = nullptr;
  return TakeStatus(osbx_file_put(handle_.get(), path.c_str(), mode, reinterpret_cast<const uint8_t*>(content.data()),
                                  content.size(), 0, cancel, &error),
                    &error);
}

Status Sandbox::Get(const std::string& path, std::string* content, size_t max, osbx_cancel* cancel) const {
  osbx_buffer* buffer = nullptr;
  osbx_error* error = nullptr;
  const Status status = TakeStatus(osbx_file_get(handle_.get(), path.c_str(), max, 0, cancel, &buffer, &error), &error);
  EXPECT_EQ(buffer != nullptr, status.ok());
  const Owner<osbx_buffer, osbx_buffer_free> owner(buffer);
  if (buffer == nullptr) return status;
  size_t size = 0;
  const uint8_t* bytes = osbx_buffer_data(buffer, &size);
  content->assign(reinterpret_cast<const char*>(bytes), size);
  return status;
}

std::string Sandbox::Content(const std::string& path) const {
  std::string content;
  const Status status = Get(path, &content);
  EXPECT_TRUE(status.ok()) << path << ": " << status;
  return content;
}

Status Destroy(const std::string& name, osbx_cancel* cancel) {
  osbx_error* error = nullptr;
  return TakeStatus(osbx_destroy(TestBackend(), name.c_str(), 0, cancel, &error), &error);
}

uint32_t ListedState(const std::string& name) {
  const List list = ListAll();
  for (size_t i = 0; i < osbx_list_size(list.get()); ++i) {
    const osbx_info* info = osbx_list_info(list.get(), i);
    if (name == osbx_info_name(info)) return osbx_info_state(info);
  }
  return 0;
}

bool Exists(const std::string& name) { return test::ContainerExists(test::ExpectedContainerName(name)); }

bool Eventually(const std::function<bool()>& condition, std::chrono::seconds bound) {
  const auto end = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace osbx::e2e
