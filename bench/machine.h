// What a measurement was made on and with.
#ifndef OSBX_BENCH_MACHINE_H_
#define OSBX_BENCH_MACHINE_H_

#include <string>

#include "bench/report.h"

namespace osbx::bench {

void AddMachine(Report& report);

// The first line that a program prints, on standard output or error.
std::string FirstLine(const std::string& command);

}  // namespace osbx::bench

#endif  // OSBX_BENCH_MACHINE_H_
