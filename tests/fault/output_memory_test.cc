// Peak memory of a process that takes 200 MiB of output: streamed it is next to nothing, buffered it is what the limit
// says. Each measurement is a process of its own (this program started again), whose peak nothing else has raised.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fault/engine_api.h"
#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

constexpr size_t kOutput = size_t{200} << 20;
constexpr long kKibInMib = 1024;

long PeakKib() {
  FILE* file = std::fopen("/proc/self/status", "re");
  char line[256];
  long kib = -1;
  while (kib < 0 && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, "VmHWM:", 6) == 0) kib = std::strtol(line + 6, nullptr, 10);
  }
  std::fclose(file);
  return kib;
}

// argv: --measure NAME streamed|LIMIT. Prints "idle peak bytes exit truncated ms", memory in KiB.
int Measure(char** argv) {
  const std::string how = argv[3];
  const Backend backend = NewBackend();
  Sandbox sandbox;
  if (!Open(backend.get(), argv[2], &sandbox).ok()) return 10;
  if (Shell(sandbox.get(), "echo warm").out != "warm\n") return 11;
  const long idle = PeakKib();
  size_t bytes = 0;
  ExecOptions options;
  options.timeout_ms = 180000;
  if (how == "streamed") {
    options.output = [&bytes](uint32_t, const uint8_t*, size_t size) { return bytes += size, 0; };
  } else {
    options.output_limit = std::stoll(how);
  }
  // The result is what the caller holds: it must be alive when the peak is read, and is, since a peak never goes back.
  osbx_result* result = nullptr;
  const std::string script = "yes | head -c " + std::to_string(kOutput);
  const char* argument[] = {"/bin/sh", "-c", script.c_str()};
  osbx_command* command = osbx_command_new(argument, 3);
  osbx_command_set_timeout_ms(command, options.timeout_ms);
  if (options.output) {
    osbx_command_set_output(
        command,
        [](void* user_data, uint32_t, const uint8_t*, size_t size) -> int32_t {
          return *static_cast<size_t*>(user_data) += size, 0;
        },
        &bytes, nullptr);
  } else {
    osbx_command_set_output_limit(command, static_cast<size_t>(options.output_limit));
  }
  const int64_t started = monotonic_ms();
  if (osbx_exec(sandbox.get(), command, nullptr, &result, nullptr) != OSBX_OK) return 12;
  const int64_t ms = monotonic_ms() - started;
  if (!options.output) (void)osbx_result_output(result, OSBX_STDOUT, &bytes);
  std::printf("%ld %ld %zu %d %d %lld\n", idle, PeakKib(), bytes, osbx_result_exit_code(result),
              osbx_result_truncated(result, OSBX_STDOUT), static_cast<long long>(ms));
  osbx_result_free(result);
  osbx_command_free(command);
  return 0;
}

struct Measured {
  long idle = 0, peak = 0;
  size_t bytes = 0;
  int exit_code = -1, truncated = -1;
  long long ms = 0;
};

class OutputMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { owner_ = new SandboxForTest("memory"); }
  static void TearDownTestSuite() {
    delete owner_;
    owner_ = nullptr;
  }

  Measured Run(const std::string& how) {
    Measured measured;
    char self[4096];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    EXPECT_GT(size, 0);
    const std::string line =
        FirstLineOf(std::string(self, static_cast<size_t>(size)) + " --measure " + owner_->name() + " " + how);
    EXPECT_EQ(std::sscanf(line.c_str(), "%ld %ld %zu %d %d %lld", &measured.idle, &measured.peak, &measured.bytes,
                          &measured.exit_code, &measured.truncated, &measured.ms),
              6)
        << line;
    Figure("yes, 200 MiB, %s: idle peak %ld KiB, peak %ld KiB (+%ld KiB), %lld ms", how.c_str(), measured.idle,
           measured.peak, measured.peak - measured.idle, measured.ms);
    return measured;
  }

  static inline SandboxForTest* owner_ = nullptr;
};

TEST_F(OutputMemory, StreamedIsConstant) {
  const Measured measured = Run("streamed");
  EXPECT_EQ(measured.bytes, kOutput);
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_LE(measured.peak - measured.idle, 8 * kKibInMib);
}

TEST_F(OutputMemory, BufferedIsBoundedByTheLimit) {
  for (const long mib : {1L, 16L}) {
    const Measured measured = Run(std::to_string(mib << 20));
    EXPECT_EQ(measured.bytes, static_cast<size_t>(mib) << 20);
    EXPECT_EQ(measured.exit_code, 0);
    EXPECT_EQ(measured.truncated, 1);
    EXPECT_LE(static_cast<double>(measured.peak - measured.idle), (2 * 1.1 * static_cast<double>(mib) + 8) * kKibInMib);
  }
}

}  // namespace
}  // namespace osbx::testing

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--measure") == 0) return osbx::testing::Measure(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
