#include "bench/sample.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace osbx::bench {

double Samples::Percentile(double percent) const {
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Pair Interleave(int warm_up, int rounds, const Target& ours, const Target& baseline) {
  Pair pair;
  for (int round = -warm_up; round < rounds; ++round) {
    const double first = ours();
    const double second = baseline();
    if (round < 0) continue;
    pair.ours.Add(first);
    pair.baseline.Add(second);
  }
  return pair;
}

double NowMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double Microseconds(const std::function<void()>& work) {
  const double begin = NowMicroseconds();
  work();
  return NowMicroseconds() - begin;
}

}  // namespace osbx::bench
