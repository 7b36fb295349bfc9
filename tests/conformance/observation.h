// What /proc tells about the server and about the processes of its commands.
#ifndef OSBX_TESTS_CONFORMANCE_OBSERVATION_H_
#define OSBX_TESTS_CONFORMANCE_OBSERVATION_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace osbx::conformance {

// There is such a process, dead and not yet collected or not.
bool Exists(pid_t pid);
// It has not ended: a zombie is not alive.
bool Alive(pid_t pid);

// The pid that a helper wrote to `path`, once it is there; -1 when it does not come.
pid_t PidFrom(const std::string& path);

int Descriptors(pid_t pid);
int Threads(pid_t pid);
int64_t MemoryKibibytes(pid_t pid);      // resident now
int64_t PeakMemoryKibibytes(pid_t pid);  // VmHWM, or what is resident now where the kernel does not keep it

bool IsGvisor();
bool HasIpv6();

}  // namespace osbx::conformance

#endif  // OSBX_TESTS_CONFORMANCE_OBSERVATION_H_
