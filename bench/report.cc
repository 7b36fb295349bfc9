#include "bench/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace osbx::bench {
namespace {

constexpr size_t kColumns = 6;
using Cells = std::array<std::string, kColumns>;

std::string Number(double value, const char* format = "%.4g") {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// Microseconds; milliseconds from ten on.
std::string Time(const Samples& samples) {
  const double median = samples.Percentile(50);
  const bool large = median >= 10'000;
  const double scale = large ? 1e-3 : 1;
  const char* const format = large ? "%.1f" : "%.0f";
  return Number(median * scale, format) + " / " + Number(samples.Percentile(95) * scale, format) +
         (large ? " ms" : " us");
}

std::string GoalText(const std::optional<Goal>& goal) {
  return goal.has_value() ? goal->words + (goal->met ? ": met" : ": MISSED") : "";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + '"';
}

std::string SamplesJson(const Samples& samples) {
  return "{\"p50\":" + Number(samples.Percentile(50), "%.1f") + ",\"p95\":" + Number(samples.Percentile(95), "%.1f") +
         ",\"n\":" + std::to_string(samples.count()) + "}";
}

}  // namespace

void Report::AddPair(std::string name, std::string baseline, Pair pair, std::optional<Goal> goal) {
  rows_.push_back({std::move(name), std::move(baseline), std::move(pair), 0, "us", std::move(goal)});
}

void Report::AddValue(std::string name, double value, std::string unit, std::optional<Goal> goal) {
  rows_.push_back({std::move(name), "", std::nullopt, value, std::move(unit), std::move(goal)});
}

std::string Report::Table() const {
  std::vector<Cells> lines = {{"", "ours p50 / p95", "baseline p50 / p95", "n", "speed", "goal"}};
  for (const Row& row : rows_) {
    if (!row.pair.has_value()) {
      lines.push_back({row.name, Number(row.value) + " " + row.unit, "", "", "", GoalText(row.goal)});
      continue;
    }
    lines.push_back({row.name, Time(row.pair->ours), row.baseline + " " + Time(row.pair->baseline),
                     std::to_string(row.pair->ours.count()), Number(100 * row.pair->Speed(), "%.1f %%"),
                     GoalText(row.goal)});
  }
  std::array<size_t, kColumns> widths{};
  for (const Cells& line : lines) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& [name, value] : facts_) text.append(name).append(": ").append(value).append("\n");
  text += "speed: the baseline's p50 by ours, 100 % is as fast\n\n";
  for (const Cells& line : lines) {
    std::string row;
    for (size_t i = 0; i < kColumns; ++i) {
      row += line[i];
      row.append(widths[i] - line[i].size() + 2, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string Report::Json() const {
  std::string text = "{\"facts\":{";
  for (const auto& [name, value] : facts_) {
    if (text.back() != '{') text += ',';
    text += Quoted(name) + ":" + Quoted(value);
  }
  text += "},\"figures\":[";
  for (const Row& row : rows_) {
    if (text.back() != '[') text += ',';
    text += "{\"name\":" + Quoted(row.name) + ",\"unit\":" + Quoted(row.unit);
    if (row.pair.has_value()) {
      text += ",\"ours\":" + SamplesJson(row.pair->ours) + ",\"baseline\":" + Quoted(row.baseline) +
              ",\"theirs\":" + SamplesJson(row.pair->baseline) + ",\"speed\":" + Number(row.pair->Speed(), "%.3f");
    } else {
      text += ",\"value\":" + Number(row.value, "%.3f");
    }
    if (row.goal.has_value()) {
      text += ",\"goal\":" + Quoted(row.goal->words) + ",\"met\":" + (row.goal->met ? "true" : "false");
    }
    text += '}';
  }
  return text + "]}\n";
}

}  // namespace osbx::bench
