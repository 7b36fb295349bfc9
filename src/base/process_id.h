// Which process this is: what was made before a fork belongs to the parent.
#ifndef OSBX_BASE_PROCESS_ID_H_
#define OSBX_BASE_PROCESS_ID_H_

#include <sys/types.h>
#include <unistd.h>

namespace osbx::base {

using ProcessId = pid_t;

inline ProcessId CurrentProcess() { return ::getpid(); }

}  // namespace osbx::base

#endif  // OSBX_BASE_PROCESS_ID_H_
