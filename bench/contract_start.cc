// From exec to listening.
#include "bench/contract_parts.h"
#include "bench/sample.h"

namespace osbx::bench {
namespace {

constexpr int kWarmUp = 5;
constexpr int kRounds = 200;
constexpr double kGoalMicroseconds = 10'000;

}  // namespace

// Both say that they listen when they do, so nobody has to knock until somebody opens.
void MeasureStart(const Setting& setting, Report& report) {
  Pair pair = Interleave(
      kWarmUp, kRounds,
      [&] {
        const SandboxProgram sandbox(setting, "sandbox-start");
        return sandbox.start_time();
      },
      [&] {
        ChildProgram program({setting.listen_only}, {});
        program.ReadPort();
        return NowMicroseconds() - program.exec_time();
      });
  const bool met = pair.ours.Percentile(50) <= kGoalMicroseconds;
  report.AddPair("exec to listening", "listen only", std::move(pair), Goal{"<= 10 ms", met});
}

}  // namespace osbx::bench
