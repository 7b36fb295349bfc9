// Bounded waits for tests with threads.
#ifndef OSBX_TESTS_UNIT_BASE_THREAD_TEST_SUPPORT_H_
#define OSBX_TESTS_UNIT_BASE_THREAD_TEST_SUPPORT_H_

#include <dirent.h>
#include <sched.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>

#include "base/cancel.h"
#include "base/mutex.h"

namespace osbx::base::testing {

inline TimePoint TestDeadline() { return Clock::now() + std::chrono::seconds(20); }

// Set once, waited for by any thread.
class Event {
 public:
  void Set() {
    MutexLock lock(mutex_);
    set_ = true;
    changed_.NotifyAll();
  }
  bool Wait() {
    const TimePoint deadline = TestDeadline();
    MutexLock lock(mutex_);
    while (!set_ && Clock::now() < deadline) changed_.WaitUntil(mutex_, deadline);
    return set_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// For states that announce nothing, such as the kernel's list of threads.
inline bool Eventually(const std::function<bool()>& holds) {
  const TimePoint deadline = TestDeadline();
  while (!holds()) {
    if (Clock::now() >= deadline) return false;
    sched_yield();
  }
  return true;
}

// Threads of this process with the event loop's name.
inline int LoopThreads() {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(tasks)) {
    std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/comm");
    std::string name;
    if (std::getline(file, name) && name == "osbx-loop") ++count;
  }
  closedir(tasks);
  return count;
}

}  // namespace osbx::base::testing

#endif  // OSBX_TESTS_UNIT_BASE_THREAD_TEST_SUPPORT_H_
