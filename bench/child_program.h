// Programs that are measured, as children that do not outlive the measurement.
#ifndef OSBX_BENCH_CHILD_PROGRAM_H_
#define OSBX_BENCH_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace osbx::bench {

// Ends the measurement: one line on stderr, exit code 1. The kernel ends the children.
[[noreturn]] void Fail(const std::string& what);
// With errno's name.
[[noreturn]] void FailWithErrno(const std::string& what);

class ChildProgram {
 public:
  // `arguments` begins with the program's path; `environment` is all of it.
  ChildProgram(std::vector<std::string> arguments, std::vector<std::string> environment);
  ~ChildProgram();  // kills it
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  // The next line of its output; it has to come.
  std::string ReadLine();
  // The port at the end of such a line.
  int ReadPort();

  // By NowMicroseconds(), immediately before the exec.
  double exec_time() const { return exec_time_; }
  pid_t pid() const { return pid_; }

  // A field of /proc/PID/status, in KiB: VmRSS, RssAnon, VmHWM.
  double StatusKib(const std::string& field) const;
  size_t Descriptors() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  double exec_time_ = 0;
};

// Until `condition` holds, which it has to within ten seconds.
void Await(const std::string& what, const std::function<bool()>& condition);

// `shell -c command` as plainly as can be: two pipes, posix_spawn, read to the end, waitpid. It has to exit with 0.
void RunPlainly(const char* shell, const char* command);

}  // namespace osbx::bench

#endif  // OSBX_BENCH_CHILD_PROGRAM_H_
