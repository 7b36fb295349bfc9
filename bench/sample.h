// Samples of two targets, taken in turns, and what is said about them.
#ifndef OSBX_BENCH_SAMPLE_H_
#define OSBX_BENCH_SAMPLE_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace osbx::bench {

class Samples {
 public:
  void Add(double value) { values_.push_back(value); }
  size_t count() const { return values_.size(); }
  // The nearest rank: a value that was seen. `percent` is above 0 and at most 100; there is a sample.
  double Percentile(double percent) const;

 private:
  std::vector<double> values_;
};

struct Pair {
  Samples ours;
  Samples baseline;

  // 1 is as fast as the baseline, 2 twice as fast: of times, by the medians.
  double Speed() const { return baseline.Percentile(50) / ours.Percentile(50); }
};

using Target = std::function<double()>;  // takes one sample

// Sample by sample, so that whatever else the machine does meets both alike. The first `warm_up` rounds do not count.
Pair Interleave(int warm_up, int rounds, const Target& ours, const Target& baseline);

// Of a clock that nobody sets.
double NowMicroseconds();

// How long `work` takes.
double Microseconds(const std::function<void()>& work);

}  // namespace osbx::bench

#endif  // OSBX_BENCH_SAMPLE_H_
