// Threads that nobody can join yet: each was the last owner of its own object, and no thread joins itself.
#ifndef OSBX_BASE_RETIRED_THREADS_H_
#define OSBX_BASE_RETIRED_THREADS_H_

#include <pthread.h>
#include <sys/types.h>

namespace osbx::base {

struct RetiredThread {
  pthread_t thread;
  pid_t process;  // in which the thread runs
  RetiredThread* next;
};

// Hands over `entry`, made with new. Needs no memory.
void AddRetiredThread(RetiredThread* entry);

// Joins the retired threads that have ended, and with `wait` the others as well. Not for a thread that may retire.
void JoinRetired(bool wait);

}  // namespace osbx::base

#endif  // OSBX_BASE_RETIRED_THREADS_H_
