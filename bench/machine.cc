#include "bench/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace osbx::bench {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

void AddMachine(Report& report) {
  utsname name{};
  uname(&name);
  double load[3] = {};
  getloadavg(load, 3);
  char begin[16];
  std::snprintf(begin, sizeof(begin), "%.2f", load[0]);
  report.AddFact("machine", CpuModel() + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " processors, " +
                                name.machine + ", load before " + begin);
  report.AddFact("kernel", std::string(name.sysname) + " " + name.release);
  report.AddFact("compiler", __VERSION__);
}

std::string FirstLine(const std::string& command) {
  FILE* const output = popen((command + " 2>&1").c_str(), "r");
  if (output == nullptr) return "unknown";
  char line[256] = "";
  if (std::fgets(line, sizeof(line), output) == nullptr) line[0] = '\0';
  pclose(output);
  std::string text(line);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace osbx::bench
