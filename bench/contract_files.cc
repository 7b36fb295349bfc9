// Files and the bare round trip, against nginx.
#include <string>

#include "bench/contract_parts.h"
#include "bench/kept_connection.h"
#include "bench/nginx_program.h"
#include "bench/sample.h"

namespace osbx::bench {
namespace {

constexpr uint64_t kLargeBytes = uint64_t{64} << 20;
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr int kSmallRounds = 3000;
constexpr int kLargeRounds = 40;

struct Size {
  std::string name;
  std::string target;
  std::string piece;  // of the body, which is `times` of these
  uint64_t times;
  int rounds;
};

std::string Pattern(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>('a' + i % 26);
  return bytes;
}

Target Put(KeptConnection& connection, const Size& size) {
  return [&connection, &size] {
    return Microseconds([&] { connection.Request("PUT", size.target, 2, size.piece, size.times); });
  };
}

Target Get(KeptConnection& connection, const Size& size) {
  return [&connection, &size] {
    const double time = Microseconds([&] { connection.Request("GET", size.target, 2); });
    const std::string& seen = connection.body_begin();
    if (connection.body_size() != size.piece.size() * size.times ||
        size.piece.compare(0, seen.size(), seen, 0, size.piece.size()) != 0) {
      Fail("a GET does not answer what was PUT");
    }
    return time;
  };
}

}  // namespace

void MeasureFiles(const Setting& setting, Report& report) {
  const SandboxProgram sandbox(setting, "sandbox-files");
  const NginxProgram nginx(setting.nginx, setting.directory);
  KeptConnection ours(sandbox.port());
  KeptConnection theirs(nginx.port());
  const auto health = [](KeptConnection& connection) {
    return Microseconds([&connection] { connection.Request("GET", "/healthz", 2); });
  };
  report.AddPair("GET /healthz", "nginx",
                 Interleave(
                     100, kSmallRounds, [&] { return health(ours); }, [&] { return health(theirs); }));
  const Size sizes[] = {{"1 KiB", "/files/small", Pattern(1024), 1, kSmallRounds},
                        {"64 MiB", "/files/large", Pattern(kPieceBytes), kLargeBytes / kPieceBytes, kLargeRounds}};
  for (const Size& size : sizes) {
    const int warm_up = size.rounds / 20 + 1;
    report.AddPair("PUT " + size.name, "nginx", Interleave(warm_up, size.rounds, Put(ours, size), Put(theirs, size)));
    report.AddPair("GET " + size.name, "nginx", Interleave(warm_up, size.rounds, Get(ours, size), Get(theirs, size)));
  }
  report.AddValue("peak memory, files of 64 MiB", sandbox.program().StatusKib("VmHWM"), "KiB");
}

}  // namespace osbx::bench
