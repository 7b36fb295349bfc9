// What was measured, as a table for people or one JSON object.
#ifndef OSBX_BENCH_REPORT_H_
#define OSBX_BENCH_REPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/sample.h"

namespace osbx::bench {

struct Goal {
  std::string words;
  bool met = false;
};

class Report {
 public:
  // Where and with what.
  void AddFact(std::string name, std::string value) { facts_.emplace_back(std::move(name), std::move(value)); }
  // Times in microseconds, of ours and of `baseline`.
  void AddPair(std::string name, std::string baseline, Pair pair, std::optional<Goal> goal = std::nullopt);
  // A figure of its own.
  void AddValue(std::string name, double value, std::string unit, std::optional<Goal> goal = std::nullopt);

  std::string Table() const;
  std::string Json() const;

 private:
  struct Row {
    std::string name;
    std::string baseline;
    std::optional<Pair> pair;
    double value = 0;
    std::string unit;
    std::optional<Goal> goal;
  };

  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<Row> rows_;
};

}  // namespace osbx::bench

#endif  // OSBX_BENCH_REPORT_H_
