// The parts of the measurement of the contract server. Each starts the servers that it needs and adds its rows.
#ifndef OSBX_BENCH_CONTRACT_PARTS_H_
#define OSBX_BENCH_CONTRACT_PARTS_H_

#include <memory>
#include <string>

#include "bench/child_program.h"
#include "bench/report.h"

namespace osbx::bench {

struct Setting {
  std::string sandbox;
  std::string listen_only;
  std::string nginx;
  std::string directory;  // empty, and in memory
};

inline constexpr char kShell[] = "/bin/sh";

// A server on a free port, whose workspace is a new folder `name` of the directory.
class SandboxProgram {
 public:
  SandboxProgram(const Setting& setting, const std::string& name);

  int port() const { return port_; }
  // From exec to listening, in microseconds.
  double start_time() const { return start_time_; }
  const ChildProgram& program() const { return *program_; }

 private:
  std::unique_ptr<ChildProgram> program_;
  int port_ = 0;
  double start_time_ = 0;
};

void MeasureStart(const Setting& setting, Report& report);
void MeasureFiles(const Setting& setting, Report& report);
void MeasureMemory(const Setting& setting, Report& report);

}  // namespace osbx::bench

#endif  // OSBX_BENCH_CONTRACT_PARTS_H_
